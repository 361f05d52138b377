//! PCLMULQDQ on 128-bit registers: Westmere, Bulldozer and later, and whatever lacks the wider forms.

use crate::lanes::{self, Lanes};
use crate::low::kernel::{Kernel, tables_of_16};
use crate::low::memory::{self, Vector};
use candor_cpu::HaveClmul;
use core::arch::x86_64::*;

/// One lane. Made only by functions with the features below.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Xmm(pub(in crate::low::x86_64) __m128i);

// SAFETY (of all blocks): an `Xmm` exists only where a function with these features made it, so the CPU has them.
impl Lanes for Xmm {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_xor_si128(self.0, other.0) })
    }
    #[inline(always)]
    fn clmul_low(self, other: Self) -> Self {
        // SAFETY: holding `self` proves PCLMULQDQ.
        Self(unsafe { _mm_clmulepi64_si128::<0x00>(self.0, other.0) })
    }
    #[inline(always)]
    fn clmul_high(self, other: Self) -> Self {
        // SAFETY: holding `self` proves PCLMULQDQ.
        Self(unsafe { _mm_clmulepi64_si128::<0x11>(self.0, other.0) })
    }
    #[inline(always)]
    fn fold(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_xor_si128(self.0, _mm_shuffle_epi32::<0x4e>(self.0)) })
    }
    #[inline(always)]
    fn add_middle(low: Self, high: Self, middle: Self) -> [Self; 2] {
        // SAFETY: SSE2 is part of x86-64.
        let (up, down) = unsafe { (_mm_slli_si128::<8>(middle.0), _mm_srli_si128::<8>(middle.0)) };
        [low.xor(Self(up)), high.xor(Self(down))]
    }
}

impl Vector for Xmm {
    const WORDS: usize = 2;
    const MASKED: bool = false;
    #[inline(always)]
    unsafe fn load(at: *const u64, _: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm_loadu_si128(at.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u64, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { _mm_storeu_si128(at.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_set1_epi64x(word.cast_signed()) })
    }
    #[inline(always)]
    fn word(self) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_cvtsi128_si64(self.0).cast_unsigned() }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.xor(other)
    }
    #[inline(always)]
    fn running(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        self.xor(Self(unsafe { _mm_slli_si128::<8>(self.0) }))
    }
    #[inline(always)]
    fn last(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_unpackhi_epi64(self.0, self.0) })
    }
}

/// # Safety
/// PCLMULQDQ exists, and `words` points to `n` words, of which at least one is in lane `i`.
#[inline(always)]
pub(super) unsafe fn load(words: *const u64, n: usize, i: usize) -> Xmm {
    // SAFETY: a whole lane is there, or its lower word is.
    unsafe {
        let at = words.add(2 * i);
        Xmm(if 2 * i + 1 < n { _mm_loadu_si128(at.cast()) } else { _mm_loadl_epi64(at.cast()) })
    }
}

/// # Safety
/// `words` points to `n` words, of which at least one is in lane `i`.
#[inline(always)]
pub(super) unsafe fn store(words: *mut u64, n: usize, i: usize, lane: Xmm) {
    // SAFETY: a whole lane is there, or its lower word is.
    unsafe {
        let at = words.add(2 * i);
        if 2 * i + 1 < n { _mm_storeu_si128(at.cast(), lane.0) } else { _mm_storel_epi64(at.cast(), lane.0) }
    }
}

/// A leaf and its batch on 128-bit registers.
macro_rules! leaf {
    ($features:literal, $leaf:ident, $batch:ident, $n:literal, $mul:expr) => {
        $crate::low::kernel::lane_leaf!(
            $features,
            $leaf,
            $batch,
            $n,
            $mul,
            $crate::low::x86_64::clmul::load,
            $crate::low::x86_64::clmul::store
        );
    };
}
pub(super) use leaf;

/// One word: a single product, already in place.
#[inline(always)]
pub(super) fn mul1_word(a: [Xmm; 1], b: [Xmm; 1]) -> [Xmm; 2] {
    let product = a[0].clmul_low(b[0]);
    [product, product]
}

#[inline(always)]
pub(super) fn mul1(a: [Xmm; 1], b: [Xmm; 1]) -> [Xmm; 2] {
    lanes::mul1(a[0], b[0])
}

leaf!("sse4.1,pclmulqdq", leaf1, batch1, 1, mul1_word);
leaf!("sse4.1,pclmulqdq", leaf2, batch2, 2, mul1);
leaf!("sse4.1,pclmulqdq", leaf3, batch3, 3, lanes::mul2);
leaf!("sse4.1,pclmulqdq", leaf4, batch4, 4, lanes::mul2);
leaf!("sse4.1,pclmulqdq", leaf5, batch5, 5, lanes::mul3);
leaf!("sse4.1,pclmulqdq", leaf6, batch6, 6, lanes::mul3);
leaf!("sse4.1,pclmulqdq", leaf7, batch7, 7, lanes::mul4);
leaf!("sse4.1,pclmulqdq", leaf8, batch8, 8, lanes::mul4);
leaf!("sse4.1,pclmulqdq", leaf9, batch9, 9, lanes::mul5);
leaf!("sse4.1,pclmulqdq", leaf10, batch10, 10, lanes::mul5);
leaf!("sse4.1,pclmulqdq", leaf11, batch11, 11, lanes::mul6);
leaf!("sse4.1,pclmulqdq", leaf12, batch12, 12, lanes::mul6);
leaf!("sse4.1,pclmulqdq", leaf13, batch13, 13, lanes::mul7);
leaf!("sse4.1,pclmulqdq", leaf14, batch14, 14, lanes::mul7);
leaf!("sse4.1,pclmulqdq", leaf15, batch15, 15, lanes::mul8);
leaf!("sse4.1,pclmulqdq", leaf16, batch16, 16, lanes::mul8);

tables_of_16!();

/// # Safety
/// PCLMULQDQ exists; `a` points to n words, `out` to n + 1, and they do not overlap.
#[target_feature(enable = "sse4.1,pclmulqdq")]
pub(super) unsafe fn row(out: *mut u64, a: *const u64, n: usize, b: u64) {
    // SAFETY: the caller's promise: indices stay below n and n + 1.
    unsafe {
        let b = _mm_cvtsi64_si128(b.cast_signed());
        let mut carry = _mm_setzero_si128();
        for i in 0..n {
            let product = _mm_clmulepi64_si128::<0x00>(_mm_loadl_epi64(a.add(i).cast()), b);
            let sum = _mm_xor_si128(product, carry);
            *out.add(i) ^= _mm_cvtsi128_si64(sum).cast_unsigned();
            carry = _mm_srli_si128::<8>(product);
        }
        *out.add(n) ^= _mm_cvtsi128_si64(carry).cast_unsigned();
    }
}

/// # Safety
/// PCLMULQDQ exists; `a` points to n words, `out` to 2n, and they do not overlap.
#[target_feature(enable = "sse4.1,pclmulqdq")]
pub(super) unsafe fn square(out: *mut u64, a: *const u64, n: usize) {
    for i in 0..n {
        // SAFETY: the caller's promise: i < n.
        unsafe {
            let word = _mm_loadl_epi64(a.add(i).cast());
            _mm_storeu_si128(out.add(2 * i).cast(), _mm_clmulepi64_si128::<0x00>(word, word));
        }
    }
}

// SAFETY: the functions keep to the contract, and `kernel` hands the value out only against the token of their features.
static KERNEL: Kernel = unsafe {
    Kernel::new(
        "clmul",
        &LEAVES,
        &BATCHES,
        row,
        square,
        memory::table!(
            #[target_feature(enable = "sse4.1,pclmulqdq")]
            Xmm
        ),
    )
};

/// The arm, against proof of its instructions.
#[inline]
pub(crate) fn kernel(_: HaveClmul) -> &'static Kernel {
    &KERNEL
}
