//! Argon2's compression function on 128-bit vectors of WebAssembly (RFC 9106, sections 3.5 and 3.6).
//!
//! The block is eight rows of eight vectors of two words. P mixes eight vectors as a 4×4 matrix of words, first its columns, then its diagonals, which
//! come under each other by shuffles. A row of the block is eight vectors beside each other, a column eight vectors under each other.
#![allow(unsafe_code)]

use core::arch::wasm32::*;

/// `out = G(x, y)`, or `out ^= G(x, y)` if `onto`.
///
/// Never inlined: engines compile a function well only after some calls, and do not replace one that is running. The loop around this one
/// runs for a quarter of a pass.
#[inline(never)]
pub(crate) fn fill(x: &[u64; 128], y: &[u64; 128], out: &mut [u64; 128], onto: bool) {
    let mut z = [u64x2(0, 0); 64];
    for row in 0..8 {
        let mixed = permute(core::array::from_fn(|at| sum(x, y, 8 * row + at)));
        z[8 * row..][..8].copy_from_slice(&mixed);
    }
    for column in 0..8 {
        let mixed = permute(core::array::from_fn(|row| z[8 * row + column]));
        for (row, word) in mixed.into_iter().enumerate() {
            let at = 8 * row + column;
            let word = v128_xor(word, sum(x, y, at));
            store(out, at, if onto { v128_xor(word, load(out, at)) } else { word });
        }
    }
}

#[inline(always)]
fn sum(x: &[u64; 128], y: &[u64; 128], at: usize) -> v128 {
    v128_xor(load(x, at), load(y, at))
}

/// The vector at `at`, counted in vectors.
#[inline(always)]
fn load(block: &[u64; 128], at: usize) -> v128 {
    let words: &[u64; 2] = &block.as_chunks().0[at];
    // SAFETY: two words are 16 bytes, which may lie anywhere.
    unsafe { v128_load(words.as_ptr().cast()) }
}

#[inline(always)]
fn store(block: &mut [u64; 128], at: usize, vector: v128) {
    let words: &mut [u64; 2] = &mut block.as_chunks_mut().0[at];
    // SAFETY: as above, and they are borrowed exclusively.
    unsafe { v128_store(words.as_mut_ptr().cast(), vector) }
}

/// P: BLAKE2b's round over sixteen words, with a multiplication in it.
#[inline(always)]
fn permute([mut a0, mut a1, mut b0, mut b1, mut c0, mut c1, mut d0, mut d1]: [v128; 8]) -> [v128; 8] {
    (a0, b0, c0, d0) = mix(a0, b0, c0, d0);
    (a1, b1, c1, d1) = mix(a1, b1, c1, d1);
    // The diagonals under each other: the second row turns by one word, the third by two, the fourth by three.
    (b0, b1) = (across(b0, b1), across(b1, b0));
    (d0, d1) = (across(d1, d0), across(d0, d1));
    (a0, b0, c1, d0) = mix(a0, b0, c1, d0);
    (a1, b1, c0, d1) = mix(a1, b1, c0, d1);
    [a0, a1, across(b1, b0), across(b0, b1), c0, c1, across(d0, d1), across(d1, d0)]
}

/// The second word of `x` and the first of `y`.
#[inline(always)]
fn across(x: v128, y: v128) -> v128 {
    u64x2_shuffle::<1, 2>(x, y)
}

/// G of two columns.
#[inline(always)]
fn mix(mut a: v128, mut b: v128, mut c: v128, mut d: v128) -> (v128, v128, v128, v128) {
    a = add(a, b);
    d = swap_halves(v128_xor(d, a));
    c = add(c, d);
    b = rotate::<24>(v128_xor(b, c));
    a = add(a, b);
    d = rotate::<16>(v128_xor(d, a));
    c = add(c, d);
    let turned = v128_xor(b, c);
    // By 63 to the right is by 1 to the left.
    b = v128_or(u64x2_add(turned, turned), u64x2_shr(turned, 63));
    (a, b, c, d)
}

/// x + y + 2·lo(x)·lo(y) of both words.
#[inline(always)]
fn add(x: v128, y: v128) -> v128 {
    let product = u64x2_extmul_low_u32x4(u32x4_shuffle::<0, 2, 0, 2>(x, x), u32x4_shuffle::<0, 2, 0, 2>(y, y));
    u64x2_add(u64x2_add(x, y), u64x2_add(product, product))
}

/// Turns both words by 32 bits.
#[inline(always)]
fn swap_halves(x: v128) -> v128 {
    u32x4_shuffle::<1, 0, 3, 2>(x, x)
}

/// Turns both words by `BITS` to the right. By shifts: engines load the pattern of a shuffle of bytes anew each time, which costs more.
#[inline(always)]
fn rotate<const BITS: u32>(x: v128) -> v128 {
    v128_or(u64x2_shr(x, BITS), u64x2_shl(x, 64 - BITS))
}
