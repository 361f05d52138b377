//! Sums of rows that secret bits choose, on 256-bit registers.

use crate::kernels::mceliece::rows::ROWS;
use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

/// The most rows that a tile has.
const MOST_ROWS: usize = 1664;
/// Coefficients that are looked up at once: the sums of four rows are a table of 16 bytes, one register.
const FOUR: usize = 4;

/// Adds to each row of `tile` the rows of `sources` that its coefficients choose: see [`crate::kernels::mceliece::rows::combine`].
#[inline]
pub(crate) fn add_rows(_: HaveAvx2, tile: &mut [u8], height: usize, coefficients: &[u8], sources: &[u8]) {
    #[target_feature(enable = "avx2")]
    fn with_features(tile: &mut [u8], height: usize, coefficients: &[u8], sources: &[u8]) {
        let groups = coefficients.len() / height;
        let mut first = 0;
        // Thirty-two rows of sources at a time: eight tables stay in registers.
        while first + 4 <= groups {
            add::<4, 8>(tile, height, &coefficients[first * height..], sources, 8 * groups, first);
            first += 4;
        }
        for first in first..groups {
            add::<1, 2>(tile, height, &coefficients[first * height..], sources, 8 * groups, first);
        }
    }
    // SAFETY: the token proves AVX2.
    unsafe { with_features(tile, height, coefficients, sources) }
}

/// Adds the sources of `G` columns of coefficients, `2 G` tables, from column `first` on. A column of `tile` has `count` sources.
#[target_feature(enable = "avx2")]
#[inline]
fn add<const G: usize, const TABLES: usize>(
    tile: &mut [u8],
    height: usize,
    coefficients: &[u8],
    sources: &[u8],
    count: usize,
    first: usize,
) {
    // The coefficients as indices, each half a byte: those of a group of rows together.
    let mut indices = [[[0; ROWS]; TABLES]; MOST_ROWS / ROWS];
    let indices = &mut indices[..height / ROWS];
    let low = _mm256_set1_epi8(15);
    for (group, column) in coefficients.chunks_exact(height).take(G).enumerate() {
        for (indices, bytes) in indices.iter_mut().zip(column.as_chunks::<ROWS>().0) {
            let bytes = load(bytes);
            store(_mm256_and_si256(bytes, low), &mut indices[2 * group]);
            store(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low), &mut indices[2 * group + 1]);
        }
    }
    for (column, sources) in tile.chunks_exact_mut(height).zip(sources.chunks_exact(count)) {
        let sources = &sources[8 * first..][..8 * G];
        let tables: [__m256i; TABLES] = core::array::from_fn(|i| table(&sources.as_chunks::<FOUR>().0[i]));
        for (rows, indices) in column.as_chunks_mut::<ROWS>().0.iter_mut().zip(indices.iter()) {
            let mut sum = load(rows);
            for (table, indices) in tables.iter().zip(indices) {
                sum = _mm256_xor_si256(sum, _mm256_shuffle_epi8(*table, load(indices)));
            }
            store(sum, rows);
        }
    }
}

/// All sums of four bytes, in both halves: byte i is the sum of those whose bits i has.
#[target_feature(enable = "avx2")]
#[inline]
fn table(bytes: &[u8; FOUR]) -> __m256i {
    // A byte of the index with its top bit gives zero.
    const NONE: u8 = 0x80;
    const CHOICES: [[u8; 16]; FOUR] = {
        let mut all = [[NONE; 16]; FOUR];
        let mut at = 0;
        while at < 16 * FOUR {
            let (bit, i) = (at / 16, at % 16);
            if i >> bit & 1 == 1 {
                all[bit][i] = bit as u8;
            }
            at += 1;
        }
        all
    };
    let bytes = _mm_cvtsi32_si128(i32::from_le_bytes(*bytes));
    let mut sum = _mm_setzero_si128();
    for choice in &CHOICES {
        // SAFETY: there are 16 bytes, and the load needs no alignment.
        let choice = unsafe { _mm_loadu_si128(choice.as_ptr().cast()) };
        sum = _mm_xor_si128(sum, _mm_shuffle_epi8(bytes, choice));
    }
    _mm256_broadcastsi128_si256(sum)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(bytes: &[u8; ROWS]) -> __m256i {
    // SAFETY: there are 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(vector: __m256i, bytes: &mut [u8; ROWS]) {
    // SAFETY: there is room for 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) };
}
