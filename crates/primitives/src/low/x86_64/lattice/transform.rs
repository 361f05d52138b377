//! The transform, its inverse, and products.

use super::twiddles::{FORWARD_WITHIN, INVERSE_WITHIN, PRODUCT_LANES, Within};
use super::{Constants, entry, load, reduced, splat, store, times};
use crate::lattice::{FORWARD, Factor, INVERSE, LAST, MONTGOMERY, Poly, Q, Q_INVERSE, SCALE};
use core::arch::x86_64::*;

entry! {
    /// See [`crate::lattice::arithmetic::transform`].
    transform(poly: &mut Poly) {
        // Layers of 128 and 64 coefficients: each column of four vectors.
        let [first, second, third] = [splat(FORWARD[1]), splat(FORWARD[2]), splat(FORWARD[3])];
        for i in 0..4 {
            let (a, c) = butterfly(load(poly, i), load(poly, i + 8), first);
            let (b, d) = butterfly(load(poly, i + 4), load(poly, i + 12), first);
            let ((a, b), (c, d)) = (butterfly(a, b, second), butterfly(c, d, third));
            store(poly, i, a);
            store(poly, i + 4, b);
            store(poly, i + 8, c);
            store(poly, i + 12, d);
        }
        // All others: within four vectors.
        for four in 0..4 {
            let v = [load(poly, 4 * four), load(poly, 4 * four + 1), load(poly, 4 * four + 2), load(poly, 4 * four + 3)];
            let zeta = splat(FORWARD[4 + four]);
            let ((a, c), (b, d)) = (butterfly(v[0], v[2], zeta), butterfly(v[1], v[3], zeta));
            let (a, b) = butterfly(a, b, splat(FORWARD[8 + 2 * four]));
            let (c, d) = butterfly(c, d, splat(FORWARD[9 + 2 * four]));
            let (a, b) = forward_within(a, b, &FORWARD_WITHIN[2 * four]);
            let (c, d) = forward_within(c, d, &FORWARD_WITHIN[2 * four + 1]);
            store(poly, 4 * four, reduced(a));
            store(poly, 4 * four + 1, reduced(b));
            store(poly, 4 * four + 2, reduced(c));
            store(poly, 4 * four + 3, reduced(d));
        }
    }

    /// See [`crate::lattice::arithmetic::inverse`].
    inverse(poly: &mut Poly) {
        for four in 0..4 {
            let (a, b) = inverse_within(load(poly, 4 * four), load(poly, 4 * four + 1), &INVERSE_WITHIN[2 * four]);
            let (c, d) = inverse_within(load(poly, 4 * four + 2), load(poly, 4 * four + 3), &INVERSE_WITHIN[2 * four + 1]);
            let (a, b) = back(a, b, splat(INVERSE[8 + 2 * four]));
            let (c, d) = back(c, d, splat(INVERSE[9 + 2 * four]));
            let zeta = splat(INVERSE[4 + four]);
            let ((a, c), (b, d)) = (back(a, c, zeta), back(b, d, zeta));
            store(poly, 4 * four, a);
            store(poly, 4 * four + 1, b);
            store(poly, 4 * four + 2, c);
            store(poly, 4 * four + 3, d);
        }
        let [second, third] = [splat(INVERSE[2]), splat(INVERSE[3])];
        for i in 0..4 {
            let (a, b) = back(load(poly, i), load(poly, i + 4), second);
            let (c, d) = back(load(poly, i + 8), load(poly, i + 12), third);
            for (i, a, c) in [(i, reduced(a), reduced(c)), (i + 4, b, d)] {
                store(poly, i, times(_mm256_add_epi16(a, c), splat(SCALE)));
                store(poly, i + 8, times(_mm256_sub_epi16(c, a), splat(LAST)));
            }
        }
    }

    /// See [`Factor`].
    factor(poly: &Poly, into: &mut Factor) {
        for (i, lanes) in PRODUCT_LANES.iter().enumerate() {
            let b = load(poly, i);
            let swapped = _mm256_shufflehi_epi16::<0b10_11_00_01>(_mm256_shufflelo_epi16::<0b10_11_00_01>(b));
            store(&mut into.even, i, times(b, lanes.constants()));
            store(&mut into.odd, i, times(swapped, splat(MONTGOMERY)));
        }
    }

    /// See [`crate::lattice::arithmetic::inner_product`].
    inner_product(a: &[&Poly], b: &[Factor], into: &mut Poly) {
        for i in 0..16 {
            let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for (a, b) in a.iter().zip(b) {
                let a = load(a, i);
                even = _mm256_add_epi32(even, _mm256_madd_epi16(a, load(&b.even, i)));
                odd = _mm256_add_epi32(odd, _mm256_madd_epi16(a, load(&b.odd, i)));
            }
            // The upper halves are the reduced sums.
            let [even, odd] = [without_lower_half(even), without_lower_half(odd)];
            store(into, i, _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(even), odd));
        }
    }

    /// a + b, into a.
    add(a: &mut Poly, b: &Poly) {
        for i in 0..16 {
            store(a, i, _mm256_add_epi16(load(a, i), load(b, i)));
        }
    }

    /// b − a, into a.
    subtract_from(a: &mut Poly, b: &Poly) {
        for i in 0..16 {
            store(a, i, _mm256_sub_epi16(load(b, i), load(a, i)));
        }
    }
}

/// a + ζ·b and a − ζ·b.
#[target_feature(enable = "avx2")]
#[inline]
fn butterfly(a: __m256i, b: __m256i, zeta: Constants) -> (__m256i, __m256i) {
    let product = times(b, zeta);
    (_mm256_add_epi16(a, product), _mm256_sub_epi16(a, product))
}

/// a + b and ζ·(b − a).
#[target_feature(enable = "avx2")]
#[inline]
fn back(a: __m256i, b: __m256i, zeta: Constants) -> (__m256i, __m256i) {
    (_mm256_add_epi16(a, b), times(_mm256_sub_epi16(b, a), zeta))
}

/// Layers of eight, four and two coefficients in two vectors that follow each other.
#[target_feature(enable = "avx2")]
#[inline]
fn forward_within(x: __m256i, y: __m256i, zetas: &Within) -> (__m256i, __m256i) {
    let (a, b) = halves(x, y);
    let (a, b) = butterfly(a, b, zetas.eight.constants());
    let (a, b) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (a, b) = butterfly(a, b, zetas.four.constants());
    let (a, b) = even_and_odd_pairs(a, b);
    let (a, b) = butterfly(a, b, zetas.two.constants());
    in_order(a, b)
}

/// The same three layers of the inverse, with the reduction of the sums after them.
#[target_feature(enable = "avx2")]
#[inline]
fn inverse_within(x: __m256i, y: __m256i, zetas: &Within) -> (__m256i, __m256i) {
    // The exchanges of the transform, all at once: in the order in which it comes to its last layer.
    let (a, b) = halves(x, y);
    let (a, b) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (a, b) = even_and_odd_pairs(a, b);
    let (a, b) = back(a, b, zetas.two.constants());
    // Groups 0, 2 of the first half of each vector's and 1, 3 stand in one vector; each goes back to its own.
    let (low, high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (a, b) = back(low, high, zetas.four.constants());
    let (low, high) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (a, b) = back(low, high, zetas.eight.constants());
    halves(reduced(a), b)
}

/// The lower halves of both, and the upper halves. Twice, it is nothing.
#[target_feature(enable = "avx2")]
#[inline]
fn halves(x: __m256i, y: __m256i) -> (__m256i, __m256i) {
    (_mm256_permute2x128_si256::<0x20>(x, y), _mm256_permute2x128_si256::<0x31>(x, y))
}

/// Of each two pairs of coefficients the first, and the second.
#[target_feature(enable = "avx2")]
#[inline]
fn even_and_odd_pairs(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    let [even, odd] = [_mm256_shuffle_ps::<0b10_00_10_00>(a, b), _mm256_shuffle_ps::<0b11_01_11_01>(a, b)];
    (_mm256_castps_si256(even), _mm256_castps_si256(odd))
}

/// All exchanges of the transform taken back.
#[target_feature(enable = "avx2")]
#[inline]
fn in_order(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    let (low, high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    halves(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high))
}

/// The sums minus the multiples of q that make their lower halves zero; see `montgomery` in [`crate::lattice::arithmetic`].
#[target_feature(enable = "avx2")]
#[inline]
fn without_lower_half(sums: __m256i) -> __m256i {
    let multiples = _mm256_mullo_epi16(sums, _mm256_set1_epi32(i32::from(Q_INVERSE as u16)));
    _mm256_sub_epi32(sums, _mm256_madd_epi16(multiples, _mm256_set1_epi32(Q.into())))
}
