//! VPCLMULQDQ on 512-bit registers: Ice Lake, Zen 4 and later. Four lane products an instruction.
//!
//! A multiplication of four parts by four parts is nine products of parts (two levels of Karatsuba): four of the parts, four of
//! sums of two, one of the sum of all. The first and the second four fill the lanes of a vector each, lane by lane; only the last is
//! alone. So 8×8 words (parts of one lane) take 3 + 3 + 1 carry-less instructions, 16×16 words (parts of two lanes) 9 + 9 + 3.

use crate::lanes::{self, Lanes};
use crate::low::kernel::{Batch, Kernel, Leaf, batch};
use crate::low::memory;
use crate::low::x86_64::clmul::{self, leaf};
use candor_cpu::{HaveAvx512, HaveClmul};
use core::arch::x86_64::*;

/// Four lanes. Made only by functions with the features below, so that holding one is proof of them.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Zmm(pub(crate) __m512i);

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
    fn up(self) -> Self {
        // SAFETY: holding `self` proves AVX-512.
        Self(unsafe { _mm512_unpacklo_epi64(_mm512_setzero_si512(), self.0) })
    }
    #[inline(always)]
    fn down(self) -> Self {
        // SAFETY: holding `self` proves AVX-512.
        Self(unsafe { _mm512_unpackhi_epi64(self.0, _mm512_setzero_si512()) })
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
fn pick2<const LANES: i32>(x: Zmm, y: Zmm) -> Zmm {
    // SAFETY: holding `x` proves AVX-512.
    Zmm(unsafe { _mm512_shuffle_i64x2::<LANES>(x.0, y.0) })
}

/// The index of lanes for `shuffle_i64x2`.
const fn lanes4(a: i32, b: i32, c: i32, d: i32) -> i32 {
    a | b << 2 | c << 4 | d << 6
}

/// Lanes of `x` (0–3) and `y` (4–7) interleaved as `[x₀ y₀ x₁ y₁]` or, with `HIGH`, `[x₂ y₂ x₃ y₃]`.
#[inline(always)]
fn interleave<const HIGH: bool>(x: Zmm, y: Zmm) -> Zmm {
    let (low, high) = ((0, 1, 8, 9, 2, 3, 10, 11), (4, 5, 12, 13, 6, 7, 14, 15));
    let (a, b, c, d, e, f, g, h) = if HIGH { high } else { low };
    // SAFETY: holding `x` proves AVX-512.
    Zmm(unsafe { _mm512_permutex2var_epi64(x.0, _mm512_setr_epi64(a, b, c, d, e, f, g, h), y.0) })
}

/// `[0 x y 0]` of lane `LANE` of `x` and `y`.
#[inline(always)]
fn between<const LANE: i64>(x: Zmm, y: Zmm) -> Zmm {
    let (low, high) = (2 * LANE, 2 * LANE + 1);
    // SAFETY: holding `x` proves AVX-512.
    Zmm(unsafe {
        let index = _mm512_setr_epi64(0, 0, low, high, 8 + low, 8 + high, 0, 0);
        _mm512_maskz_permutex2var_epi64(0b0011_1100, x.0, index, y.0)
    })
}

/// The sums of two that the second group multiplies, of parts 0–3 in the lanes: `[0+1, 0+2, 2+3, 1+3]`.
#[inline(always)]
fn sums(x: Zmm) -> Zmm {
    pick::<{ lanes4(0, 0, 2, 1) }>(x).xor(pick::<{ lanes4(1, 2, 3, 3) }>(x))
}

/// The sum of all parts in every lane, from [`sums`].
#[inline(always)]
fn total(sums: Zmm) -> Zmm {
    pick::<{ lanes4(0, 0, 0, 0) }>(sums).xor(pick::<{ lanes4(2, 2, 2, 2) }>(sums))
}

/// Puts nine products together. `parts` holds the lower and upper halves of the products of parts 0–3, `pairs` those of [`sums`],
/// `all` those of [`total`] in lane 1. Answers the lower and the upper half of the product, one part's width a lane.
#[inline(always)]
fn join(parts: [Zmm; 2], pairs: [Zmm; 2], all: [Zmm; 2]) -> [Zmm; 2] {
    // Lane 0: the middle of parts 0 and 1; lane 2: of parts 2 and 3.
    let neighbours = |x: Zmm, y: Zmm| x.xor3(pick::<{ lanes4(1, 0, 3, 2) }>(x), y);
    let inner = [neighbours(parts[0], pairs[0]), neighbours(parts[1], pairs[1])];
    // Lane 1: the middle of the sums 0+2 and 1+3.
    let across = |x: Zmm, y: Zmm| x.xor3(pick::<{ lanes4(2, 3, 0, 1) }>(x), y);
    let outer = [across(pairs[0], all[0]), across(pairs[1], all[1])];
    let low = interleave::<false>(parts[0], parts[1]).xor(between::<0>(inner[0], inner[1]));
    let high = interleave::<true>(parts[0], parts[1]).xor(between::<2>(inner[0], inner[1]));
    let odd = |x: Zmm, y: Zmm| {
        // SAFETY: holding `x` proves AVX-512.
        Zmm(unsafe { _mm512_permutex2var_epi64(x.0, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), y.0) })
    };
    let middle = odd(pairs[0], pairs[1]).xor(between::<1>(outer[0], outer[1])).xor3(low, high);
    // SAFETY: holding `middle` proves AVX-512.
    unsafe {
        let swapped = _mm512_shuffle_i64x2::<{ lanes4(2, 3, 0, 1) }>(middle.0, middle.0);
        [
            Zmm(_mm512_mask_xor_epi64(low.0, 0xf0, low.0, swapped)),
            Zmm(_mm512_mask_xor_epi64(high.0, 0x0f, high.0, swapped)),
        ]
    }
}

/// 8×8 words.
#[inline(always)]
pub(crate) fn mul8(a: Zmm, b: Zmm) -> [Zmm; 2] {
    let (sums_a, sums_b) = (sums(a), sums(b));
    let parts = lanes::mul1(a, b);
    let pairs = lanes::mul1(sums_a, sums_b);
    // The sum of all is one lane; its three word products share an instruction: low words in lane 0, high words in lane 1,
    // folded in lane 2.
    let spread = |sums: Zmm| {
        let all = total(sums);
        // SAFETY: holding `all` proves AVX-512.
        Zmm(unsafe {
            let high = _mm512_unpackhi_epi64(all.0, all.0);
            let words = _mm512_mask_mov_epi64(all.0, 0b0000_1100, high);
            _mm512_mask_xor_epi64(words, 0b0011_0000, words, high)
        })
    };
    let products = spread(sums_a).clmul_low(spread(sums_b));
    let (low, high) = (pick::<{ lanes4(0, 0, 0, 0) }>(products), pick::<{ lanes4(1, 1, 1, 1) }>(products));
    let middle = pick::<{ lanes4(2, 2, 2, 2) }>(products).xor3(low, high);
    join(parts, pairs, [low.xor(middle.up()), high.xor(middle.down())])
}

/// 16×16 words.
#[inline(always)]
pub(crate) fn mul16(a: [Zmm; 2], b: [Zmm; 2]) -> [Zmm; 4] {
    // Parts of two lanes: all first lanes in one vector, all second lanes in another.
    let transpose =
        |x: [Zmm; 2]| [pick2::<{ lanes4(0, 2, 0, 2) }>(x[0], x[1]), pick2::<{ lanes4(1, 3, 1, 3) }>(x[0], x[1])];
    let (a, b) = (transpose(a), transpose(b));
    let (sums_a, sums_b) = (a.map(sums), b.map(sums));
    let parts = lanes::mul2(a, b);
    let pairs = lanes::mul2(sums_a, sums_b);
    // The sum of all is two lanes; its three lane products share three instructions: lane 0, lane 1, and their sum in lane 2.
    let spread = |sums: [Zmm; 2]| {
        let all = sums.map(total);
        // SAFETY: holding `all` proves AVX-512.
        Zmm(unsafe {
            let lanes = _mm512_mask_mov_epi64(all[0].0, 0b0000_1100, all[1].0);
            _mm512_mask_xor_epi64(lanes, 0b0011_0000, lanes, all[1].0)
        })
    };
    let [low, high] = lanes::mul1(spread(sums_a), spread(sums_b));
    // Lanes: (p₀, p₁, p₂); the product is p₀low, shared + p₀low + p₂low, shared + p₁high + p₂high, p₁high.
    let all = {
        let p0 = [pick::<0x00>(low), pick::<0x00>(high)];
        let p1 = [pick::<0x55>(low), pick::<0x55>(high)];
        let p2 = [pick::<0xaa>(low), pick::<0xaa>(high)];
        let shared = p0[1].xor(p1[0]);
        [p0[0], shared.xor3(p0[0], p2[0]), shared.xor3(p1[1], p2[1]), p1[1]]
    };
    let even = join([parts[0], parts[2]], [pairs[0], pairs[2]], [all[0], all[2]]);
    let odd = join([parts[1], parts[3]], [pairs[1], pairs[3]], [all[1], all[3]]);
    [
        interleave::<false>(even[0], odd[0]),
        interleave::<true>(even[0], odd[0]),
        interleave::<false>(even[1], odd[1]),
        interleave::<true>(even[1], odd[1]),
    ]
}

/// 4×4 words, in the lower half of the operands; the product fills one vector.
#[inline(always)]
fn mul4(a: Zmm, b: Zmm) -> Zmm {
    // Lane 0, lane 1, and their sum in lanes 2 and 3.
    let spread = |x: Zmm| {
        let both = pick::<{ lanes4(0, 1, 0, 0) }>(x);
        // SAFETY: holding `both` proves AVX-512.
        Zmm(unsafe { _mm512_mask_xor_epi64(both.0, 0xf0, both.0, _mm512_shuffle_i64x2::<0x55>(x.0, x.0)) })
    };
    let [low, high] = lanes::mul1(spread(a), spread(b));
    // low = (l₀ l₁ m₀ m₀), high = (h₀ h₁ m₁ m₁): the answer is l₀, h₀+l₁+l₀+m₀, h₀+l₁+h₁+m₁, h₁.
    let ends = interleave::<false>(low, high); // l₀ h₀ l₁ h₁
    let all = low.xor(pick::<{ lanes4(1, 0, 0, 0) }>(low)); // lanes 0 and 1: l₀+l₁
    let all_high = high.xor(pick::<{ lanes4(1, 0, 0, 0) }>(high));
    let middle = [all.xor(pick::<0xaa>(low)), all_high.xor(pick::<0xaa>(high))];
    ends.xor(between::<0>(middle[0], middle[1]))
}

/// The mask of the words of vector `i` that are among the first `n`.
const fn mask(n: usize, i: usize) -> u8 {
    let words = n.saturating_sub(8 * i);
    if words >= 8 { 0xff } else { (1 << words) - 1 }
}

/// # Safety
/// AVX-512 exists, and `words` points to `N` words.
#[inline(always)]
unsafe fn load<const N: usize>(words: *const u64, i: usize) -> Zmm {
    // SAFETY: what the mask leaves out is not read.
    Zmm(unsafe {
        let at = words.wrapping_add(8 * i).cast();
        match mask(N, i) {
            0xff => _mm512_loadu_epi64(at),
            mask => _mm512_maskz_loadu_epi64(mask, at),
        }
    })
}

/// # Safety
/// `words` points to `N` words.
#[inline(always)]
unsafe fn store<const N: usize>(words: *mut u64, i: usize, vector: Zmm) {
    // SAFETY: what the mask leaves out is not written.
    unsafe {
        let at = words.wrapping_add(8 * i).cast();
        match mask(N, i) {
            0xff => _mm512_storeu_epi64(at, vector.0),
            0 => (),
            mask => _mm512_mask_storeu_epi64(at, mask, vector.0),
        }
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
                let a = core::array::from_fn(|i| load::<$n>(a, i));
                let b = core::array::from_fn(|i| load::<$n>(b, i));
                for (i, vector) in $mul(a, b).into_iter().enumerate() {
                    store::<{ 2 * $n }>(out, i, vector);
                }
            }
        }
        batch!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", $batch, $leaf, $n);
    };
}

leaf!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf1, batch1, 1, clmul::mul1_word);
leaf!("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq", leaf2, batch2, 2, clmul::mul1);
leaf512!(leaf3, batch3, 3, |[a]: [Zmm; 1], [b]: [Zmm; 1]| [mul4(a, b)]);
leaf512!(leaf4, batch4, 4, |[a]: [Zmm; 1], [b]: [Zmm; 1]| [mul4(a, b)]);
leaf512!(leaf5, batch5, 5, |[a]: [Zmm; 1], [b]: [Zmm; 1]| mul8(a, b));
leaf512!(leaf6, batch6, 6, |[a]: [Zmm; 1], [b]: [Zmm; 1]| mul8(a, b));
leaf512!(leaf7, batch7, 7, |[a]: [Zmm; 1], [b]: [Zmm; 1]| mul8(a, b));
leaf512!(leaf8, batch8, 8, |[a]: [Zmm; 1], [b]: [Zmm; 1]| mul8(a, b));
leaf512!(leaf9, batch9, 9, mul16);
leaf512!(leaf10, batch10, 10, mul16);
leaf512!(leaf11, batch11, 11, mul16);
leaf512!(leaf12, batch12, 12, mul16);
leaf512!(leaf13, batch13, 13, mul16);
leaf512!(leaf14, batch14, 14, mul16);
leaf512!(leaf15, batch15, 15, mul16);
leaf512!(leaf16, batch16, 16, mul16);

const LEAVES: [Leaf; 16] = [
    leaf1, leaf2, leaf3, leaf4, leaf5, leaf6, leaf7, leaf8, leaf9, leaf10, leaf11, leaf12, leaf13, leaf14, leaf15,
    leaf16,
];
const BATCHES: [Batch; 16] = [
    batch1, batch2, batch3, batch4, batch5, batch6, batch7, batch8, batch9, batch10, batch11, batch12, batch13,
    batch14, batch15, batch16,
];

// SAFETY: the functions keep to the contract, and `kernel` hands the value out only against the token of their features.
static KERNEL: Kernel = unsafe {
    Kernel::new(
        "avx512",
        &LEAVES,
        &BATCHES,
        clmul::row,
        clmul::square,
        memory::table!("avx512f,avx512bw,avx512dq,avx512vl"),
    )
};

/// The arm, for whoever can prove that it runs.
#[inline]
pub(crate) fn kernel(_: HaveAvx512, _: HaveClmul) -> &'static Kernel {
    &KERNEL
}
