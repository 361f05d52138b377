//! The permutation KECCAK-p[1600, 24] (FIPS 202 §3.3) in safe Rust.
//!
//! Lane (x, y) of the standard is word x + 5y. Constant time: logic and rotations by constants; the only index is the round.

use crate::rounds::{KECCAK_RC, keccak_round};

/// Absorbs `blocks`: xors each into the state's first words and permutes. A function of its own in the binary too, so that
/// `cargo xtask ct` can see that it ran.
#[inline(never)]
pub(super) fn absorb<const RATE: usize>(state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    for block in blocks {
        for (lane, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane ^= u64::from_le_bytes(*bytes);
        }
        permute(state);
    }
}

/// The permutation.
#[inline(never)]
pub(super) fn permute(state: &mut [u64; 25]) {
    let mut a = *state;
    for constant in KECCAK_RC {
        keccak_round(&mut a, constant);
    }
    *state = a;
}
