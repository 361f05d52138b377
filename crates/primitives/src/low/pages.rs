//! Large zeroed buffers, on huge pages where the system has them, and wiping that the compiler can't remove.
#![allow(unsafe_code)]

use alloc::alloc::{Layout, alloc, dealloc};
use core::ptr::NonNull;
use core::slice;

/// What x86-64 and AArch64 Linux map with one entry.
const HUGE: usize = 2 << 20;

/// A fixed number of `T`. The memory is touched only after the advice on page size has been given.
pub(crate) struct Pages<T: Copy> {
    start: NonNull<T>,
    length: usize,
}

// SAFETY: it owns its memory alone, as a `Box<[T]>` does.
unsafe impl<T: Copy + Send> Send for Pages<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Copy + Sync> Sync for Pages<T> {}

impl<T: Copy> Pages<T> {
    /// `length` copies of `zero`; `None` if the system refuses the allocation.
    pub(crate) fn zeroed(length: usize, zero: T) -> Option<Self> {
        let layout = Self::layout(length)?;
        // SAFETY: the layout is not empty: `Self::layout` refuses that.
        let start = NonNull::new(unsafe { alloc(layout) }.cast::<T>())?;
        advise_huge(start.as_ptr().cast(), layout.size());
        for at in 0..length {
            // SAFETY: `at` is below the length that was allocated.
            unsafe { start.as_ptr().add(at).write(zero) };
        }
        Some(Self { start, length })
    }

    fn layout(length: usize) -> Option<Layout> {
        let plain = Layout::array::<T>(length).ok()?;
        let layout = if plain.size() < HUGE { plain } else { plain.align_to(HUGE).ok()? };
        (layout.size() > 0).then_some(layout)
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: all of it was written in `zeroed`, and we own it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Overwrites the first `count` elements with zero bytes, which must be a valid value of `T`.
    pub(crate) fn wipe(&mut self, count: usize) {
        let count = count.min(self.length);
        // SAFETY: in bounds, and the only user has integers in it.
        unsafe { self.start.as_ptr().write_bytes(0, count) };
        // The compiler must assume that the memory is read here, so it can't drop the stores.
        core::hint::black_box(self.start.as_ptr());
    }
}

impl<T: Copy> Drop for Pages<T> {
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
