//! The memory that Argon2 fills: allocated once, aligned, wiped after each use.

use super::{KsfError, Params};
use crate::low::pages::Pages;

/// 1 KiB, little-endian words.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Block(pub(super) [u64; 128]);

/// A buffer for one [`Argon2id`](super::Argon2id) call at a time; the next call uses it again.
///
/// Allocating it is the slow part (the system must give and clear every page), so make it once. On Linux it asks for huge pages,
/// without which every reference to a block costs a walk through the page table. What a call has left in it is wiped before the
/// call returns, and once more when this is dropped in the middle of one, say by a panic.
pub struct Memory {
    pages: Pages<Block>,
    /// Blocks that may hold something.
    dirty: usize,
}

impl Memory {
    /// For calls that need up to as much as `params`.
    ///
    /// # Errors
    /// [`KsfError::OutOfMemory`] if the system gives no more.
    pub fn new(params: Params) -> Result<Self, KsfError> {
        let blocks = params.blocks();
        let pages = Pages::zeroed(blocks, Block([0; 128])).ok_or(KsfError::OutOfMemory(blocks))?;
        Ok(Self { pages, dirty: 0 })
    }

    /// How much it holds, in KiB.
    #[must_use]
    pub fn kib(&self) -> usize {
        self.pages.as_slice().len()
    }

    /// Just the blocks that `params` asks for.
    pub(super) fn blocks_mut(&mut self, params: Params) -> Result<&mut [Block], KsfError> {
        let (has, needs) = (self.kib(), params.blocks());
        if has < needs {
            return Err(KsfError::WrongMemory { has, needs });
        }
        self.dirty = needs;
        Ok(&mut self.pages.as_mut_slice()[..needs])
    }

    pub(super) fn wipe(&mut self) {
        self.pages.wipe(self.dirty);
        self.dirty = 0;
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.wipe();
    }
}
