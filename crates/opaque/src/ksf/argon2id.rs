//! Argon2id (RFC 9106) from the kept crate `argon2`, over memory that lasts longer than one call.

use super::{Ksf, KsfParams};
use crate::Error;
use alloc::vec::Vec;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use core::fmt;
use zeroize::Zeroize;

/// Argon2id with its memory: it is taken at the first call, kept for the next, and wiped when this is dropped.
///
/// Most of what a first call costs over the next is the pages, which the operating system must find and zero.
///
/// ```
/// use candor_opaque::{Argon2id, Ksf, KsfParams};
/// let mut ksf = Argon2id::new();
/// let params = KsfParams::Argon2id { memory_kib: 64, iterations: 1, parallelism: 1 };
/// let (mut once, mut again) = ([0; 64], [0; 64]);
/// ksf.stretch(&params, &[7; 64], &mut once)?;
/// ksf.stretch(&params, &[7; 64], &mut again)?;
/// assert_eq!(once, again);
/// # Ok::<(), candor_opaque::Error>(())
/// ```
#[derive(Default)]
pub struct Argon2id {
    memory: Vec<Block>,
}

impl Argon2id {
    /// Without memory yet.
    pub const fn new() -> Self {
        Self { memory: Vec::new() }
    }

    /// Wipes the memory and keeps it. A call leaves in it what follows from the password; the next call overwrites that.
    pub fn wipe(&mut self) {
        self.memory.iter_mut().for_each(|block| block.as_mut().zeroize());
    }

    /// At least `blocks` blocks of 1 KiB.
    fn reserve(&mut self, blocks: usize) -> Result<&mut [Block], Error> {
        if let Some(more) = blocks.checked_sub(self.memory.len()).filter(|&more| more > 0) {
            // Wiped before they might move and leave copies behind.
            self.wipe();
            self.memory.try_reserve_exact(more).map_err(|_| Error::Ksf("not enough memory"))?;
            self.memory.resize(blocks, Block::new());
        }
        Ok(&mut self.memory[..blocks])
    }
}

impl Ksf for Argon2id {
    fn stretch(&mut self, params: &KsfParams, input: &[u8; 64], stretched: &mut [u8; 64]) -> Result<(), Error> {
        let KsfParams::Argon2id { memory_kib, iterations, parallelism } = *params else {
            return Err(Error::Ksf("these are not parameters of Argon2id"));
        };
        let params = Params::new(memory_kib, iterations, parallelism, Some(64))
            .map_err(|_| Error::Ksf("Argon2id has no such parameters"))?;
        let memory = self.reserve(params.block_count())?;
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(input, &[0; 16], stretched, memory)
            .map_err(|_| Error::Ksf("Argon2id failed"))
    }
}

impl Drop for Argon2id {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl fmt::Debug for Argon2id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Argon2id").field("memory_kib", &self.memory.len()).finish_non_exhaustive()
    }
}
