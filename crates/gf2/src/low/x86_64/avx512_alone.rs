//! Products of 3, 4, 7, 8 and 9 words that are wanted by themselves, on AVX-512.
//!
//! Of many products the number of instructions counts, and `avx512` keeps it small with vectors of four lanes. Of a single one, whose product
//! is a factor of the next, the length of the way through it counts. On Zen 5 a shuffle across four lanes takes five cycles, one across two
//! lanes three; what was stored as 512 bits comes back two cycles later than what was stored as 256. So everything that waits
//! for a sum works on two lanes here, and what is stored is two lanes wide. Only products that wait for no sum fill four lanes.

use crate::lanes::{self, Lanes};
use crate::low::memory::Vector;
use crate::low::x86_64::avx512::{Zmm, lanes4, pick2, settle};
use crate::low::x86_64::clmul::Xmm;
use crate::low::x86_64::halves::{join_halves, neighbours};
use crate::low::x86_64::vpclmul::{self, Ymm, pair};
use core::arch::asm;
use core::arch::x86_64::*;

/// Makes a leaf.
macro_rules! alone {
    ($leaf:ident, $n:literal, |$out:ident, $a:ident, $b:ident| $product:expr) => {
        /// # Safety
        /// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to n words each, `out` to 2n, for the n in the name.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
        pub(super) unsafe fn $leaf($out: *mut u64, $a: *const u64, $b: *const u64) {
            // SAFETY: the caller's promise.
            unsafe { $product }
        }
    };
}

alone!(leaf3, 3, |out, a, b| {
    // The next load takes lanes or a word, so there is nothing to gain from joining lanes for the store.
    for (i, lane) in vpclmul::mul3(a, b).into_iter().enumerate() {
        apart(lane).store(out.add(2 * i), 2);
    }
});
alone!(leaf4, 4, |out, a, b| mul4(out, a, b));
alone!(leaf7, 7, |out, a, b| vpclmul::store(out, 14, mul8(halves_of(a, 7), halves_of(b, 7))));
alone!(leaf8, 8, |out, a, b| vpclmul::store(out, 16, mul8(halves_of(a, 8), halves_of(b, 8))));
alone!(leaf9, 9, |out, a, b| mul9(out, a, b));

/// Returns `x`, but hides from the compiler where it comes from, so that it does not join two stores into one that needs a shuffle first.
#[inline(always)]
fn apart(mut x: Xmm) -> Xmm {
    // SAFETY: the template is a comment: no instruction, no memory, no flags.
    unsafe { asm!("/* {0} */", inout(xmm_reg) x.0, options(pure, nomem, nostack, preserves_flags)) };
    x
}

/// The lower and the upper four words of `n`, 7 or more.
///
/// # Safety
/// AVX2 and VPCLMULQDQ exist; `words` points to `n` words.
#[inline(always)]
unsafe fn halves_of(words: *const u64, n: usize) -> [Ymm; 2] {
    // SAFETY: the caller's promise.
    unsafe { [vpclmul::load(words, n, 0), vpclmul::load(words, n, 2)] }
}

/// Both halves in one vector.
///
/// # Safety
/// AVX-512 exists.
#[inline(always)]
unsafe fn whole([low, high]: [Ymm; 2]) -> Zmm {
    // SAFETY: the caller's promise.
    Zmm(unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low.0), high.0) })
}

#[inline(always)]
fn halves(x: Zmm) -> [Ymm; 2] {
    // SAFETY: holding `x` proves AVX-512.
    unsafe { [Ymm(_mm512_castsi512_si256(x.0)), Ymm(_mm512_extracti64x4_epi64::<1>(x.0))] }
}

/// Words of `x` (0 to 7), zeros (8).
#[inline(always)]
fn words(x: Zmm, places: [i64; 8]) -> Zmm {
    let [a, b, c, d, e, f, g, h] = places;
    // SAFETY: holding `x` proves AVX-512.
    unsafe {
        let places = _mm512_setr_epi64(a, b, c, d, e, f, g, h);
        Zmm(_mm512_permutex2var_epi64(x.0, places, _mm512_setzero_si512()))
    }
}

/// 4×4 words: sixteen word products in four instructions. The products of low and high words go to their places word by word, so that all that
/// comes last has to do is one shuffle and one sum.
///
/// # Safety
/// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to 4 words, `out` to 8.
#[inline(always)]
unsafe fn mul4(out: *mut u64, a: *const u64, b: *const u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let lane = |words: *const u64| _mm512_broadcast_i64x2(_mm_loadu_si128(words.cast()));
        let x = _mm512_broadcast_i64x4(_mm256_loadu_si256(a.cast()));
        let y = _mm512_mask_blend_epi64(0b1111_0000, lane(b), lane(b.add(2)));
        // The products of the lanes 0·0, 1·0, 0·1, 1·1.
        let (low, high) = (Zmm(x).clmul_low(Zmm(y)), Zmm(x).clmul_high(Zmm(y)));
        let middle = settle(Zmm(_mm512_clmulepi64_epi128::<0x10>(x, y)));
        let other_middle = settle(Zmm(_mm512_clmulepi64_epi128::<0x01>(x, y)));
        let ends = pick2::<{ lanes4(0, 1, 1, 3) }>(low, high);
        let second = pick2::<{ lanes4(2, 2, 2, 2) }>(low, high);
        let third = pick2::<{ lanes4(0, 0, 3, 3) }>(high, low);
        let product = Zmm(_mm512_mask_ternarylogic_epi64::<0x96>(ends.0, 0b0011_1100, second.0, third.0));
        // A word up; those of 0·1 and 1·0 fall on the same words.
        let (most, rest) = ([8, 0, 1, 2, 3, 6, 7, 8], [8, 8, 8, 4, 5, 8, 8, 8]);
        let product = settle(product.xor3(words(middle, most), words(middle, rest)));
        let product = product.xor3(words(other_middle, most), words(other_middle, rest));
        for (i, half) in halves(product).into_iter().enumerate() {
            half.store(out.add(4 * i), 4);
        }
    }
}

/// 4×4 lanes: 27 word products in twelve instructions. The products of the factors' own lanes share a vector; the sums have two lanes.
///
/// # Safety
/// AVX-512 and VPCLMULQDQ exist.
#[inline(always)]
unsafe fn mul8(x: [Ymm; 2], y: [Ymm; 2]) -> [Xmm; 8] {
    // SAFETY: the caller's promise.
    let [low, high] = unsafe { lanes::mul1(whole(x), whole(y)) };
    let (both_x, both_y) = (x[0].xor(x[1]), y[0].xor(y[1]));
    let both = lanes::mul1(both_x, both_y);
    let sums = lanes::mul1(neighbours(x), neighbours(y));
    let ([x0, x1], [y0, y1]) = (both_x.split(), both_y.split());
    let all = lanes::mul1(x0.xor(x1), y0.xor(y1));
    let ([lower_low, upper_low], [lower_high, upper_high]) = (halves(low), halves(high));
    join_halves([[lower_low, lower_high], [upper_low, upper_high], both], sums, all)
}

/// 9×9 words as 8 + 1: the ninth words times the other factor's eight, in four instructions.
///
/// # Safety
/// AVX-512 and VPCLMULQDQ exist; `a` and `b` point to 9 words, `out` to 18.
#[inline(always)]
unsafe fn mul9(out: *mut u64, a: *const u64, b: *const u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let (x, y) = (halves_of(a, 8), halves_of(b, 8));
        let product = mul8(x, y);
        let (a8, b8) = (_mm512_set1_epi64((*a.add(8)).cast_signed()), _mm512_set1_epi64((*b.add(8)).cast_signed()));
        let (x, y) = (whole(x).0, whole(y).0);
        let even = Zmm(_mm512_clmulepi64_epi128::<0x00>(x, b8)).xor(Zmm(_mm512_clmulepi64_epi128::<0x00>(y, a8)));
        let odd = Zmm(_mm512_clmulepi64_epi128::<0x01>(x, b8)).xor(Zmm(_mm512_clmulepi64_epi128::<0x01>(y, a8)));
        let zero = _mm512_setzero_si512();
        let rows = even.xor(Zmm(_mm512_alignr_epi64::<7>(odd.0, zero)));
        let carried = halves(Zmm(_mm512_alignr_epi64::<7>(zero, odd.0)))[0].low();
        let top = Xmm(_mm_clmulepi64_si128::<0x00>(_mm512_castsi512_si128(a8), _mm512_castsi512_si128(b8)));
        let [p0, p1, p2, p3, p4, p5, p6, p7] = product;
        let [rows_low, rows_high] = halves(rows);
        pair(p0, p1).store(out, 4);
        pair(p2, p3).store(out.add(4), 4);
        pair(p4, p5).xor(rows_low).store(out.add(8), 4);
        pair(p6, p7).xor(rows_high).store(out.add(12), 4);
        top.xor(carried).store(out.add(16), 2);
    }
}
