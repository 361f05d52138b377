//! Keccak's permutation of one state.
//!
//! **With BMI**: rotations that leave their source alone (RORX) and and-not in one instruction (ANDN). 25 lanes don't fit 15 registers, so
//! what decides is how few instructions move them about. LLVM does that well if it sees two rounds at a time, since the second brings
//! the lanes back to where the first found them.
//!
//! **With AVX-512** the lanes lie in 25 of the 32 vector registers, one in each, the rest of each register idle. A vector unit does fewer
//! instructions a cycle than the scalar one, but nothing is moved about, and χ and the xor of three are one instruction each: 95 a
//! round where BMI takes 230.

use super::batch::keccak_rounds;
use super::vector::{Words64, XmmVl};
use crate::rounds::{KECCAK_RC, keccak_round};
use candor_cpu::{HaveAvx2, HaveAvx512Crypto};

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
    for [even, odd] in KECCAK_RC.as_chunks::<2>().0 {
        keccak_round(&mut a, *even);
        keccak_round(&mut a, *odd);
    }
    *state = a;
}

/// [`absorb`] with AVX-512.
#[inline]
pub(crate) fn absorb_avx512<const RATE: usize>(token: HaveAvx512Crypto, state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    // SAFETY: the token proves AVX-512 F and VL.
    unsafe { absorb_vl(token, state, blocks) }
}

/// [`permute`] with AVX-512.
#[inline]
pub(crate) fn permute_avx512(token: HaveAvx512Crypto, state: &mut [u64; 25]) {
    // SAFETY: the token proves AVX-512 F and VL.
    unsafe { permute_vl(token, state) }
}

#[target_feature(enable = "avx512f,avx512vl")]
fn absorb_vl<const RATE: usize>(token: HaveAvx512Crypto, state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    let mut a = loaded(token, state);
    for block in blocks {
        for (lane, bytes) in a.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = lane.xor(XmmVl::load(token, &[u64::from_le_bytes(*bytes)]));
        }
        a = keccak_rounds(token, a);
    }
    store(a, state);
}

#[target_feature(enable = "avx512f,avx512vl")]
fn permute_vl(token: HaveAvx512Crypto, state: &mut [u64; 25]) {
    store(keccak_rounds(token, loaded(token, state)), state);
}

/// The state, a lane a register.
#[inline(always)]
fn loaded(token: HaveAvx512Crypto, state: &[u64; 25]) -> [XmmVl; 25] {
    let mut a = [XmmVl::splat(token, 0); 25];
    for (lane, word) in a.iter_mut().zip(state) {
        *lane = XmmVl::load(token, &[*word]);
    }
    a
}

#[inline(always)]
fn store(a: [XmmVl; 25], state: &mut [u64; 25]) {
    for (lane, word) in a.into_iter().zip(state.as_chunks_mut::<1>().0) {
        lane.store(word);
    }
}
