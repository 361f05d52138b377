//! Argon2's compression function on 256-bit vectors (RFC 9106, sections 3.5 and 3.6).
//!
//! The block is eight rows of sixteen words. P mixes sixteen words as a 4×4 matrix, first its columns, then its diagonals. A row
//! of the block is four vectors, one for each row of its matrix; diagonals come under each other by turning the vectors
//! (`vpermq`). In a column of the block the matrix rows are pairs of words from two block rows, so two block columns share a vector, one
//! in each half; there diagonals come under each other by `vpalignr`, and the third row by only changing names. Two permutations run beside each
//! other everywhere, since one alone waits for its own results.
#![allow(unsafe_code)]

use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

/// `out = G(x, y)`, or `out ^= G(x, y)` if `onto`. `ahead` gets the first word of the result as soon as it is known, before
/// half of the columns are done, and returns the 1 KiB to prefetch meanwhile.
#[inline(always)]
pub(crate) fn fill(
    _: HaveAvx2,
    x: &[u64; 128],
    y: &[u64; 128],
    out: &mut [u64; 128],
    onto: bool,
    ahead: impl FnOnce(u64) -> *const u8,
) {
    // SAFETY: the token proves AVX2.
    unsafe { fill_avx2(x, y, out, onto, ahead) }
}

type Row = [__m256i; 4];

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn fill_avx2(x: &[u64; 128], y: &[u64; 128], out: &mut [u64; 128], onto: bool, ahead: impl FnOnce(u64) -> *const u8) {
    let mut z = [[_mm256_setzero_si256(); 4]; 8];
    for pair in 0..4 {
        let (mut one, mut two) = (sum(x, y, 2 * pair), sum(x, y, 2 * pair + 1));
        rows(&mut one, &mut two);
        (z[2 * pair], z[2 * pair + 1]) = (one, two);
    }
    let mut ahead = Some(ahead);
    for quarter in 0..4 {
        let mut words = z.map(|row| row[quarter]);
        columns(&mut words);
        for (row, word) in words.into_iter().enumerate() {
            let at = 16 * row + 4 * quarter;
            let mut word = _mm256_xor_si256(word, _mm256_xor_si256(load(x, at), load(y, at)));
            if onto {
                word = _mm256_xor_si256(word, load(out, at));
            }
            store(out, at, word);
        }
        if let Some(ahead) = ahead.take() {
            prefetch(ahead(out[0]));
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn sum(x: &[u64; 128], y: &[u64; 128], row: usize) -> Row {
    core::array::from_fn(|at| {
        let at = 16 * row + 4 * at;
        _mm256_xor_si256(load(x, at), load(y, at))
    })
}

/// P on two rows of the block.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn rows(one: &mut Row, two: &mut Row) {
    half(one);
    half(two);
    turn(one);
    turn(two);
    half(one);
    half(two);
    turn_back(one);
    turn_back(two);
}

/// P on two columns of the block: `w[r]` holds two words of each from block row `r`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn columns(w: &mut [__m256i; 8]) {
    let [a0, a1, b0, b1, c0, c1, d0, d1] = *w;
    let (mut one, mut two) = ([a0, b0, c0, d0], [a1, b1, c1, d1]);
    half(&mut one);
    half(&mut two);
    let ([a0, b0, c0, d0], [a1, b1, c1, d1]) = (one, two);
    one = [a0, _mm256_alignr_epi8::<8>(b1, b0), c1, _mm256_alignr_epi8::<8>(d0, d1)];
    two = [a1, _mm256_alignr_epi8::<8>(b0, b1), c0, _mm256_alignr_epi8::<8>(d1, d0)];
    half(&mut one);
    half(&mut two);
    let ([a0, b0, c1, d0], [a1, b1, c0, d1]) = (one, two);
    *w = [
        a0,
        a1,
        _mm256_alignr_epi8::<8>(b0, b1),
        _mm256_alignr_epi8::<8>(b1, b0),
        c0,
        c1,
        _mm256_alignr_epi8::<8>(d1, d0),
        _mm256_alignr_epi8::<8>(d0, d1),
    ];
}

/// The quarter-rounds of four columns of the matrix.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn half([a, b, c, d]: &mut Row) {
    let by_24 = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10));
    let by_16 = _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9));
    *a = add(*a, *b);
    *d = _mm256_shuffle_epi32::<0b10_11_00_01>(_mm256_xor_si256(*d, *a));
    *c = add(*c, *d);
    *b = _mm256_shuffle_epi8(_mm256_xor_si256(*b, *c), by_24);
    *a = add(*a, *b);
    *d = _mm256_shuffle_epi8(_mm256_xor_si256(*d, *a), by_16);
    *c = add(*c, *d);
    let b63 = _mm256_xor_si256(*b, *c);
    *b = _mm256_xor_si256(_mm256_srli_epi64::<63>(b63), _mm256_add_epi64(b63, b63));
}

/// x + y + 2·lo(x)·lo(y).
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn add(x: __m256i, y: __m256i) -> __m256i {
    let product = _mm256_mul_epu32(x, y);
    _mm256_add_epi64(_mm256_add_epi64(x, y), _mm256_add_epi64(product, product))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn turn([_, b, c, d]: &mut Row) {
    *b = _mm256_permute4x64_epi64::<0b00_11_10_01>(*b);
    *c = _mm256_permute4x64_epi64::<0b01_00_11_10>(*c);
    *d = _mm256_permute4x64_epi64::<0b10_01_00_11>(*d);
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn turn_back([_, b, c, d]: &mut Row) {
    *b = _mm256_permute4x64_epi64::<0b10_01_00_11>(*b);
    *c = _mm256_permute4x64_epi64::<0b01_00_11_10>(*c);
    *d = _mm256_permute4x64_epi64::<0b00_11_10_01>(*d);
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn load(block: &[u64; 128], at: usize) -> __m256i {
    let words: &[u64] = &block[at..at + 4];
    // SAFETY: 32 bytes are there; no alignment is asked for.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn store(block: &mut [u64; 128], at: usize, vector: __m256i) {
    let words: &mut [u64] = &mut block[at..at + 4];
    // SAFETY: 32 bytes are there; no alignment is asked for.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
}

/// Asks for a block's sixteen cache lines. Any address will do: a prefetch does not fault.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch(block: *const u8) {
    for line in 0..16 {
        _mm_prefetch::<_MM_HINT_T0>(block.wrapping_add(64 * line).cast());
    }
}
