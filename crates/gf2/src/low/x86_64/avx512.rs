//! VPCLMULQDQ on 512-bit registers: Ice Lake, Zen 4 and later. One instruction makes four lane products.
//!
//! A multiplication of four parts by four parts is nine products of parts (two levels of Karatsuba): four of the parts, four of
//! sums of two, one of the sum of all. The first four and the second four each fill the lanes of one vector; only the ninth is
//! alone in its vector. So 8×8 words (parts of one lane) take 3 + 3 + 1 carry-less instructions, 16×16 words (parts of two lanes) 9 + 9 + 3.

use crate::lanes::{self, Lanes};
use crate::low::kernel::{Kernel, batch, long_leaves};
use crate::low::memory::{self, Vector};
use crate::low::x86_64::avx512_alone::{leaf3, leaf4, leaf7, leaf8, leaf9};
use crate::low::x86_64::clmul::{self, leaf};
use crate::low::x86_64::vpclmul;
use candor_cpu::HaveAvx512Crypto;
use core::arch::x86_64::*;

/// Four lanes. Made only by functions with the features below, so that holding one is proof of them.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Zmm(pub(in crate::low::x86_64) __m512i);

impl Lanes for Zmm {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: holding `self` proves AVX-512.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
    #[inline(always)]
    fn xor3(self, second: Self, third: Self) -> Self {
        // SAFETY: holding `self` proves AVX-512.
        Self(unsafe { _mm512_ternarylogic_epi64::<0x96>(self.0, second.0, third.0) })
    }
    #[inline(always)]
    fn clmul_low(self, other: Self) -> Self {
        // SAFETY: holding `self` proves VPCLMULQDQ and AVX-512.
        Self(unsafe { _mm512_clmulepi64_epi128::<0x00>(self.0, other.0) })
    }
    #[inline(always)]
    fn clmul_high(self, other: Self) -> Self {
        // SAFETY: holding `self` proves VPCLMULQDQ and AVX-512.
        Self(unsafe { _mm512_clmulepi64_epi128::<0x11>(self.0, other.0) })
    }
    #[inline(always)]
    fn fold(self) -> Self {
        // SAFETY: holding `self` proves AVX-512.
        Self(unsafe { _mm512_xor_si512(self.0, _mm512_unpackhi_epi64(self.0, self.0)) })
    }
    #[inline(always)]
    fn add_middle(low: Self, high: Self, middle: Self) -> [Self; 2] {
        // SAFETY: holding `low` proves AVX-512. 0x78 is a ^ (b & c).
        unsafe {
            let swapped = _mm512_shuffle_epi32::<_MM_PERM_BADC>(middle.0);
            let low_words = _mm512_maskz_set1_epi64(0b0101_0101, -1);
            let high_words = _mm512_maskz_set1_epi64(0b1010_1010, -1);
            [
                Self(_mm512_ternarylogic_epi64::<0x78>(low.0, swapped, high_words)),
                Self(_mm512_ternarylogic_epi64::<0x78>(high.0, swapped, low_words)),
            ]
        }
    }
}

/// The lanes of `x` that the four pairs of bits of `LANES` name, lowest first.
#[inline(always)]
fn pick<const LANES: i32>(x: Zmm) -> Zmm {
    // SAFETY: holding `x` proves AVX-512.
    Zmm(unsafe { _mm512_shuffle_i64x2::<LANES>(x.0, x.0) })
}

/// Two lanes of `x`, then two of `y`, as `LANES` names them.
#[inline(always)]
pub(super) fn pick2<const LANES: i32>(x: Zmm, y: Zmm) -> Zmm {
    // SAFETY: holding `x` proves AVX-512.
    Zmm(unsafe { _mm512_shuffle_i64x2::<LANES>(x.0, y.0) })
}

/// The index of lanes for `shuffle_i64x2`.
pub(super) const fn lanes4(a: i32, b: i32, c: i32, d: i32) -> i32 {
    a | b << 2 | c << 4 | d << 6
}

/// `x`, with `y` added in the lanes of the mask (two bits a lane).
#[inline(always)]
fn add_in<const LANES: u8>(x: Zmm, y: Zmm) -> Zmm {
    // SAFETY: holding `x` proves AVX-512.
    Zmm(unsafe { _mm512_mask_xor_epi64(x.0, LANES, x.0, y.0) })
}

/// Returns `x`, but hides from the compiler where it came from: it would merge chains of shuffles into two-source permutations
/// (`vpermt2q`), which take two to three times as long.
#[inline]
#[target_feature(enable = "avx512f")]
fn settle_vector(x: __m512i) -> __m512i {
    let mut x = x;
    // SAFETY: the template is a comment: no instruction, no memory, no flags.
    unsafe { core::arch::asm!("/* {0} */", inout(zmm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

/// [`settle_vector`] for a vector, which proves its instructions.
#[inline(always)]
pub(super) fn settle(x: Zmm) -> Zmm {
    // SAFETY: holding `x` proves AVX-512.
    Zmm(unsafe { settle_vector(x.0) })
}

/// The sums of two that the second group multiplies, of parts 0–3 in the lanes: `[0+1, 0+2, 1+3, 2+3]`.
#[inline(always)]
fn sums(x: Zmm) -> Zmm {
    pick::<{ lanes4(0, 0, 1, 2) }>(x).xor(pick::<{ lanes4(1, 2, 3, 3) }>(x))
}

/// The sum of all parts in every lane, from [`sums`].
#[inline(always)]
fn total(sums: Zmm) -> Zmm {
    settle(sums.xor(pick::<{ lanes4(3, 2, 1, 0) }>(sums)))
}

/// Puts nine products together. `parts` holds the lower and upper halves of the products of parts 0–3, `pairs` those of [`sums`],
/// `all` those of [`total`] in every lane. Of the product's eight blocks, one part wide each, it returns the even ones and the
/// odd ones. The order of the sums is chosen so that nearly every block is in its lane already.
#[inline(always)]
fn join([low, high]: [Zmm; 2], [pair_low, pair_high]: [Zmm; 2], all: [Zmm; 2]) -> [Zmm; 2] {
    // The middle of parts 0 and 1 in lanes 0 and 1, that of parts 2 and 3 in lanes 2 and 3.
    let neighbours = |x: Zmm, pair: Zmm| {
        let sum = add_in::<0b1100_0011>(x, pair);
        sum.xor(pick::<{ lanes4(1, 0, 3, 2) }>(sum))
    };
    let even = add_in::<0b1100_1100>(low, neighbours(high, pair_high));
    let odd = add_in::<0b0011_0011>(high, neighbours(low, pair_low));
    // Now even and odd hold the products of parts 0, 1 (lanes 0, 1) and of parts 2, 3 (lanes 2, 3). The product of the sums of
    // these has its blocks in lanes 1 and 2 of the pairs, but for its own middle.
    let across = |x: Zmm, all: Zmm| x.xor3(pick::<{ lanes4(0, 2, 1, 3) }>(x), all);
    let even_middle = add_in::<0b0011_0000>(pair_low, across(pair_high, all[1]));
    let odd_middle = add_in::<0b0000_1100>(pair_high, across(pair_low, all[0]));
    let outer = |x: Zmm, middle: Zmm| {
        let both = pick::<{ lanes4(0, 0, 1, 3) }>(x).xor3(pick::<{ lanes4(0, 2, 3, 3) }>(x), middle);
        add_in::<0b0011_1100>(x, both)
    };
    [settle(outer(even, even_middle)), settle(outer(odd, odd_middle))]
}

/// 8×8 words.
#[inline(always)]
pub(crate) fn mul8(a: Zmm, b: Zmm) -> [Zmm; 2] {
    let (sums_a, sums_b) = (sums(a), sums(b));
    let parts = lanes::mul1(a, b);
    let pairs = lanes::mul1(sums_a, sums_b);
    let all = lanes::mul1(total(sums_a), total(sums_b));
    let [even, odd] = join(parts, pairs, all);
    let low = pick2::<{ lanes4(0, 1, 0, 1) }>(even, odd);
    let high = pick2::<{ lanes4(2, 3, 2, 3) }>(even, odd);
    [pick::<{ lanes4(0, 2, 1, 3) }>(low), pick::<{ lanes4(0, 2, 1, 3) }>(high)]
}

/// 16×16 words.
#[inline(always)]
pub(crate) fn mul16(a: [Zmm; 2], b: [Zmm; 2]) -> [Zmm; 4] {
    // Parts of two lanes: all first lanes in one vector, all second lanes in another.
    let transpose = |x: [Zmm; 2]| {
        [settle(pick2::<{ lanes4(0, 2, 0, 2) }>(x[0], x[1])), settle(pick2::<{ lanes4(1, 3, 1, 3) }>(x[0], x[1]))]
    };
    let (a, b) = (transpose(a), transpose(b));
    let (sums_a, sums_b) = ([sums(a[0]), sums(a[1])], [sums(b[0]), sums(b[1])]);
    let parts = lanes::mul2(a, b);
    let pairs = lanes::mul2(sums_a, sums_b);
    // The sum of all is two lanes; its three lane products share three instructions: lane 0, lane 1, and their sum in lane 2.
    let spread = |sums: [Zmm; 2]| {
        let all = [total(sums[0]), total(sums[1])];
        let sum = add_in::<0b1111_0000>(all[0], all[1]);
        // SAFETY: holding `sum` proves AVX-512.
        Zmm(unsafe { _mm512_mask_mov_epi64(sum.0, 0b0000_1100, all[1].0) })
    };
    let [low, high] = lanes::mul1(spread(sums_a), spread(sums_b));
    let p0 = [pick::<0x00>(low), pick::<0x00>(high)];
    let p1 = [pick::<0x55>(low), pick::<0x55>(high)];
    let p2 = [pick::<0xaa>(low), pick::<0xaa>(high)];
    let shared = p0[1].xor(p1[0]);
    let all = [p0[0], shared.xor3(p0[0], p2[0]), shared.xor3(p1[1], p2[1]), p1[1]];
    let [even0, odd0] = join([parts[0], parts[2]], [pairs[0], pairs[2]], [all[0], all[2]]);
    let [even1, odd1] = join([parts[1], parts[3]], [pairs[1], pairs[3]], [all[1], all[3]]);
    // Vector i of the answer is lane i of (even0, even1, odd0, odd1).
    let (even_low, even_high) =
        (pick2::<{ lanes4(0, 1, 0, 1) }>(even0, even1), pick2::<{ lanes4(2, 3, 2, 3) }>(even0, even1));
    let (odd_low, odd_high) =
        (pick2::<{ lanes4(0, 1, 0, 1) }>(odd0, odd1), pick2::<{ lanes4(2, 3, 2, 3) }>(odd0, odd1));
    [
        pick2::<{ lanes4(0, 2, 0, 2) }>(even_low, odd_low),
        pick2::<{ lanes4(1, 3, 1, 3) }>(even_low, odd_low),
        pick2::<{ lanes4(0, 2, 0, 2) }>(even_high, odd_high),
        pick2::<{ lanes4(1, 3, 1, 3) }>(even_high, odd_high),
    ]
}

/// 2×2 lanes, the four products of lanes side by side: `x` has the lanes 0 0 1 1 of one factor, `y` 0 1 0 1 of the other. Each product takes four
/// instructions instead of Karatsuba's three, so that no sums come before the multiplication; behind it stands one shuffle across lanes.
#[inline(always)]
fn mul_lanes2(x: Zmm, y: Zmm) -> Zmm {
    // SAFETY: holding `x` proves AVX-512 and VPCLMULQDQ.
    let (low_high, high_low) =
        unsafe { (_mm512_clmulepi64_epi128::<0x10>(x.0, y.0), _mm512_clmulepi64_epi128::<0x01>(x.0, y.0)) };
    let [low, high] = Zmm::add_middle(x.clmul_low(y), x.clmul_high(y), Zmm(low_high).xor(Zmm(high_low)));
    // The answer is l₀₀, h₀₀ + l₀₁ + l₁₀, h₀₁ + h₁₀ + l₁₁, h₁₁.
    let ends = pick2::<{ lanes4(0, 1, 1, 3) }>(low, high);
    let second = pick2::<{ lanes4(2, 2, 2, 2) }>(low, high);
    let third = pick2::<{ lanes4(0, 0, 3, 3) }>(high, low);
    add_in::<0b0011_1100>(ends, second.xor(third))
}

/// 4×4 words. Loads repeat the lanes for nothing.
///
/// # Safety
/// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to 4 words, `out` to 8.
#[inline(always)]
unsafe fn mul4(out: *mut u64, a: *const u64, b: *const u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let lane = |words: *const u64| _mm512_broadcast_i64x2(_mm_loadu_si128(words.cast()));
        let x = _mm512_mask_blend_epi64(0b1111_0000, lane(a), lane(a.add(2)));
        let y = _mm512_broadcast_i64x4(_mm256_loadu_si256(b.cast()));
        Vector::store(mul_lanes2(Zmm(x), Zmm(y)), out, 8);
    }
}

/// 3×3 words, as 4×4 with zeros above. Six word products would do, but the shuffles around them take longer.
///
/// # Safety
/// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to 3 words, `out` to 6.
#[inline(always)]
unsafe fn mul3(out: *mut u64, a: *const u64, b: *const u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let x = _mm512_maskz_broadcast_i64x2(0b0000_1111, _mm_loadu_si128(a.cast()));
        let x = _mm512_mask_set1_epi64(x, 0b0101_0000, (*a.add(2)).cast_signed());
        let y = _mm512_maskz_broadcast_i64x2(0b0011_0011, _mm_loadu_si128(b.cast()));
        let y = _mm512_mask_set1_epi64(y, 0b0100_0100, (*b.add(2)).cast_signed());
        let product = mul_lanes2(Zmm(x), Zmm(y)).0;
        // Not one store under a mask: loads of the next product, if this is a factor of it, would have to wait for that.
        _mm256_storeu_si256(out.cast(), _mm512_castsi512_si256(product));
        _mm_storeu_si128(out.add(4).cast(), _mm512_extracti64x2_epi64::<2>(product));
    }
}

/// 9×9 words as 8 + 1: the ninth words, in the lowest word of `a1` and `b1`, times the other factor's eight, in four instructions.
#[inline(always)]
fn mul9(a: [Zmm; 2], b: [Zmm; 2]) -> [Zmm; 3] {
    let [low, high] = mul8(a[0], b[0]);
    // SAFETY: holding `low` proves AVX-512 and VPCLMULQDQ.
    unsafe {
        let a8 = _mm512_broadcastq_epi64(_mm512_castsi512_si128(a[1].0));
        let b8 = _mm512_broadcastq_epi64(_mm512_castsi512_si128(b[1].0));
        let even =
            Zmm(_mm512_clmulepi64_epi128::<0x00>(a[0].0, b8)).xor(Zmm(_mm512_clmulepi64_epi128::<0x00>(b[0].0, a8)));
        let odd =
            Zmm(_mm512_clmulepi64_epi128::<0x01>(a[0].0, b8)).xor(Zmm(_mm512_clmulepi64_epi128::<0x01>(b[0].0, a8)));
        let zero = _mm512_setzero_si512();
        let top = Zmm(_mm512_maskz_mov_epi64(0b11, _mm512_clmulepi64_epi128::<0x00>(a8, b8)));
        let shifted = Zmm(_mm512_alignr_epi64::<7>(odd.0, zero));
        let carried = Zmm(_mm512_alignr_epi64::<7>(zero, odd.0));
        [low, high.xor3(even, shifted), top.xor(carried)]
    }
}

/// Vector `i` of a factor of `n` words; words beyond the factor are zero.
///
/// # Safety
/// AVX-512 exists; `words` points to `n` words.
#[inline(always)]
unsafe fn vector(words: *const u64, n: usize, i: usize) -> Zmm {
    // SAFETY: what is beyond is not read.
    unsafe { Vector::load(words.wrapping_add(8 * i), n.saturating_sub(8 * i).min(8)) }
}

/// Writes as many of the vectors as `n` words take.
///
/// # Safety
/// `out` points to `n` words.
#[inline(always)]
unsafe fn store_product<const VECTORS: usize>(out: *mut u64, n: usize, product: [Zmm; VECTORS]) {
    for (i, vector) in product.into_iter().enumerate() {
        // SAFETY: what is beyond is not written.
        unsafe { Vector::store(vector, out.wrapping_add(8 * i), n.saturating_sub(8 * i).min(8)) }
    }
}

/// n×n words, 17 to 24, by Karatsuba with three parts over [`mul8`], sums straight from the factors.
///
/// # Safety
/// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to n words, `out` to 2n.
#[inline(always)]
unsafe fn mul24(out: *mut u64, a: *const u64, b: *const u64, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let (a0, a1, a2) = (vector(a, n, 0), vector(a, n, 1), vector(a, n, 2));
        let (b0, b1, b2) = (vector(b, n, 0), vector(b, n, 1), vector(b, n, 2));
        let (p0, p1, p2) = (mul8(a0, b0), mul8(a1, b1), mul8(a2, b2));
        let c01 = mul8(a0.xor(a1), b0.xor(b1));
        let c02 = mul8(a0.xor(a2), b0.xor(b2));
        let c12 = mul8(a1.xor(a2), b1.xor(b2));
        // As in `memory::karatsuba3_join`.
        let (below, above) = (p0[0].xor3(p0[1], p1[0]), p1[1].xor3(p2[0], p2[1]));
        let product = [
            p0[0],
            below.xor(c01[0]),
            below.xor3(p1[1], p2[0]).xor3(c01[1], c02[0]),
            above.xor3(p0[1], p1[0]).xor3(c02[1], c12[0]),
            above.xor(c12[1]),
            p2[1],
        ];
        store_product(out, 2 * n, product);
    }
}

/// n×n words, 25 to 32, by Karatsuba over [`mul16`], sums straight from the factors.
///
/// # Safety
/// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to n words, `out` to 2n.
#[inline(always)]
unsafe fn mul32(out: *mut u64, a: *const u64, b: *const u64, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let half = |x: *const u64, i: usize| [vector(x, n, i), vector(x, n, i + 1)];
        let (a0, a1, b0, b1) = (half(a, 0), half(a, 2), half(b, 0), half(b, 2));
        let low = mul16(a0, b0);
        let high = mul16(a1, b1);
        let middle = mul16([a0[0].xor(a1[0]), a0[1].xor(a1[1])], [b0[0].xor(b1[0]), b0[1].xor(b1[1])]);
        let shared = [low[2].xor(high[0]), low[3].xor(high[1])];
        let product = [
            low[0],
            low[1],
            shared[0].xor3(low[0], middle[0]),
            shared[1].xor3(low[1], middle[1]),
            shared[0].xor3(high[2], middle[2]),
            shared[1].xor3(high[3], middle[3]),
            high[2],
            high[3],
        ];
        store_product(out, 2 * n, product);
    }
}

impl Vector for Zmm {
    const WORDS: usize = 8;
    const MASKED: bool = true;
    #[inline(always)]
    unsafe fn load(at: *const u64, n: usize) -> Self {
        // SAFETY: the caller's promise; what the mask leaves out is not read.
        Self(unsafe {
            if n == 8 { _mm512_loadu_epi64(at.cast()) } else { _mm512_maskz_loadu_epi64((1 << n) - 1, at.cast()) }
        })
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u64, n: usize) {
        // SAFETY: the caller's promise; what the mask leaves out is not written.
        unsafe {
            if n == 8 {
                _mm512_storeu_epi64(at.cast(), self.0);
            } else {
                _mm512_mask_storeu_epi64(at.cast(), (1 << n) - 1, self.0);
            }
        }
    }
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm512_set1_epi64(word.cast_signed()) })
    }
    #[inline(always)]
    fn word(self) -> u64 {
        // SAFETY: holding `self` proves AVX-512.
        unsafe { _mm_cvtsi128_si64(_mm512_castsi512_si128(self.0)).cast_unsigned() }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.xor(other)
    }
    #[inline(always)]
    fn running(self) -> Self {
        // SAFETY: holding `self` proves AVX-512. Each line moves the words up, by one, two and four places.
        unsafe {
            let zero = _mm512_setzero_si512();
            let x = self.xor(Self(_mm512_alignr_epi64::<7>(self.0, zero)));
            let x = x.xor(Self(_mm512_alignr_epi64::<6>(x.0, zero)));
            x.xor(Self(_mm512_alignr_epi64::<4>(x.0, zero)))
        }
    }
    #[inline(always)]
    fn last(self) -> Self {
        // SAFETY: holding `self` proves AVX-512.
        Self(unsafe { _mm512_permutexvar_epi64(_mm512_set1_epi64(7), self.0) })
    }
}

macro_rules! leaf512 {
    ($leaf:ident, $batch:ident, $n:literal, $mul:expr) => {
        /// # Safety
        /// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to n words each, `out` to 2n, for the n in the name.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
        unsafe fn $leaf(out: *mut u64, a: *const u64, b: *const u64) {
            // SAFETY: the caller's promise.
            unsafe {
                let a = core::array::from_fn(|i| vector(a, $n, i));
                let b = core::array::from_fn(|i| vector(b, $n, i));
                store_product(out, 2 * $n, $mul(a, b));
            }
        }
        batch!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", $batch, $leaf, $n);
    };
}

// Where a name ends in `of_many`, only the batch is used; `avx512_alone` has the leaf.
leaf!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf1, batch1, 1, clmul::mul1_word);
leaf!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf2, batch2, 2, clmul::mul1);
vpclmul::leaf256!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf3_of_many, batch3, 3, |out, a, b| {
    mul3(out, a, b)
});
vpclmul::leaf256!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf4_of_many, batch4, 4, |out, a, b| {
    mul4(out, a, b)
});
vpclmul::leaf256!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf5, batch5, 5, |out, a, b| {
    vpclmul::store(out, 10, vpclmul::mul6(vpclmul::lanes3(a, 5), vpclmul::lanes3(b, 5)))
});
vpclmul::leaf256!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf6, batch6, 6, |out, a, b| {
    vpclmul::store(out, 12, vpclmul::mul6(vpclmul::lanes3(a, 6), vpclmul::lanes3(b, 6)))
});
leaf512!(leaf7_of_many, batch7, 7, |[a]: [Zmm; 1], [b]: [Zmm; 1]| mul8(a, b));
leaf512!(leaf8_of_many, batch8, 8, |[a]: [Zmm; 1], [b]: [Zmm; 1]| mul8(a, b));
leaf512!(leaf9_of_many, batch9, 9, mul9);
vpclmul::leaf256!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf10, batch10, 10, |out, a, b| {
    vpclmul::store(out, 20, vpclmul::mul12(vpclmul::lanes6(a, 10), vpclmul::lanes6(b, 10)))
});
vpclmul::leaf256!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf11, batch11, 11, |out, a, b| {
    vpclmul::store(out, 22, vpclmul::mul12(vpclmul::lanes6(a, 11), vpclmul::lanes6(b, 11)))
});
vpclmul::leaf256!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf12, batch12, 12, |out, a, b| {
    vpclmul::store(out, 24, vpclmul::mul12(vpclmul::lanes6(a, 12), vpclmul::lanes6(b, 12)))
});
leaf512!(leaf13, batch13, 13, mul16);
leaf512!(leaf14, batch14, 14, mul16);
leaf512!(leaf15, batch15, 15, mul16);
leaf512!(leaf16, batch16, 16, mul16);
long_leaves!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq");

// SAFETY: the functions keep to the contract, and `kernel` hands the value out only against the token of their features.
static KERNEL: Kernel = unsafe {
    Kernel::new(
        "avx512",
        &LEAVES,
        &BATCHES,
        clmul::row,
        clmul::square,
        memory::table!(
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            Zmm
        ),
    )
};

/// The arm, against proof of its instructions.
#[inline]
pub(crate) fn kernel(_: HaveAvx512Crypto) -> &'static Kernel {
    &KERNEL
}
