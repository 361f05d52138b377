//! An allocator that, while it records, hands out each byte once, at the same address in every run, and keeps what is freed as it was.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};
use std::alloc::{GlobalAlloc, Layout, System};

struct Recording;

#[global_allocator]
static RECORDING: Recording = Recording;

/// Room for all that one run of a case allocates.
const ROOM: usize = 64 << 20;
/// Blocks that one run may free.
const BLOCKS: usize = 1 << 16;

/// One thread runs cases and no other allocates meanwhile, so plain loads and stores will do.
static ON: AtomicBool = AtomicBool::new(false);
static START: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);
static FREED: AtomicUsize = AtomicUsize::new(0);
static OFFSETS: [AtomicUsize; BLOCKS] = [const { AtomicUsize::new(0) }; BLOCKS];
static LENGTHS: [AtomicUsize; BLOCKS] = [const { AtomicUsize::new(0) }; BLOCKS];

// SAFETY: blocks come from the system's allocator, or from a room that it gave: each byte of it once, aligned as asked. What lies in the room
// is never given back to the system.
unsafe impl GlobalAlloc for Recording {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ON.load(Relaxed) {
            let start = START.load(Relaxed);
            let at = (start.addr() + USED.load(Relaxed)).next_multiple_of(layout.align()) - start.addr();
            if at + layout.size() <= ROOM {
                USED.store(at + layout.size(), Relaxed);
                // SAFETY: within the room.
                return unsafe { start.add(at) };
            }
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let offset = block.addr().wrapping_sub(START.load(Relaxed).addr());
        if offset < ROOM {
            let count = FREED.load(Relaxed).min(BLOCKS - 1);
            OFFSETS[count].store(offset, Relaxed);
            LENGTHS[count].store(layout.size(), Relaxed);
            FREED.store(count + 1, Relaxed);
        } else {
            // SAFETY: it came from there.
            unsafe { System.dealloc(block, layout) }
        }
    }
    // `realloc` is the trait's: it allocates, copies and frees, so that what is left at the old place is seen.
}

/// Begins a run: the room is empty and painted, and what is allocated from now on comes from it.
pub(crate) fn begin(paint: u8) {
    let layout = Layout::from_size_align(ROOM, 4096).expect("a good layout");
    if START.load(Relaxed).is_null() {
        // SAFETY: the layout is not empty.
        START.store(unsafe { System.alloc(layout) }, Relaxed);
        USED.store(1 << 20, Relaxed);
    }
    assert!(!START.load(Relaxed).is_null(), "out of memory");
    // SAFETY: the part that was used is within the room.
    unsafe { START.load(Relaxed).write_bytes(paint, USED.load(Relaxed)) };
    USED.store(0, Relaxed);
    FREED.store(0, Relaxed);
    ON.store(true, Relaxed);
}

/// Ends a run.
pub(crate) fn end() {
    ON.store(false, Relaxed);
}

/// Does `work` without recording its allocations.
pub(crate) fn aside<R>(work: impl FnOnce() -> R) -> R {
    let on = ON.swap(false, Relaxed);
    let result = work();
    ON.store(on, Relaxed);
    result
}

/// How many blocks have been freed in this run.
pub(crate) fn freed() -> usize {
    FREED.load(Relaxed)
}

/// The offset and the contents of block number `index` of those.
pub(crate) fn block(index: usize) -> (usize, Vec<u8>) {
    assert!(index + 1 < BLOCKS, "a run frees more blocks than are recorded");
    let (offset, length) = (OFFSETS[index].load(Relaxed), LENGTHS[index].load(Relaxed));
    // SAFETY: the block lies in the room, which lives as long as the program; its owner has given it up.
    (offset, unsafe { core::slice::from_raw_parts(START.load(Relaxed).add(offset), length) }.to_vec())
}
