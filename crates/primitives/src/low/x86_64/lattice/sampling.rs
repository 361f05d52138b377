//! Polynomials from pseudorandom bytes.

use super::{entry, store};
use crate::lattice::{Poly, Q, sampling};
use core::arch::x86_64::*;

/// For each set of lanes, of eight, the bytes of those lanes one after another.
static CHOSEN: [[u8; 16]; 256] = {
    let mut all = [[0; 16]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut filled) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                all[set][filled] = 2 * lane;
                all[set][filled + 1] = 2 * lane + 1;
                filled += 2;
            }
            lane += 1;
        }
        set += 1;
    }
    all
};

/// How many lanes a set has: the instruction that counts bits is no part of AVX2 or AVX-512.
static COUNT: [u8; 256] = {
    let mut all = [0; 256];
    let mut set = 0;
    while set < 256 {
        all[set] = set.count_ones() as u8;
        set += 1;
    }
    all
};

entry! {
    /// See [`sampling::uniform`]. The tables are looked up by what becomes of public bytes.
    uniform(block: &[u64; 25], poly: &mut Poly, filled: usize) -> usize {
        let mut filled = filled;
        for (three, window) in windows(block).into_iter().enumerate() {
            if filled > 240 {
                filled = sampling::uniform_24(&[block[3 * three], block[3 * three + 1], block[3 * three + 2]], poly, filled);
                continue;
            }
            let candidates = candidates(window);
            let good = _mm256_cmpgt_epi16(_mm256_set1_epi16(Q), candidates);
            let [low, high] = [_mm256_castsi256_si128(candidates), _mm256_extracti128_si256::<1>(candidates)];
            let sets = _mm_packs_epi16(_mm256_castsi256_si128(good), _mm256_extracti128_si256::<1>(good));
            let sets = _mm_movemask_epi8(sets) as usize;
            for (eight, set) in [(low, sets & 0xff), (high, sets >> 8)] {
                // SAFETY: the table's entry has sixteen bytes; the load needs no alignment.
                let chosen = unsafe { _mm_loadu_si128(CHOSEN[set].as_ptr().cast()) };
                let room = &mut poly.0[filled..filled + 8];
                // SAFETY: there is room for eight coefficients; the store needs no alignment.
                unsafe { _mm_storeu_si128(room.as_mut_ptr().cast(), _mm_shuffle_epi8(eight, chosen)) }
                filled += usize::from(COUNT[set]);
            }
        }
        filled
    }

    /// See [`sampling::binomial_2`]: sums of two bits in every place of two, and their differences plus 3 in every place of four.
    binomial_2(bytes: &[u8; 128], poly: &mut Poly) {
        for (i, bytes) in bytes.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: the array has 32 bytes; the load needs no alignment.
            let bits = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
            let pairs = _mm256_set1_epi8(0x55);
            let sums = _mm256_add_epi8(
                _mm256_and_si256(bits, pairs),
                _mm256_and_si256(_mm256_srli_epi16::<1>(bits), pairs),
            );
            let lower = _mm256_set1_epi8(0x33);
            let plus = _mm256_add_epi8(_mm256_and_si256(sums, lower), lower);
            let differences = _mm256_sub_epi8(plus, _mm256_and_si256(_mm256_srli_epi16::<2>(sums), lower));
            let (nibble, three) = (_mm256_set1_epi8(15), _mm256_set1_epi8(3));
            let even = _mm256_sub_epi8(_mm256_and_si256(differences, nibble), three);
            let odd = _mm256_sub_epi8(_mm256_and_si256(_mm256_srli_epi16::<4>(differences), nibble), three);
            // Bytes 0 to 7 and 16 to 23 with their neighbours, then the others.
            let [low, high] = [_mm256_unpacklo_epi8(even, odd), _mm256_unpackhi_epi8(even, odd)];
            store(poly, 4 * i, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(low)));
            store(poly, 4 * i + 1, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(high)));
            store(poly, 4 * i + 2, _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(low)));
            store(poly, 4 * i + 3, _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(high)));
        }
    }

    /// See [`sampling::binomial_3`], which this is with other instructions.
    binomial_3(bytes: &[u8; 192], poly: &mut Poly) {
        sampling::binomial_3(bytes, poly);
    }
}

entry! {
    candor_cpu::HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl";

    /// See [`sampling::uniform`]. What is below q moves to the front of a vector in one instruction, a candidate in 32 bits. No branch depends on how
    /// many there are: a wrong guess would cost as much as sixteen candidates.
    uniform_avx512(block: &[u64; 25], poly: &mut Poly, filled: usize) -> usize {
        let mut filled = filled;
        for window in windows(block) {
            let candidates = _mm512_cvtepi16_epi32(candidates(window));
            let good = _mm512_cmplt_epi32_mask(candidates, _mm512_set1_epi32(Q.into()));
            let chosen = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(good, candidates));
            let room = &mut poly.0[filled..];
            let wanted = (1_u32 << room.len().min(16)) - 1;
            // SAFETY: there is room for the lanes of the mask; the store needs no alignment.
            unsafe { _mm256_mask_storeu_epi16(room.as_mut_ptr(), wanted as u16, chosen) }
            let found: usize = good.to_le_bytes().into_iter().map(|set| usize::from(COUNT[usize::from(set)])).sum();
            filled = (filled + found).min(256);
        }
        filled
    }
}

/// Of a block, words 0 to 3, 3 to 6 and so on to 18 to 21.
///
/// The block was written in vectors of four words. It is read in the same, since a load across two stores must wait until both are in the cache.
#[target_feature(enable = "avx2")]
#[inline]
fn windows(block: &[u64; 25]) -> [__m256i; 7] {
    // SAFETY: the four words lie within the block; the load needs no alignment.
    let four = |i: usize| unsafe { _mm256_loadu_si256(block.as_chunks::<4>().0[i].as_ptr().cast()) };
    let [a, b, c, d, e, f] = [four(0), four(1), four(2), four(3), four(4), four(5)];
    [
        a,
        _mm256_permute4x64_epi64::<0b10_01_00_11>(_mm256_blend_epi32::<0b0011_1111>(a, b)),
        _mm256_permute2x128_si256::<0x21>(b, c),
        _mm256_permute4x64_epi64::<0b00_11_10_01>(_mm256_blend_epi32::<0b0000_0011>(c, d)),
        d,
        _mm256_permute4x64_epi64::<0b10_01_00_11>(_mm256_blend_epi32::<0b0011_1111>(d, e)),
        _mm256_permute2x128_si256::<0x21>(e, f),
    ]
}

/// Twelve bits a lane of the first 24 bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn candidates(bytes: __m256i) -> __m256i {
    // The upper half begins with byte 8, and its first candidate with byte 12.
    let halves = _mm256_permute4x64_epi64::<0b10_01_01_00>(bytes);
    let places = _mm256_set_epi8(
        15, 14, 14, 13, 12, 11, 11, 10, 9, 8, 8, 7, 6, 5, 5, 4, 11, 10, 10, 9, 8, 7, 7, 6, 5, 4, 4, 3, 2, 1, 1, 0,
    );
    let windows = _mm256_shuffle_epi8(halves, places);
    let even = _mm256_and_si256(windows, _mm256_set1_epi16(0xfff));
    _mm256_blend_epi16::<0b1010_1010>(even, _mm256_srli_epi16::<4>(windows))
}
