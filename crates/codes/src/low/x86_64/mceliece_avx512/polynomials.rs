//! Vectors over the field times elements, and systems of equations, by affine maps.

use super::affine::{Elements, Factor};
use crate::kernels::mceliece::field;
use crate::kernels::mceliece::polynomials::{LENGTH, Product, Vector};
use core::arch::x86_64::*;

/// A vector in two parts.
type Two = [Elements; 2];

/// See [`crate::kernels::mceliece::polynomials::product`]; `M` only chooses the field.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
pub(super) fn product<const M: usize>(a: &Vector, b: &Vector) -> Product {
    let b = split(b);
    let zero = Elements::zero();
    let mut sum = [zero; 4];
    for a in a.iter().rev() {
        // The sum times the variable, and b times the next coefficient.
        let factor = factor::<M>(*a);
        sum = [
            sum[0].up(zero).plus(b[0].times(&factor)),
            sum[1].up(sum[0]).plus(b[1].times(&factor)),
            sum[2].up(sum[1]),
            sum[3].up(sum[2]),
        ];
    }
    let mut product = [0; 2 * LENGTH];
    let (low, high) = product.split_at_mut(LENGTH);
    join([sum[0], sum[1]], low.try_into().expect("half of a product"));
    join([sum[2], sum[3]], high.try_into().expect("half of a product"));
    product
}

/// See [`crate::kernels::mceliece::polynomials::eliminate`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
pub(super) fn eliminate<const M: usize>(columns: &mut [Vector]) -> u16 {
    let rows = columns.len() - 1;
    for column in columns.iter_mut() {
        keep(split(column), column);
    }
    let mut regular = 1;
    for pivot in 0..rows {
        let here = 1u128 << pivot;
        let first = kept(&columns[pivot]);
        // The pivot's row, or the first below it that is not zero there.
        let candidates = not_zero(&first) & !(here - 1) & (u128::MAX >> (LENGTH - rows));
        let chosen = candidates & candidates.wrapping_neg() | here;
        regular &= u16::from(candidates != 0);
        let element = sum(&first, chosen);
        let inverse = factor::<M>(field::inverse::<M>(_mm256_extract_epi16::<0>(words(element)) as u16));
        let others = [first[0].only(!here as u64), first[1].only((!here >> 64) as u64)];
        for column in &mut columns[pivot..] {
            let vector = kept(column);
            let element = sum(&vector, chosen).times(&inverse);
            let factor = Factor::of::<M>(words(element));
            let vector = [
                vector[0].or(element, here as u64).plus(others[0].times(&factor)),
                vector[1].or(element, (here >> 64) as u64).plus(others[1].times(&factor)),
            ];
            keep(vector, column);
        }
    }
    for column in columns {
        join(kept(column), column);
    }
    regular
}

/// Which elements are not zero.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn not_zero(vector: &Two) -> u128 {
    let [first, second] = [0, 1].map(|i| {
        let any = _mm512_or_si512(vector[i].low, vector[i].high);
        u128::from(_mm512_test_epi8_mask(any, any))
    });
    first | second << 64
}

/// The sum of the chosen elements, in all places.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn sum(vector: &Two, chosen: u128) -> Elements {
    let both = vector[0].only(chosen as u64).plus(vector[1].only((chosen >> 64) as u64));
    Elements { low: sum_of_bytes(both.low), high: sum_of_bytes(both.high) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn sum_of_bytes(bytes: __m512i) -> __m512i {
    let sum = _mm512_xor_si512(bytes, _mm512_shuffle_i64x2::<0b01001110>(bytes, bytes));
    let sum = _mm512_xor_si512(sum, _mm512_shuffle_i64x2::<0b10110001>(sum, sum));
    let sum = _mm512_xor_si512(sum, _mm512_permutex_epi64::<0b10110001>(sum));
    // Eight bytes are transposed, and each then is the parity of a row.
    let rows = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(0x0102040810204080), sum);
    _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi8(-1), rows)
}

/// What multiplies by an element.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn factor<const M: usize>(element: u16) -> Factor {
    Factor::of::<M>(_mm256_set1_epi16(element.cast_signed()))
}

/// The first elements as words.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn words(elements: Elements) -> __m256i {
    _mm256_unpacklo_epi8(_mm512_castsi512_si256(elements.low), _mm512_castsi512_si256(elements.high))
}

/// Elements as bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn split(vector: &Vector) -> Two {
    let mut two = [Elements::zero(); 2];
    for (elements, words) in two.iter_mut().zip(vector.as_chunks::<64>().0) {
        // SAFETY: 64 words are 128 bytes, and the loads need no alignment.
        let [a, b] = unsafe { [0, 1].map(|i| _mm512_loadu_si512(words.as_ptr().cast::<__m512i>().add(i))) };
        let bytes =
            |a, b| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(a)), _mm512_cvtepi16_epi8(b));
        elements.low = bytes(a, b);
        elements.high = bytes(_mm512_srli_epi16::<8>(a), _mm512_srli_epi16::<8>(b));
    }
    two
}

/// The reverse.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn join(two: Two, vector: &mut Vector) {
    for (elements, words) in two.into_iter().zip(vector.as_chunks_mut::<64>().0) {
        let wide =
            |low, high| _mm512_or_si512(_mm512_cvtepu8_epi16(low), _mm512_slli_epi16::<8>(_mm512_cvtepu8_epi16(high)));
        let first = wide(_mm512_castsi512_si256(elements.low), _mm512_castsi512_si256(elements.high));
        let second = wide(_mm512_extracti64x4_epi64::<1>(elements.low), _mm512_extracti64x4_epi64::<1>(elements.high));
        // SAFETY: there is room for 64 words, which are 128 bytes, and the stores need no alignment.
        unsafe {
            _mm512_storeu_si512(words.as_mut_ptr().cast(), first);
            _mm512_storeu_si512(words.as_mut_ptr().cast::<__m512i>().add(1), second);
        }
    }
}

/// Bytes of elements in a vector's memory.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn kept(vector: &Vector) -> Two {
    let place = vector.as_ptr().cast::<__m512i>();
    // SAFETY: a vector is 256 bytes, and the loads need no alignment.
    let part = |i| unsafe { _mm512_loadu_si512(place.add(i)) };
    [Elements { low: part(0), high: part(1) }, Elements { low: part(2), high: part(3) }]
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn keep(two: Two, vector: &mut Vector) {
    let place = vector.as_mut_ptr().cast::<__m512i>();
    for (i, part) in [two[0].low, two[0].high, two[1].low, two[1].high].into_iter().enumerate() {
        // SAFETY: a vector is 256 bytes, and the stores need no alignment.
        unsafe { _mm512_storeu_si512(place.add(i), part) };
    }
}
