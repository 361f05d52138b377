//! Sums of rows that secret bits choose, on 256-bit registers.

use crate::kernels::mceliece::rows::{FOUR, ROWS};
use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

/// Tables that stay in registers: the sums of four rows are one of 16 bytes.
const TABLES: usize = 8;

/// Adds to each row of `tile` the rows of `sources` that it chooses: see [`crate::kernels::mceliece::rows::combine`].
#[inline]
pub(crate) fn add_rows(_: HaveAvx2, tile: &mut [u8], height: usize, choices: &[u8], sources: &[u8]) {
    #[target_feature(enable = "avx2")]
    fn with_features(tile: &mut [u8], height: usize, choices: &[u8], sources: &[u8]) {
        let fours = choices.len() / height;
        let mut first = 0;
        while first + TABLES <= fours {
            add::<TABLES>(tile, height, choices, sources, fours, first);
            first += TABLES;
        }
        for first in first..fours {
            add::<1>(tile, height, choices, sources, fours, first);
        }
    }
    // SAFETY: the token proves AVX2.
    unsafe { with_features(tile, height, choices, sources) }
}

/// Adds the sources of `N` tables, of `fours` that there are, from the `first` on.
#[target_feature(enable = "avx2")]
#[inline]
fn add<const N: usize>(tile: &mut [u8], height: usize, choices: &[u8], sources: &[u8], fours: usize, first: usize) {
    for (column, sources) in tile.chunks_exact_mut(height).zip(sources.chunks_exact(FOUR * fours)) {
        let sources = &sources.as_chunks::<FOUR>().0[first..first + N];
        let tables: [__m256i; N] = core::array::from_fn(|i| table(&sources[i]));
        let choices = choices.as_chunks::<ROWS>().0.chunks_exact(fours);
        for (rows, choices) in column.as_chunks_mut::<ROWS>().0.iter_mut().zip(choices) {
            let mut sum = load(rows);
            for (table, choices) in tables.iter().zip(&choices[first..first + N]) {
                sum = _mm256_xor_si256(sum, _mm256_shuffle_epi8(*table, load(choices)));
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
