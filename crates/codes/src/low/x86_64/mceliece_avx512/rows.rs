//! Sums of rows that secret bits choose. An affine map of GFNI takes each byte of a register to the sum of those of eight rows, a byte each, whose bits
//! the byte has: 64 rows at once, without a table.

use crate::kernels::mceliece::rows::{PANEL, Panel, STRIP};
use core::arch::x86_64::*;

/// Rows that stand in a register.
const ROWS: usize = 64;
/// Sources that a byte of choices chooses from, and bytes of choices for a row that lie together.
const EIGHT: usize = 8;

/// Choices of 64 sources for 64 rows: eight registers.
type Choices = [[u8; ROWS]; EIGHT];

/// As many bytes as there are [`choices`] for.
pub(crate) fn room_for_choices(coefficients: &[u8], height: usize) -> usize {
    (coefficients.len() / height).next_multiple_of(EIGHT) * height
}

/// The choices of a tile of coefficients, bit i of whose row r says whether row i of the sources goes into row r: for each 64 sources, what is missing
/// being zero, and each 64 rows, [`Choices`]. `choices` is all zero, and has the room for them.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
pub(super) fn choices(coefficients: &[u8], height: usize, choices: &mut [u8]) {
    for (choices, columns) in choices.chunks_exact_mut(EIGHT * height).zip(coefficients.chunks(EIGHT * height)) {
        for (i, column) in columns.chunks_exact(height).enumerate() {
            let places = choices.as_chunks_mut::<ROWS>().0.iter_mut().skip(i).step_by(EIGHT);
            places.zip(column.as_chunks::<ROWS>().0).for_each(|(place, rows)| store(load(rows), place));
        }
    }
}

/// Applies a panel to a strip: see [`crate::kernels::mceliece::rows::apply`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
pub(super) fn apply(strip: &mut [u8], height: usize, panel: Panel<'_>) {
    let Panel { first, count, candidates, pivots, others } = panel;
    let mut sums = [_mm512_setzero_si512(); STRIP];
    for (from, choices) in (first..first + candidates).step_by(ROWS).zip(all_choices(pivots)) {
        for (sum, column) in sums.iter_mut().zip(strip.chunks_exact(height)) {
            let maps = broadcast(affine_maps(beginning(&column[from..])));
            *sum = add(*sum, choices, &maps);
        }
    }
    let choices = all_choices(others);
    for (two, sums) in strip.chunks_exact_mut(2 * height).zip(sums.as_chunks::<2>().0) {
        let (left, right) = two.split_at_mut(height);
        let (left_maps, right_maps) = (broadcast(affine_maps(sums[0])), broadcast(affine_maps(sums[1])));
        let both = left.as_chunks_mut::<ROWS>().0.iter_mut().zip(right.as_chunks_mut::<ROWS>().0);
        for ((left, right), choices) in both.zip(choices) {
            let (left_sum, right_sum) = (load(left), load(right));
            store(add(left_sum, choices, &left_maps), left);
            store(add(right_sum, choices, &right_maps), right);
        }
        pivot_rows(sums[0], count, &mut left[first..]);
        pivot_rows(sums[1], count, &mut right[first..]);
    }
}

/// Adds the sums that are chosen, by maps of eight times eight sources.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn add(mut sum: __m512i, choices: &Choices, maps: &[__m512i; EIGHT]) -> __m512i {
    for (choices, map) in choices.iter().zip(maps) {
        sum = _mm512_xor_si512(sum, _mm512_gf2p8affine_epi64_epi8::<0>(load(choices), *map));
    }
    sum
}

/// For each eight bytes the map that takes a byte to the sum of those whose bits it has.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn affine_maps(bytes: __m512i) -> [i64; EIGHT] {
    // Row i of a map, whose bits say which bits of a byte go into bit i, is its byte 7 − i: so a map is its bytes transposed, and these the identity's
    // bytes are taken to by the map that the bytes are in opposite order.
    let identity = _mm512_set1_epi64(0x0102040810204080);
    let backwards = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607);
    let maps = _mm512_gf2p8affine_epi64_epi8::<0>(identity, _mm512_shuffle_epi8(bytes, backwards));
    let mut words = [0; EIGHT];
    // SAFETY: there is room for eight words, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), maps) };
    words
}

/// Each in all of a register.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn broadcast(words: [i64; EIGHT]) -> [__m512i; EIGHT] {
    let mut all = [_mm512_setzero_si512(); EIGHT];
    for (all, word) in all.iter_mut().zip(words) {
        *all = _mm512_set1_epi64(word);
    }
    all
}

/// Writes the first `count` rows of a column.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn pivot_rows(sum: __m512i, count: usize, column: &mut [u8]) {
    if count == PANEL {
        store(sum, column.first_chunk_mut().expect("64 rows"));
    } else {
        let mut bytes = [0; ROWS];
        store(sum, &mut bytes);
        column[..count].copy_from_slice(&bytes[..count]);
    }
}

/// Those of a panel.
#[inline]
fn all_choices(bytes: &[u8]) -> &[Choices] {
    bytes.as_chunks::<ROWS>().0.as_chunks::<EIGHT>().0
}

/// The first rows of a column, and zeros if there are not as many.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn beginning(column: &[u8]) -> __m512i {
    if let Some(rows) = column.first_chunk() {
        load(rows)
    } else {
        let mut rows = [0; ROWS];
        rows[..column.len()].copy_from_slice(column);
        load(&rows)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn load(rows: &[u8; ROWS]) -> __m512i {
    // SAFETY: there are 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(rows.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn store(vector: __m512i, rows: &mut [u8; ROWS]) {
    // SAFETY: there is room for 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(rows.as_mut_ptr().cast(), vector) };
}
