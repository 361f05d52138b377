//! Large buffers of Argon2's blocks, zeroed, on huge pages where the system has them, and wiping that the compiler can't remove.
#![allow(unsafe_code)]

use alloc::alloc::{Layout, alloc, dealloc};
use core::ptr::NonNull;
use core::slice;

/// What x86-64 and AArch64 Linux map with one entry.
const HUGE: usize = 2 << 20;

/// 1 KiB, little-endian words.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Block(pub(crate) [u64; 128]);

/// A fixed number of blocks. The memory is touched only after the advice on page size has been given.
pub(crate) struct Pages {
    start: NonNull<Block>,
    length: usize,
}

// SAFETY: it owns its memory alone, as a `Box<[T]>` does.
unsafe impl Send for Pages {}
// SAFETY: shared access only reads.
unsafe impl Sync for Pages {}

impl Pages {
    /// `length` blocks of zeros; `None` if the system refuses the allocation.
    pub(crate) fn zeroed(length: usize) -> Option<Self> {
        let layout = Self::layout(length)?;
        // SAFETY: the layout is not empty: `Self::layout` refuses that.
        let start = NonNull::new(unsafe { alloc(layout) }.cast::<Block>())?;
        advise_huge(start.as_ptr().cast(), layout.size());
        for at in 0..length {
            // SAFETY: `at` is below the length that was allocated.
            unsafe { start.as_ptr().add(at).write(Block([0; 128])) };
        }
        Some(Self { start, length })
    }

    fn layout(length: usize) -> Option<Layout> {
        let plain = Layout::array::<Block>(length).ok()?;
        let layout = if plain.size() < HUGE { plain } else { plain.align_to(HUGE).ok()? };
        (layout.size() > 0).then_some(layout)
    }

    pub(crate) fn as_slice(&self) -> &[Block] {
        // SAFETY: all of it was written in `zeroed`, and we own it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [Block] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Overwrites the first `count` blocks with zeros, or all if there are fewer.
    pub(crate) fn wipe(&mut self, count: usize) {
        let count = count.min(self.length);
        // SAFETY: in bounds, and zeros are a block.
        unsafe { self.start.as_ptr().write_bytes(0, count) };
        // The compiler must assume that the memory is read here, so it can't drop the stores.
        core::hint::black_box(self.start.as_ptr());
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let layout = Self::layout(self.length).expect("it was allocated with it");
        // SAFETY: allocated in `zeroed` with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), layout) };
    }
}

/// Only a hint: if it fails, things are slower but right.
#[cfg(all(target_os = "linux", feature = "std"))]
fn advise_huge(start: *mut u8, size: usize) {
    if size >= HUGE {
        // SAFETY: the range is ours. The advice changes no content.
        unsafe { libc::madvise(start.cast(), size - size % HUGE, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", feature = "std")))]
fn advise_huge(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wiping_more_than_there_is_wipes_what_there_is() {
        let mut pages = Pages::zeroed(3).unwrap();
        for (count, left) in [(0, 3), (2, 1), (usize::MAX, 0)] {
            pages.as_mut_slice().fill(Block([7; 128]));
            pages.wipe(count);
            assert_eq!(pages.as_slice().iter().filter(|block| block.0 == [7; 128]).count(), left);
            assert_eq!(pages.as_slice().iter().filter(|block| block.0 == [0; 128]).count(), 3 - left);
        }
    }
}
