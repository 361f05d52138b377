//! Bytes of rows become bytes of columns, and the reverse: 64 rows of 16 bytes in sixteen registers.

use super::super::mceliece::Ymm;
use crate::kernels::mceliece::bitsliced::{self, times};
use crate::kernels::mceliece::columns::COLUMNS;
use crate::kernels::mceliece::vector::Row;
use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

/// Rows that are transposed at once.
const ROWS: usize = 64;
/// Columns that are.
const SIXTEEN: usize = 16;

/// See [`crate::kernels::mceliece::columns::fill`].
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
pub(super) fn fill<const M: usize>(
    proof: HaveAvx2,
    x: &[u16; COLUMNS],
    value: &[u16; COLUMNS],
    t: usize,
    height: usize,
    tile: &mut [u8],
) {
    let x: [Ymm; M] = bitsliced::load(proof, &planes(x));
    let mut value: [Ymm; M] = bitsliced::load(proof, &planes(value));
    // Rows that are not yet in the tile, and room for those of one power more.
    let mut waiting = [Row::ZERO; ROWS + 13];
    let (mut count, mut done) = (0, 0);
    for _ in 0..t {
        let rows: &mut [Row; M] = waiting[count..].first_chunk_mut().expect("room for a power");
        bitsliced::store(&value, rows);
        count += M;
        if count >= ROWS {
            to_columns(&waiting, height, done, tile);
            waiting.copy_within(ROWS.., 0);
            count -= ROWS;
            done += ROWS;
        }
        value = times(proof, &value, &x);
    }
    if count > 0 {
        waiting[count..].fill(Row::ZERO);
        to_columns(&waiting, height, done, tile);
    }
}

/// Elements as planes of bits.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn planes<const M: usize>(elements: &[u16; COLUMNS]) -> [Row; M] {
    let mut planes = [Row::ZERO; M];
    for (at, half) in elements.as_chunks::<32>().0.iter().enumerate() {
        // SAFETY: 32 elements are 64 bytes, and the load needs no alignment.
        let half = unsafe { _mm512_loadu_si512(half.as_ptr().cast()) };
        for (bit, plane) in planes.iter_mut().enumerate() {
            let bits = _mm512_test_epi16_mask(half, _mm512_set1_epi16(1 << bit));
            plane[at / 2] |= u64::from(bits) << (32 * (at % 2));
        }
    }
    planes
}

/// Writes 64 rows of 32 bytes into as many columns, from row `first` on.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn to_columns(rows: &[Row; ROWS + 13], height: usize, first: usize, tile: &mut [u8]) {
    for (half, columns) in tile.chunks_exact_mut(SIXTEEN * height).enumerate() {
        let mut all = [_mm512_setzero_si512(); SIXTEEN];
        for (i, all) in all.iter_mut().enumerate() {
            *all = lanes([
                sixteen(&rows[i], half),
                sixteen(&rows[i + 16], half),
                sixteen(&rows[i + 32], half),
                sixteen(&rows[i + 48], half),
            ]);
        }
        for (vector, column) in transposed(all).into_iter().zip(columns.chunks_exact_mut(height)) {
            let bytes: &mut [u8; ROWS] = column[first..].first_chunk_mut().expect("64 rows");
            // SAFETY: there is room for 64 bytes, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) };
        }
    }
}

/// See [`crate::kernels::mceliece::rows::write`].
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
pub(super) fn write(tile: &[u8], height: usize, matrix: &mut [u8], row_bytes: usize, first: usize) {
    for (at, columns) in tile.chunks_exact(SIXTEEN * height).enumerate() {
        let first = first + SIXTEEN * at;
        if first + SIXTEEN > row_bytes {
            // What is left of each row.
            crate::kernels::mceliece::rows::write(columns, height, matrix, row_bytes, first.min(row_bytes));
            return;
        }
        for (block, rows) in matrix.chunks_mut(ROWS * row_bytes).enumerate() {
            let mut all = [_mm512_setzero_si512(); SIXTEEN];
            for (all, column) in all.iter_mut().zip(columns.chunks_exact(height)) {
                let bytes: &[u8; ROWS] = column[ROWS * block..].first_chunk().expect("64 rows");
                // SAFETY: there are 64 bytes, and the load needs no alignment.
                *all = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
            }
            for (i, vector) in transposed(all).into_iter().enumerate() {
                put(_mm512_castsi512_si128(vector), rows, i * row_bytes + first);
                put(_mm512_extracti32x4_epi32::<1>(vector), rows, (i + 16) * row_bytes + first);
                put(_mm512_extracti32x4_epi32::<2>(vector), rows, (i + 32) * row_bytes + first);
                put(_mm512_extracti32x4_epi32::<3>(vector), rows, (i + 48) * row_bytes + first);
            }
        }
    }
}

/// Writes 16 bytes at `at`, if there is such a row.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn put(bytes: __m128i, rows: &mut [u8], at: usize) {
    if let Some(place) = rows.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<SIXTEEN>) {
        // SAFETY: there is room for 16 bytes, and the store needs no alignment.
        unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), bytes) };
    }
}

/// In each lane of 128 bits, byte j of vector i becomes byte i of vector j.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn transposed(mut all: [__m512i; SIXTEEN]) -> [__m512i; SIXTEEN] {
    // Of the eight bits of both numbers, each round moves the highest of a byte's to the end of the vector's, and that one's highest to the end of the byte's.
    for _ in 0..4 {
        let mut next = all;
        for i in 0..SIXTEEN / 2 {
            next[2 * i] = _mm512_unpacklo_epi8(all[i], all[i + SIXTEEN / 2]);
            next[2 * i + 1] = _mm512_unpackhi_epi8(all[i], all[i + SIXTEEN / 2]);
        }
        all = next;
    }
    all
}

/// Four lanes.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn lanes(four: [__m128i; 4]) -> __m512i {
    let two = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(four[0]), four[1]);
    _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(two, four[2]), four[3])
}

/// 16 bytes of a row.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn sixteen(row: &Row, half: usize) -> __m128i {
    let words = &row.as_chunks::<2>().0[half];
    // SAFETY: two words are 16 bytes, and the load needs no alignment.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}
