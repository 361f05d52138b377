//! Polynomials to bytes and back, sixteen coefficients at a time, in two halves of eight.

use super::{entry, load, reduced, store};
use crate::lattice::{Poly, Q};
use core::arch::x86_64::*;

/// Makes the kernels for so many bits.
macro_rules! sizes {
    ($($bits:literal: $compress:ident, $decompress:ident by $unpacked:expr;)+) => {
        entry! {
            $(
                #[doc = concat!("Compresses to ", $bits, " bits a coefficient.")]
                $compress(poly: &Poly, bytes: &mut [u8]) {
                    for (i, bytes) in bytes.chunks_exact_mut(2 * $bits).enumerate() {
                        pack::<$bits>(compressed::<$bits>(load(poly, i)), bytes);
                    }
                }

                #[doc = concat!("Decompresses from ", $bits, " bits a coefficient.")]
                $decompress(bytes: &[u8], poly: &mut Poly) {
                    for i in 0..16 {
                        store(poly, i, decompressed::<$bits>($unpacked(bytes, i)));
                    }
                }
            )+
        }
    };
}

sizes! {
    4: compress_4, decompress_4 by unpacked::<4>;
    5: compress_5, decompress_5 by unpacked::<5>;
    10: compress_10, decompress_10 by unpacked::<10>;
    11: compress_11, decompress_11 by eleven_bits;
}

entry! {
    /// See [`crate::lattice::encoding::encode`].
    encode(poly: &Poly, bytes: &mut [u8; 384]) {
        for (i, bytes) in bytes.as_chunks_mut::<24>().0.iter_mut().enumerate() {
            pack::<12>(canonical(load(poly, i)), bytes);
        }
    }

    /// See [`crate::lattice::encoding::decode`].
    decode(bytes: &[u8; 384], poly: &mut Poly) {
        for i in 0..16 {
            store(poly, i, unpacked::<12>(bytes, i));
        }
    }

    /// Compresses to one bit a coefficient.
    compress_1(poly: &Poly, bytes: &mut [u8]) {
        for (i, bytes) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let [a, b] = [compressed::<1>(load(poly, 2 * i)), compressed::<1>(load(poly, 2 * i + 1))];
            let mixed = _mm256_packus_epi16(a, b);
            let bits = _mm256_cmpgt_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(mixed), _mm256_setzero_si256());
            *bytes = _mm256_movemask_epi8(bits).to_le_bytes();
        }
    }

    /// Decompresses from one bit a coefficient.
    decompress_1(bytes: &[u8], poly: &mut Poly) {
        let bit = _mm256_set_epi16(
            i16::MIN, 1 << 14, 1 << 13, 1 << 12, 1 << 11, 1 << 10, 1 << 9, 1 << 8, 128, 64, 32, 16, 8, 4, 2, 1,
        );
        for (i, bytes) in bytes.as_chunks::<2>().0.iter().enumerate() {
            let set = _mm256_and_si256(_mm256_set1_epi16(i16::from_le_bytes(*bytes)), bit);
            let ones = _mm256_cmpeq_epi16(set, bit);
            store(poly, i, _mm256_and_si256(ones, _mm256_set1_epi16((Q + 1) / 2)));
        }
    }
}

/// Representatives between 0 and q − 1.
#[target_feature(enable = "avx2")]
#[inline]
fn canonical(values: __m256i) -> __m256i {
    let small = reduced(values);
    _mm256_add_epi16(small, _mm256_and_si256(_mm256_srai_epi16::<15>(small), _mm256_set1_epi16(Q)))
}

/// Compress (FIPS 203 §4.2.1). The first quotient is right or one too small, as the remainder tells.
#[target_feature(enable = "avx2")]
#[inline]
fn compressed<const BITS: usize>(values: __m256i) -> __m256i {
    let values = canonical(values);
    let inverse = const { ((1_u32 << (16 + BITS)) / Q as u32 + 1) as u16 };
    let quotients = _mm256_mulhi_epu16(values, _mm256_set1_epi16(inverse as i16));
    let multiples = _mm256_mullo_epi16(quotients, _mm256_set1_epi16(Q));
    let rounded = _mm256_add_epi16(_mm256_sll_epi16(values, _mm_cvtsi32_si128(BITS as i32)), _mm256_set1_epi16(Q / 2));
    let too_small = _mm256_cmpgt_epi16(_mm256_sub_epi16(rounded, multiples), _mm256_set1_epi16(Q - 1));
    _mm256_and_si256(_mm256_sub_epi16(quotients, too_small), _mm256_set1_epi16((1 << BITS) - 1))
}

/// Decompress: q·y/2^BITS, rounded, is a product of y·2^(15 − BITS) whose upper half is rounded.
#[target_feature(enable = "avx2")]
#[inline]
fn decompressed<const BITS: usize>(values: __m256i) -> __m256i {
    let raised = _mm256_sll_epi16(values, _mm_cvtsi32_si128(15 - BITS as i32));
    _mm256_mulhrs_epi16(raised, _mm256_set1_epi16(Q))
}

/// Writes 2·`BITS` bytes: two coefficients become a double word, two of those a quad word, two of those a half of the vector.
#[target_feature(enable = "avx2")]
#[inline]
fn pack<const BITS: usize>(values: __m256i, bytes: &mut [u8]) {
    let pairs = _mm256_madd_epi16(values, _mm256_set1_epi32(1 | 1 << (16 + BITS)));
    let (gap, four) = (32 - 2 * BITS as i32, 4 * BITS as i32);
    let closed = _mm256_sllv_epi32(pairs, _mm256_set1_epi64x(gap.into()));
    let fours = _mm256_srl_epi64(closed, _mm_cvtsi32_si128(gap));
    let upper = _mm256_unpackhi_epi64(fours, fours);
    let lower_word = _mm256_or_si256(fours, _mm256_sll_epi64(upper, _mm_cvtsi32_si128(four)));
    let upper_word = _mm256_srl_epi64(upper, _mm_cvtsi32_si128(64 - four));
    let eights = _mm256_unpacklo_epi64(lower_word, upper_word);
    let mut wide = [0_u8; 32];
    // SAFETY: the array has 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(wide.as_mut_ptr().cast(), eights) }
    let (first, second) = bytes.split_at_mut(BITS);
    first.copy_from_slice(&wide[..BITS]);
    second.copy_from_slice(&wide[16..16 + BITS]);
}

/// Eight bytes and more of half `half` of the vectors of a polynomial, and where in them it begins: at 0 but at the end of the slice, behind
/// which nothing is read.
#[target_feature(enable = "avx2")]
#[inline]
fn half<const BITS: usize>(bytes: &[u8], half: usize) -> (__m128i, __m128i) {
    let from = (BITS * half).min(bytes.len() - 16);
    let sixteen = &bytes[from..from + 16];
    // SAFETY: the slice has sixteen bytes; the load needs no alignment.
    let loaded = unsafe { _mm_loadu_si128(sixteen.as_ptr().cast()) };
    (loaded, _mm_set1_epi8((BITS * half - from) as i8))
}

/// Both halves of vector `i`.
#[target_feature(enable = "avx2")]
#[inline]
fn both_halves<const BITS: usize>(bytes: &[u8], i: usize) -> (__m256i, __m256i) {
    let ((low, low_at), (high, high_at)) = (half::<BITS>(bytes, 2 * i), half::<BITS>(bytes, 2 * i + 1));
    (_mm256_set_m128i(high, low), _mm256_set_m128i(high_at, low_at))
}

/// Sixteen coefficients of `BITS` bits, each of which lies within two bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn unpacked<const BITS: usize>(bytes: &[u8], i: usize) -> __m256i {
    /// The two bytes of each coefficient of a half, and the factor that moves it to their upper end.
    const fn places<const BITS: usize>() -> ([u8; 16], [u16; 8]) {
        let (mut places, mut factors) = ([0; 16], [0; 8]);
        let mut i = 0;
        while i < 8 {
            let bit = BITS * i;
            places[2 * i] = (bit / 8) as u8;
            places[2 * i + 1] = (bit / 8 + 1) as u8;
            factors[i] = 1 << (16 - BITS - bit % 8);
            i += 1;
        }
        (places, factors)
    }
    let (places, factors) = const { &places::<BITS>() };
    // SAFETY: both arrays have sixteen bytes; the loads need no alignment.
    let (places, factors) =
        unsafe { (_mm_loadu_si128(places.as_ptr().cast()), _mm_loadu_si128(factors.as_ptr().cast())) };
    let (halves, begin) = both_halves::<BITS>(bytes, i);
    let places = _mm256_add_epi8(_mm256_broadcastsi128_si256(places), begin);
    let moved = _mm256_mullo_epi16(_mm256_shuffle_epi8(halves, places), _mm256_broadcastsi128_si256(factors));
    _mm256_srl_epi16(moved, _mm_cvtsi32_si128(16 - BITS as i32))
}

/// Sixteen coefficients of eleven bits, which lie within three bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn eleven_bits(bytes: &[u8], i: usize) -> __m256i {
    let eight = |number: usize| {
        let (loaded, begin) = half::<11>(bytes, number);
        let places = _mm256_set_epi8(
            -1, 11, 10, 9, -1, 10, 9, 8, -1, 8, 7, 6, -1, 7, 6, 5, -1, 6, 5, 4, -1, 4, 3, 2, -1, 3, 2, 1, -1, 2, 1, 0,
        );
        let places = _mm256_add_epi8(places, _mm256_broadcastsi128_si256(begin));
        let three = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(loaded), places);
        let moved = _mm256_srlv_epi32(three, _mm256_set_epi32(5, 2, 7, 4, 1, 6, 3, 0));
        _mm256_and_si256(moved, _mm256_set1_epi32(0x7ff))
    };
    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(eight(2 * i), eight(2 * i + 1)))
}
