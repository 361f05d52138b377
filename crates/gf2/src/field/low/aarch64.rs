//! 128-bit lanes on AArch64, one in a NEON register, multiplied by PMULL; and the fused code compiled for them.
//!
//! A value can only be made from the token, so it proves that the CPU has the instructions.

use crate::field::modulus::Modulus;
use crate::field::{fused, wide::Wide};
use crate::low::aarch64::pmull::{product_high, product_low};
use candor_cpu::HavePmull;
use core::arch::aarch64::*;
use core::slice::{from_mut, from_ref};

/// One lane.
#[derive(Clone, Copy)]
struct Neon(uint64x2_t);

impl Wide for Neon {
    type Proof = HavePmull;
    const N: usize = 1;

    #[inline(always)]
    fn zero(token: HavePmull) -> Self {
        Self::splat(token, 0, 0)
    }

    #[inline(always)]
    fn splat(_: HavePmull, low: u64, high: u64) -> Self {
        // SAFETY: NEON is part of AArch64.
        Self(unsafe { vcombine_u64(vcreate_u64(low), vcreate_u64(high)) })
    }

    #[inline(always)]
    fn pair<const W: usize>(_: HavePmull, from: &[[u64; W]], i: usize) -> Self {
        let words: &[u64; 2] = from[0][i..i + 2].try_into().expect("a range of two");
        // SAFETY: two words fill the register. NEON is part of AArch64.
        Self(unsafe { vld1q_u64(words.as_ptr()) })
    }

    #[inline(always)]
    fn single<const W: usize>(token: HavePmull, from: &[[u64; W]], i: usize) -> Self {
        Self::splat(token, from[0][i], 0)
    }

    #[inline(always)]
    fn store_pair<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        let words: &mut [u64; 2] = (&mut to[0][i..i + 2]).try_into().expect("a range of two");
        // SAFETY: two words fill the register. NEON is part of AArch64.
        unsafe { vst1q_u64(words.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn store_single<const W: usize>(self, to: &mut [[u64; W]], i: usize) {
        // SAFETY: NEON is part of AArch64.
        to[0][i] = unsafe { vgetq_lane_u64::<0>(self.0) };
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: NEON is part of AArch64.
        Self(unsafe { veorq_u64(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: NEON is part of AArch64.
        Self(unsafe { vandq_u64(self.0, other.0) })
    }

    #[inline(always)]
    fn shl(self, n: usize) -> Self {
        // SAFETY: NEON is part of AArch64. The count is a constant after inlining.
        Self(unsafe { vshlq_u64(self.0, vdupq_n_s64(n as i64)) })
    }

    #[inline(always)]
    fn shr(self, n: usize) -> Self {
        // SAFETY: as above; a negative count shifts down.
        Self(unsafe { vshlq_u64(self.0, vdupq_n_s64(-(n as i64))) })
    }

    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        // SAFETY: a value of this type is proof of PMULL.
        Self(unsafe { product_low(self.0, other.0) })
    }

    #[inline(always)]
    fn mul_high(self, other: Self) -> Self {
        // SAFETY: a value of this type is proof of PMULL.
        Self(unsafe { product_high(self.0, other.0) })
    }

    #[inline(always)]
    fn low_low(self, other: Self) -> Self {
        // SAFETY: NEON is part of AArch64.
        Self(unsafe { vzip1q_u64(self.0, other.0) })
    }

    #[inline(always)]
    fn high_low(self, other: Self) -> Self {
        // SAFETY: NEON is part of AArch64.
        Self(unsafe { vextq_u64::<1>(self.0, other.0) })
    }
}

/// a·b.
#[inline]
pub(in crate::field) fn mul<M: Modulus>(token: HavePmull, a: &M::Words, b: &M::Words, out: &mut M::Words) {
    mul_many::<M>(token, from_ref(a), from_ref(b), from_mut(out));
}

/// a^(2^times).
#[inline]
pub(in crate::field) fn square<M: Modulus>(token: HavePmull, a: &M::Words, times: usize, out: &mut M::Words) {
    #[target_feature(enable = "neon,aes")]
    fn compiled<M: Modulus>(token: HavePmull, a: &M::Words, times: usize, out: &mut M::Words) {
        fused::square::<Neon, M>(token, from_ref(a), times, from_mut(out));
    }
    // SAFETY: the token proves the features.
    unsafe { compiled::<M>(token, a, times, out) }
}

/// low + high·x^64n.
#[inline]
pub(in crate::field) fn reduce<M: Modulus>(token: HavePmull, low: &M::Words, high: &M::Words, out: &mut M::Words) {
    #[target_feature(enable = "neon,aes")]
    fn compiled<M: Modulus>(token: HavePmull, low: &M::Words, high: &M::Words, out: &mut M::Words) {
        fused::reduce::<Neon, M>(token, from_ref(low), from_ref(high), from_mut(out));
    }
    // SAFETY: the token proves the features.
    unsafe { compiled::<M>(token, low, high, out) }
}

/// The products of elements at the same place; the three slices have the same length.
#[inline]
pub(in crate::field) fn mul_many<M: Modulus>(token: HavePmull, a: &[M::Words], b: &[M::Words], out: &mut [M::Words]) {
    #[target_feature(enable = "neon,aes")]
    fn compiled<M: Modulus>(token: HavePmull, a: &[M::Words], b: &[M::Words], out: &mut [M::Words]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            fused::mul::<Neon, M>(token, from_ref(a), from_ref(b), from_mut(out));
        }
    }
    // SAFETY: the token proves the features.
    unsafe { compiled::<M>(token, a, b, out) }
}
