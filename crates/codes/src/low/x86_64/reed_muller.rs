//! Decoding of repeated Reed–Muller codewords, with the 128 values of a symbol in eight registers of 256 bits.

use crate::kernels::{Set, reed_muller};
use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

/// See [`crate::kernels::reed_muller_decode`].
#[inline]
pub(crate) fn reed_muller_decode(_: HaveAvx2, set: Set, words: &[u64], symbols: &mut [u8]) {
    #[target_feature(enable = "avx2")]
    fn with_features(set: Set, words: &[u64], symbols: &mut [u8]) {
        match set {
            Set::Hqc1 => decode::<6>(words, symbols),
            Set::Hqc3 | Set::Hqc5 => decode::<10>(words, symbols),
        }
    }
    // SAFETY: the token proves AVX2.
    unsafe { with_features(set, words, symbols) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn decode<const W: usize>(words: &[u64], symbols: &mut [u8]) {
    let (blocks, rest) = words.as_chunks::<W>();
    assert!(blocks.len() == symbols.len() && rest.is_empty());
    for (symbol, block) in symbols.iter_mut().zip(blocks) {
        let mut values = negated_sums(&reed_muller::sums(block));
        transform(&mut values);
        let half = _mm256_set_epi16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32 * W as i16);
        values[0] = _mm256_add_epi16(values[0], half);
        *symbol = peak(&values);
    }
}

/// Sixteen bits of each digit, number `i` of eight, in every lane.
#[target_feature(enable = "avx2")]
#[inline]
fn values_of(digits: &[[u64; 2]; 3], i: usize) -> [__m256i; 3] {
    let mut lanes = [_mm256_setzero_si256(); 3];
    for (lanes, digit) in lanes.iter_mut().zip(digits) {
        *lanes = _mm256_set1_epi16((digit[i / 4] >> (16 * (i % 4))) as i16);
    }
    lanes
}

/// The negated sum of the copies at each of the 128 positions, from its three binary digits. All that follows is negated.
#[target_feature(enable = "avx2")]
#[inline]
fn negated_sums(digits: &[[u64; 2]; 3]) -> [__m256i; 8] {
    let bits = _mm256_set_epi16(
        i16::MIN,
        0x4000,
        0x2000,
        0x1000,
        0x800,
        0x400,
        0x200,
        0x100,
        0x80,
        0x40,
        0x20,
        0x10,
        8,
        4,
        2,
        1,
    );
    // No closures: they would not have the features, and LLVM may leave them calls.
    let mut values = [_mm256_setzero_si256(); 8];
    for (i, value) in values.iter_mut().enumerate() {
        let mut here = values_of(digits, i);
        for here in &mut here {
            *here = _mm256_cmpeq_epi16(_mm256_and_si256(*here, bits), bits);
        }
        let [one, two, four] = here;
        *value = _mm256_add_epi16(one, _mm256_slli_epi16::<1>(_mm256_add_epi16(two, _mm256_slli_epi16::<1>(four))));
    }
    values
}

/// The Hadamard transform: four rounds within registers, where each lane meets the one whose number differs in a bit, and three between them.
#[target_feature(enable = "avx2")]
#[inline]
fn transform(values: &mut [__m256i; 8]) {
    // The partner of each lane, and the sign with which a lane enters its own sum.
    let neighbours = twice(_mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
    let signs_of_1 = twice(_mm_set_epi16(-1, 1, -1, 1, -1, 1, -1, 1));
    let signs_of_2 = twice(_mm_set_epi16(-1, -1, 1, 1, -1, -1, 1, 1));
    let signs_of_4 = twice(_mm_set_epi16(-1, -1, -1, -1, 1, 1, 1, 1));
    let signs_of_8 = _mm256_set_epi16(-1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1);
    for value in values.iter_mut() {
        let mut v = *value;
        v = _mm256_add_epi16(_mm256_shuffle_epi8(v, neighbours), _mm256_sign_epi16(v, signs_of_1));
        v = _mm256_add_epi16(_mm256_shuffle_epi32::<0b10110001>(v), _mm256_sign_epi16(v, signs_of_2));
        v = _mm256_add_epi16(_mm256_shuffle_epi32::<0b01001110>(v), _mm256_sign_epi16(v, signs_of_4));
        v = _mm256_add_epi16(_mm256_permute4x64_epi64::<0b01001110>(v), _mm256_sign_epi16(v, signs_of_8));
        *value = v;
    }
    for distance in [1, 2, 4] {
        for i in (0..8).filter(|i| i & distance == 0) {
            let (a, b) = (values[i], values[i + distance]);
            (values[i], values[i + distance]) = (_mm256_add_epi16(a, b), _mm256_sub_epi16(a, b));
        }
    }
}

/// The symbol of the largest coefficient in absolute value, by the same keys as the portable kernel's; the coefficients come negated.
#[target_feature(enable = "avx2")]
#[inline]
fn peak(values: &[__m256i; 8]) -> u8 {
    // 2 · (127 − i) + 1 for position i.
    let mut order = _mm256_set_epi16(225, 227, 229, 231, 233, 235, 237, 239, 241, 243, 245, 247, 249, 251, 253, 255);
    let mut best = _mm256_setzero_si256();
    for value in values {
        let size = _mm256_slli_epi16::<8>(_mm256_srli_epi16::<1>(_mm256_abs_epi16(*value)));
        // −1 where the coefficient itself is negative.
        let negative = _mm256_cmpgt_epi16(*value, _mm256_setzero_si256());
        best = _mm256_max_epu16(best, _mm256_add_epi16(_mm256_add_epi16(size, order), negative));
        order = _mm256_sub_epi16(order, _mm256_set1_epi16(32));
    }
    let half = _mm_max_epu16(_mm256_castsi256_si128(best), _mm256_extracti128_si256::<1>(best));
    // There is an instruction for the least of eight.
    let least = _mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(-1)));
    let best = !(_mm_cvtsi128_si32(least) as u16);
    (127 - (best >> 1 & 127) as u8) | (best as u8 & 1) << 7
}

/// Both halves the same.
#[target_feature(enable = "avx2")]
#[inline]
fn twice(half: __m128i) -> __m256i {
    _mm256_broadcastsi128_si256(half)
}
