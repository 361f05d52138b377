//! What circuits at once take of memory, counted by an allocator.
#![allow(unsafe_code)] // an allocator

use candor_links::simulator::{Plan, World};
use candor_links::topology::Topology;
use candor_onion::handshake::HandshakeType;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

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

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes for each of so many circuits that begin within a second and are held until the last is built.
fn each(circuits: u32) -> usize {
    let topology = Topology::built_in("leo-bent-pipe").unwrap().unwrap().ideal();
    let mut world = World::new(&Plan::new(topology, HandshakeType::Hybrid768)).unwrap();
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let outcomes = world.build_together(circuits, Duration::from_secs(1) / circuits);
    assert!(outcomes.iter().all(|outcome| outcome.built.is_some()));
    (MOST.load(Ordering::Relaxed) - before) / circuits as usize
}

#[test]
fn two_thousand_circuits_at_once_take_no_more_than_their_share_of_the_memory_of_a_hundred_thousand() {
    let bytes = each(2_000);
    // 1.5 GB for a hundred thousand. What stands beside the state machines is counted as well, and below a third nothing can be.
    assert!((5_000..15_000).contains(&bytes), "{bytes} bytes a circuit");
}
