//! Buffers for many threads, allocated on demand and reused.

use super::{KsfError, Memory, Params};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

/// A pool of wiped buffers of one size.
///
/// ```
/// use candor_primitives::ksf::{Argon2id, Params, Pool};
/// # fn main() -> Result<(), candor_primitives::ksf::KsfError> {
/// let params = Params::new(64, 1, 1)?;
/// let pool = Pool::new(params, 2);
/// let mut key = [0; 32];
/// Argon2id::new(params).derive(b"password", b"sixteen bytes!!!", &mut *pool.take()?, &mut key)?;
/// # Ok(()) }
/// ```
pub struct Pool {
    params: Params,
    keep: usize,
    idle: Mutex<Vec<Memory>>,
}

impl Pool {
    /// A pool of buffers for `params`. At most `keep` idle buffers stay allocated.
    #[must_use]
    pub fn new(params: Params, keep: usize) -> Self {
        Self { params, keep, idle: Mutex::new(Vec::new()) }
    }

    /// An idle buffer if there is one, or else a new one. It returns to the pool when the lease is dropped.
    ///
    /// # Errors
    /// [`KsfError::OutOfMemory`] if no buffer is idle and the system refuses the allocation.
    pub fn take(&self) -> Result<Lease<'_>, KsfError> {
        let idle = self.idle().pop();
        let memory = match idle {
            Some(memory) => memory,
            None => Memory::new(self.params)?,
        };
        Ok(Lease { pool: self, memory: Some(memory) })
    }

    /// The number of idle buffers.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Memory>> {
        // A panic while the lock was held can't have corrupted the list: the only operations are push and pop.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`Memory`] on loan from a [`Pool`]; dropping the lease returns it.
pub struct Lease<'a> {
    pool: &'a Pool,
    memory: Option<Memory>,
}

impl Deref for Lease<'_> {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        self.memory.as_ref().expect("held until the drop")
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Memory {
        self.memory.as_mut().expect("held until the drop")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        memory.wipe();
        let mut idle = self.pool.idle();
        if idle.len() < self.pool.keep {
            idle.push(memory);
        }
    }
}
