//! How much memory key generation takes at most: an allocator counts.
#![allow(unsafe_code)] // an allocator

use candor_codes::mceliece::{Mceliece, Mceliece348864f, Mceliece8192128f, ParameterSet};
use candor_primitives::kem::{DerandomizedKem, Kem};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// The most bytes that are held while `work` runs, beyond those before.
fn most_held<R>(work: impl FnOnce() -> R) -> (usize, R) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (MOST.load(Ordering::Relaxed) - before, result)
}

#[test]
fn a_key_pair_is_made_in_two_and_a_half_times_its_size() {
    fn check<S: ParameterSet>(kem: Mceliece<S>) {
        let pair = Mceliece::<S>::PUBLIC + Mceliece::<S>::SECRET;
        let (most, made) = most_held(|| kem.generate_from(&[1; 32]).unwrap());
        assert!(most >= pair, "the pair itself is counted");
        assert!(2 * most <= 5 * pair, "{kem:?} takes {most} bytes for {pair}");
        // The twin: a copy of the public key is seen.
        let (copied, _copy) = most_held(|| made.1.clone());
        assert_eq!(copied, Mceliece::<S>::PUBLIC);
        println!("{kem:?}: {:.2} times the key pair", most as f64 / pair as f64);
    }
    check(Mceliece348864f::new());
    check(Mceliece8192128f::new());
}
