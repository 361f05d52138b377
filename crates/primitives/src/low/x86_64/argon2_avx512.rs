//! Argon2's compression function on 512-bit vectors: the whole block in sixteen registers (RFC 9106, sections 3.5 and 3.6).
//!
//! As `argon2_avx2.rs`, with two rows or four columns of the block in a vector, rotations by one instruction and three-way XORs.
#![allow(unsafe_code)]

use super::argon2_avx2::prefetch;
use candor_cpu::HaveAvx512Crypto;
use core::arch::x86_64::*;

/// `out = G(x, y)`, or `out ^= G(x, y)` if `onto`. `ahead` gets the first word of the result as soon as it is known, before
/// half of the columns are done, and returns the 1 KiB to prefetch meanwhile.
#[inline(always)]
pub(crate) fn fill(
    _: HaveAvx512Crypto,
    x: &[u64; 128],
    y: &[u64; 128],
    out: &mut [u64; 128],
    onto: bool,
    ahead: impl FnOnce(u64) -> *const u8,
) {
    // SAFETY: the token proves AVX-512 F, BW, DQ and VL.
    unsafe { fill_avx512(x, y, out, onto, ahead) }
}

type Four = [__m512i; 4];

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn fill_avx512(x: &[u64; 128], y: &[u64; 128], out: &mut [u64; 128], onto: bool, ahead: impl FnOnce(u64) -> *const u8) {
    // z[r] is the left half of row r, z[8 + r] its right half.
    let place = |at: usize| 16 * (at % 8) + 8 * (at / 8);
    let mut z: [__m512i; 16] = core::array::from_fn(|at| _mm512_xor_si512(load(x, place(at)), load(y, place(at))));
    for quarter in 0..2 {
        let at = 4 * quarter;
        let (mut one, mut two) = (matrices(&z, at), matrices(&z, at + 2));
        rows(&mut one, &mut two);
        back(&mut z, at, one);
        back(&mut z, at + 2, two);
    }
    let mut ahead = Some(ahead);
    for side in 0..2 {
        let mut words: [__m512i; 8] = core::array::from_fn(|row| z[8 * side + row]);
        columns(&mut words);
        for (row, word) in words.into_iter().enumerate() {
            let at = place(8 * side + row);
            let mut word = xor3(word, load(x, at), load(y, at));
            if onto {
                word = _mm512_xor_si512(word, load(out, at));
            }
            store(out, at, word);
        }
        if let Some(ahead) = ahead.take() {
            prefetch(ahead(out[0]));
        }
    }
}

/// Rows `at` and `at + 1` of the block as two matrices side by side.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn matrices(z: &[__m512i; 16], at: usize) -> Four {
    let (left, right) = ((z[at], z[at + 1]), (z[8 + at], z[9 + at]));
    [
        _mm512_shuffle_i64x2::<0b01_00_01_00>(left.0, left.1),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(left.0, left.1),
        _mm512_shuffle_i64x2::<0b01_00_01_00>(right.0, right.1),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(right.0, right.1),
    ]
}

/// The inverse of [`matrices`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn back(z: &mut [__m512i; 16], at: usize, [a, b, c, d]: Four) {
    z[at] = _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b);
    z[at + 1] = _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b);
    z[8 + at] = _mm512_shuffle_i64x2::<0b01_00_01_00>(c, d);
    z[9 + at] = _mm512_shuffle_i64x2::<0b11_10_11_10>(c, d);
}

/// P on four rows of the block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn rows(one: &mut Four, two: &mut Four) {
    half(one);
    half(two);
    for [_, b, c, d] in [&mut *one, &mut *two] {
        *b = _mm512_permutex_epi64::<0b00_11_10_01>(*b);
        *c = _mm512_permutex_epi64::<0b01_00_11_10>(*c);
        *d = _mm512_permutex_epi64::<0b10_01_00_11>(*d);
    }
    half(one);
    half(two);
    for [_, b, c, d] in [one, two] {
        *b = _mm512_permutex_epi64::<0b10_01_00_11>(*b);
        *c = _mm512_permutex_epi64::<0b01_00_11_10>(*c);
        *d = _mm512_permutex_epi64::<0b00_11_10_01>(*d);
    }
}

/// P on four columns of the block: `w[r]` holds two words of each from block row `r`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn columns(w: &mut [__m512i; 8]) {
    let [a0, a1, b0, b1, c0, c1, d0, d1] = *w;
    let (mut one, mut two) = ([a0, b0, c0, d0], [a1, b1, c1, d1]);
    half(&mut one);
    half(&mut two);
    let ([a0, b0, c0, d0], [a1, b1, c1, d1]) = (one, two);
    one = [a0, _mm512_alignr_epi8::<8>(b1, b0), c1, _mm512_alignr_epi8::<8>(d0, d1)];
    two = [a1, _mm512_alignr_epi8::<8>(b0, b1), c0, _mm512_alignr_epi8::<8>(d1, d0)];
    half(&mut one);
    half(&mut two);
    let ([a0, b0, c1, d0], [a1, b1, c0, d1]) = (one, two);
    *w = [
        a0,
        a1,
        _mm512_alignr_epi8::<8>(b0, b1),
        _mm512_alignr_epi8::<8>(b1, b0),
        c0,
        c1,
        _mm512_alignr_epi8::<8>(d1, d0),
        _mm512_alignr_epi8::<8>(d0, d1),
    ];
}

/// The quarter-rounds of all columns of the matrices.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn half([a, b, c, d]: &mut Four) {
    *a = add(*a, *b);
    *d = _mm512_ror_epi64::<32>(_mm512_xor_si512(*d, *a));
    *c = add(*c, *d);
    *b = _mm512_ror_epi64::<24>(_mm512_xor_si512(*b, *c));
    *a = add(*a, *b);
    *d = _mm512_ror_epi64::<16>(_mm512_xor_si512(*d, *a));
    *c = add(*c, *d);
    *b = _mm512_ror_epi64::<63>(_mm512_xor_si512(*b, *c));
}

/// x + y + 2·lo(x)·lo(y).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn add(x: __m512i, y: __m512i) -> __m512i {
    let product = _mm512_mul_epu32(x, y);
    _mm512_add_epi64(_mm512_add_epi64(x, y), _mm512_add_epi64(product, product))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn xor3(x: __m512i, y: __m512i, z: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(x, y, z)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn load(block: &[u64; 128], at: usize) -> __m512i {
    let words: &[u64] = &block[at..at + 8];
    // SAFETY: 64 bytes are there; no alignment is asked for.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn store(block: &mut [u64; 128], at: usize, vector: __m512i) {
    let words: &mut [u64] = &mut block[at..at + 8];
    // SAFETY: 64 bytes are there; no alignment is asked for.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
}
