//! An allocator that counts what is held.
//!
//! A test program names it as its `#[global_allocator]`, and has one test or runs them one by one: the counts are the process's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counts.
pub struct Counting;

// SAFETY: all calls are passed on to the system's allocator, with the arguments that they came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones that are asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller gives back a block that was allocated with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The most bytes that are held while `work` runs, beyond those before.
pub fn most_held<R>(work: impl FnOnce() -> R) -> (usize, R) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (MOST.load(Ordering::Relaxed) - before, result)
}
