//! Keccak's permutation with BMI: rotations that leave their source alone (RORX) and and-not in one instruction (ANDN).
//!
//! 25 lanes don't fit 15 registers, so what decides is how few instructions move them about. LLVM does that well if it sees two
//! rounds at a time, since the second brings the lanes back to where the first found them.

use crate::hash::keccak_portable::{ROUND_CONSTANTS, round};
use candor_cpu::HaveAvx2;

/// Absorbs `blocks`: xors each into the state's first words and permutes.
#[inline]
pub(crate) fn absorb<const RATE: usize>(_: HaveAvx2, state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    // SAFETY: the token proves BMI1 and BMI2.
    unsafe { absorb_bmi(state, blocks) }
}

/// The permutation.
#[inline]
pub(crate) fn permute(_: HaveAvx2, state: &mut [u64; 25]) {
    // SAFETY: the token proves BMI1 and BMI2.
    unsafe { permute_bmi(state) }
}

#[target_feature(enable = "bmi1,bmi2")]
fn absorb_bmi<const RATE: usize>(state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    for block in blocks {
        for (lane, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane ^= u64::from_le_bytes(*bytes);
        }
        permute_bmi(state);
    }
}

#[target_feature(enable = "bmi1,bmi2")]
#[inline(never)]
fn permute_bmi(state: &mut [u64; 25]) {
    let mut a = *state;
    for [even, odd] in ROUND_CONSTANTS.as_chunks::<2>().0 {
        round(&mut a, *even);
        round(&mut a, *odd);
    }
    *state = a;
}
