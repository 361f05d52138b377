//! Buffers for many threads, made when first wanted and kept.

use super::{KsfError, Memory, Params};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

/// Wiped buffers of one size, at most so many kept.
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
    /// Buffers for `params`, of which `keep` at most stay allocated while nobody uses them.
    #[must_use]
    pub fn new(params: Params, keep: usize) -> Self {
        Self { params, keep, idle: Mutex::new(Vec::new()) }
    }

    /// A buffer: an idle one if there is, else a new one. It comes back when the lease is dropped.
    ///
    /// # Errors
    /// [`KsfError::OutOfMemory`] if there is no idle one and the system gives no more.
    pub fn take(&self) -> Result<Lease<'_>, KsfError> {
        let idle = self.idle().pop();
        let memory = match idle {
            Some(memory) => memory,
            None => Memory::new(self.params)?,
        };
        Ok(Lease { pool: self, memory: Some(memory) })
    }

    /// How many buffers wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Memory>> {
        // Who panicked while holding the list left it whole: it is pushed to and popped from, nothing else.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`Memory`] that goes back to its [`Pool`].
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
