//! PMULL: 64-bit polynomial multiplication of ARMv8's cryptography extension, on 128-bit registers.

use crate::lanes::{self, Lanes};
use crate::low::kernel::{Kernel, lane_leaf, tables_of_16};
use crate::low::memory::{self, Vector};
use candor_cpu::HavePmull;
use core::arch::aarch64::*;

/// One lane. Made only by functions with the features below, so that holding one is proof of them.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Neon(pub(in crate::low::aarch64) uint64x2_t);

impl Lanes for Neon {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: NEON is part of AArch64.
        Self(unsafe { veorq_u64(self.0, other.0) })
    }
    #[inline(always)]
    fn clmul_low(self, other: Self) -> Self {
        // SAFETY: holding `self` proves PMULL.
        Self(unsafe { product_low(self.0, other.0) })
    }
    #[inline(always)]
    fn clmul_high(self, other: Self) -> Self {
        // SAFETY: holding `self` proves PMULL.
        Self(unsafe { product_high(self.0, other.0) })
    }
    #[inline(always)]
    fn fold(self) -> Self {
        // SAFETY: NEON is part of AArch64.
        Self(unsafe { veorq_u64(self.0, vextq_u64::<1>(self.0, self.0)) })
    }
    #[inline(always)]
    fn add_middle(low: Self, high: Self, middle: Self) -> [Self; 2] {
        // SAFETY: NEON is part of AArch64.
        let (up, down) = unsafe {
            let zero = vdupq_n_u64(0);
            (vextq_u64::<1>(zero, middle.0), vextq_u64::<1>(middle.0, zero))
        };
        [low.xor(Self(up)), high.xor(Self(down))]
    }
}

/// The product of the low words. A function of its own, since intrinsics are inlined only where their features are.
#[inline]
#[target_feature(enable = "neon,aes")]
pub(crate) fn product_low(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
    vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64::<0>(a), vgetq_lane_u64::<0>(b)))
}

/// The product of the high words.
#[inline]
#[target_feature(enable = "neon,aes")]
pub(crate) fn product_high(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
    vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(a), vreinterpretq_p64_u64(b)))
}

impl Vector for Neon {
    const WORDS: usize = 2;
    const MASKED: bool = false;
    #[inline(always)]
    unsafe fn load(at: *const u64, _: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { vld1q_u64(at) })
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u64, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { vst1q_u64(at, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { vdupq_n_u64(word) })
    }
    #[inline(always)]
    fn word(self) -> u64 {
        // SAFETY: holding `self` proves NEON.
        unsafe { vgetq_lane_u64::<0>(self.0) }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.xor(other)
    }
    #[inline(always)]
    fn running(self) -> Self {
        // SAFETY: holding `self` proves NEON.
        self.xor(Self(unsafe { vextq_u64::<1>(vdupq_n_u64(0), self.0) }))
    }
    #[inline(always)]
    fn last(self) -> Self {
        // SAFETY: holding `self` proves NEON.
        Self(unsafe { vdupq_laneq_u64::<1>(self.0) })
    }
}

/// # Safety
/// PMULL exists, and `words` points to `n` words, of which at least one is in lane `i`.
#[inline(always)]
unsafe fn load(words: *const u64, n: usize, i: usize) -> Neon {
    // SAFETY: a whole lane is there, or its lower word is.
    unsafe {
        let at = words.add(2 * i);
        Neon(if 2 * i + 1 < n { vld1q_u64(at) } else { vsetq_lane_u64::<0>(*at, vdupq_n_u64(0)) })
    }
}

/// # Safety
/// `words` points to `n` words, of which at least one is in lane `i`.
#[inline(always)]
unsafe fn store(words: *mut u64, n: usize, i: usize, lane: Neon) {
    // SAFETY: a whole lane is there, or its lower word is.
    unsafe {
        let at = words.add(2 * i);
        if 2 * i + 1 < n { vst1q_u64(at, lane.0) } else { *at = vgetq_lane_u64::<0>(lane.0) }
    }
}

/// One word: a single product, already in place.
#[inline(always)]
fn mul1_word(a: [Neon; 1], b: [Neon; 1]) -> [Neon; 2] {
    let product = a[0].clmul_low(b[0]);
    [product, product]
}

#[inline(always)]
fn mul1(a: [Neon; 1], b: [Neon; 1]) -> [Neon; 2] {
    lanes::mul1(a[0], b[0])
}

lane_leaf!("neon,aes", leaf1, batch1, 1, mul1_word, load, store);
lane_leaf!("neon,aes", leaf2, batch2, 2, mul1, load, store);
lane_leaf!("neon,aes", leaf3, batch3, 3, lanes::mul2, load, store);
lane_leaf!("neon,aes", leaf4, batch4, 4, lanes::mul2, load, store);
lane_leaf!("neon,aes", leaf5, batch5, 5, lanes::mul3, load, store);
lane_leaf!("neon,aes", leaf6, batch6, 6, lanes::mul3, load, store);
lane_leaf!("neon,aes", leaf7, batch7, 7, lanes::mul4, load, store);
lane_leaf!("neon,aes", leaf8, batch8, 8, lanes::mul4, load, store);
lane_leaf!("neon,aes", leaf9, batch9, 9, lanes::mul5, load, store);
lane_leaf!("neon,aes", leaf10, batch10, 10, lanes::mul5, load, store);
lane_leaf!("neon,aes", leaf11, batch11, 11, lanes::mul6, load, store);
lane_leaf!("neon,aes", leaf12, batch12, 12, lanes::mul6, load, store);
lane_leaf!("neon,aes", leaf13, batch13, 13, lanes::mul7, load, store);
lane_leaf!("neon,aes", leaf14, batch14, 14, lanes::mul7, load, store);
lane_leaf!("neon,aes", leaf15, batch15, 15, lanes::mul8, load, store);
lane_leaf!("neon,aes", leaf16, batch16, 16, lanes::mul8, load, store);

tables_of_16!();

/// # Safety
/// PMULL exists; `a` points to n words, `out` to n + 1, and they do not overlap.
#[target_feature(enable = "neon,aes")]
unsafe fn row(out: *mut u64, a: *const u64, n: usize, b: u64) {
    let mut carry = 0;
    // SAFETY: the caller's promise: indices stay below n and n + 1.
    unsafe {
        for i in 0..n {
            let [low, high] = crate::word::halves(vmull_p64(*a.add(i), b));
            *out.add(i) ^= low ^ carry;
            carry = high;
        }
        *out.add(n) ^= carry;
    }
}

/// # Safety
/// PMULL exists; `a` points to n words, `out` to 2n, and they do not overlap.
#[target_feature(enable = "neon,aes")]
unsafe fn square(out: *mut u64, a: *const u64, n: usize) {
    for i in 0..n {
        // SAFETY: the caller's promise: i < n.
        unsafe {
            let word = *a.add(i);
            vst1q_u64(out.add(2 * i), vreinterpretq_u64_p128(vmull_p64(word, word)));
        }
    }
}

// SAFETY: the functions keep to the contract, and `kernel` hands the value out only against the token of their features.
static KERNEL: Kernel = unsafe {
    Kernel::new(
        "pmull",
        &LEAVES,
        &BATCHES,
        row,
        square,
        memory::table!(
            #[target_feature(enable = "neon")]
            Neon
        ),
    )
};

/// The arm, against proof of its instructions.
#[inline]
pub(crate) fn kernel(_: HavePmull) -> &'static Kernel {
    &KERNEL
}
