//! The memory that Argon2 fills: allocated once, aligned, wiped after each use.

use super::{KsfError, Params};
use crate::low::pages::Pages;

pub(super) use crate::low::pages::Block;

/// A buffer for one [`Argon2id`](super::Argon2id) call at a time; the next call uses it again.
///
/// Allocation is slow, because the system must find and clear every page, so reuse the buffer. On Linux it requests huge pages;
/// without them every access to a block costs a page-table walk. Each call wipes the buffer before it returns. If a call panics, the
/// buffer is wiped when it is dropped.
pub struct Memory {
    pages: Pages,
    /// Blocks that may hold something.
    dirty: usize,
}

impl Memory {
    /// A buffer for calls whose parameters need no more than `params`.
    ///
    /// # Errors
    /// [`KsfError::OutOfMemory`] if the system refuses the allocation.
    pub fn new(params: Params) -> Result<Self, KsfError> {
        let blocks = params.blocks();
        let pages = Pages::zeroed(blocks).ok_or(KsfError::OutOfMemory(blocks))?;
        Ok(Self { pages, dirty: 0 })
    }

    /// Its capacity in KiB.
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
