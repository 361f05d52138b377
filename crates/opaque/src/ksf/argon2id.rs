//! Argon2id (RFC 9106) from `candor_primitives::ksf`, over memory that lasts longer than one call.

use super::{Ksf, KsfParams};
use crate::Error;
use crate::error::KsfError as Cause;
use candor_primitives::ksf::{self, KsfError, Memory, Params};
use core::fmt;

/// Argon2id with its memory: it is taken at the first call, kept for the next, and wiped after each.
///
/// The first call costs more than the next, mostly because the operating system must find and zero the pages. A process that serves many
/// clients should lend the memory out of a `candor_primitives::ksf::Pool` instead and implement [`Ksf`] on the
/// lease.
///
/// ```
/// use candor_opaque::{Argon2id, Ksf, KsfParams};
/// let mut ksf = Argon2id::new();
/// let params = KsfParams::argon2id(64, 1, 1)?;
/// let (mut once, mut again) = ([0; 64], [0; 64]);
/// ksf.stretch(&params, &[7; 64], &mut once)?;
/// ksf.stretch(&params, &[7; 64], &mut again)?;
/// assert_eq!(once, again);
/// # Ok::<(), candor_opaque::Error>(())
/// ```
#[derive(Default)]
pub struct Argon2id {
    memory: Option<Memory>,
}

impl Argon2id {
    /// Without memory yet.
    pub const fn new() -> Self {
        Self { memory: None }
    }

    /// At least what `params` need.
    fn reserve(&mut self, params: Params) -> Result<&mut Memory, KsfError> {
        match &mut self.memory {
            Some(memory) if memory.kib() >= params.blocks() => {}
            // What is there goes first, so that both never stand beside each other.
            other => {
                *other = None;
                *other = Some(Memory::new(params)?);
            }
        }
        self.memory.as_mut().ok_or(KsfError::OutOfMemory(params.blocks()))
    }
}

impl Argon2id {
    /// [`Ksf::stretch`] for a caller who shows how far it is: `progress` is told after each quarter of a pass how many quarters are done, and of how
    /// many. That depends on the parameters alone.
    ///
    /// ```
    /// use candor_opaque::{Argon2id, KsfParams};
    /// let mut shown = Vec::new();
    /// let params = KsfParams::argon2id(64, 2, 1)?;
    /// Argon2id::new().stretch_reporting(&params, &[7; 64], &mut [0; 64], &mut |done, all| shown.push((done, all)))?;
    /// assert_eq!((shown.first(), shown.last()), (Some(&(1, 8)), Some(&(8, 8))));
    /// # Ok::<(), candor_opaque::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Ksf::stretch`].
    // ct: argon2/derive
    pub fn stretch_reporting(
        &mut self,
        params: &KsfParams,
        input: &[u8; 64],
        stretched: &mut [u8; 64],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), Error> {
        let KsfParams::Argon2id { memory_kib, iterations, parallelism } = *params else {
            return Err(Error::Ksf(Cause::OtherFunction));
        };
        let params = Params::new(memory_kib, iterations, parallelism).map_err(|_| Error::Ksf(Cause::Parameters))?;
        let memory = self.reserve(params).map_err(|_| Error::Ksf(Cause::OutOfMemory))?;
        ksf::Argon2id::new(params)
            .derive_reporting(input, &[0; 16], memory, stretched, progress)
            .map_err(|_| Error::Ksf(Cause::Failed))
    }
}

impl Ksf for Argon2id {
    fn stretch(&mut self, params: &KsfParams, input: &[u8; 64], stretched: &mut [u8; 64]) -> Result<(), Error> {
        self.stretch_reporting(params, input, stretched, &mut |_, _| ())
    }
}

impl fmt::Debug for Argon2id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = self.memory.as_ref().map_or(0, Memory::kib);
        f.debug_struct("Argon2id").field("memory_kib", &kib).finish_non_exhaustive()
    }
}
