//! BLAKE2b's compression function F with AVX-512's 64-bit rotations on 256-bit registers.
//!
//! The sixteen working variables lie in four registers, a row each, so that one step of G is done on four columns, or on four diagonals, at
//! once. Between the two the rows a, c and d turn, and not b: b is the last that G makes, and all that follows would wait for it. The
//! block lies in two registers of 512 bits; one permutation of both gathers the eight words that four G take.
//!
//! One chain goes through all rounds, fifteen to eighteen cycles for each half, and nothing else is as long. The rotation by 32 is a
//! shuffle, since that takes one cycle where Zen 4's rotation takes two.

use crate::rounds::{BLAKE2B_SIGMA, SHA512_INITIAL};
use candor_cpu::HaveAvx512Crypto;
use core::arch::x86_64::*;

/// Runs F over `blocks`. `counter` is the number of bytes before the first of them; each block adds 128 to it, but the last, if
/// `last` holds its length, adds that and is marked as final.
#[inline]
pub(crate) fn compress(
    _: HaveAvx512Crypto,
    state: &mut [u64; 8],
    blocks: &[[u8; 128]],
    counter: u128,
    last: Option<usize>,
) {
    // SAFETY: the token proves AVX-512 F and VL. Every CPU that has them has AVX2.
    unsafe { compress_avx512(state, blocks, &counter, last.unwrap_or(128), usize::from(last.is_some())) }
}

/// Which words of the block the columns and the diagonals of each of ten rounds take: four first operands, four second ones.
#[repr(align(64))]
struct Places([[[u64; 8]; 2]; 10]);

static PLACES: Places = {
    let mut places = [[[0; 8]; 2]; 10];
    let mut round = 0;
    while round < 10 {
        let mut lane = 0;
        while lane < 4 {
            // Lane i has b of row i; that is column i, and diagonal i − 1 (RFC 7693 §3.2).
            let of = [lane, 4 + (lane + 3) % 4];
            let mut half = 0;
            while half < 2 {
                places[round][half][lane] = BLAKE2B_SIGMA[round][2 * of[half]] as u64;
                places[round][half][4 + lane] = BLAKE2B_SIGMA[round][2 * of[half] + 1] as u64;
                half += 1;
            }
            lane += 1;
        }
        round += 1;
    }
    Places(places)
};

/// Lanes moved down by one, two or three places, and around.
const BY_1: i32 = 0b00_11_10_01;
const BY_2: i32 = 0b01_00_11_10;
const BY_3: i32 = 0b10_01_00_11;

/// [`compress`] where the last block adds `added` bytes and, if `is_last` is 1, is marked. All but the counter, which is public too, are lengths to the
/// scan of `cargo xtask ct`.
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn compress_avx512(state: &mut [u64; 8], blocks: &[[u8; 128]], counter: &u128, added: usize, is_last: usize) {
    let mut counter = *counter;
    let [mut low, mut high] = rows(state);
    for (i, block) in blocks.iter().enumerate() {
        let (added, is_last) = if i + 1 == blocks.len() { (added, is_last) } else { (128, 0) };
        counter = counter.wrapping_add(added as u128);
        let ends = (is_last as i64).wrapping_neg();
        let about = _mm256_set_epi64x(0, ends, (counter >> 64) as i64, counter as i64);
        let [c, d] = rows(&SHA512_INITIAL);
        let mut v = [low, high, c, _mm256_xor_si256(d, about)];
        let block = halves(block);
        // Not as a loop: its end would wait for the rows.
        round(&mut v, block, &PLACES.0[0]);
        round(&mut v, block, &PLACES.0[1]);
        round(&mut v, block, &PLACES.0[2]);
        round(&mut v, block, &PLACES.0[3]);
        round(&mut v, block, &PLACES.0[4]);
        round(&mut v, block, &PLACES.0[5]);
        round(&mut v, block, &PLACES.0[6]);
        round(&mut v, block, &PLACES.0[7]);
        round(&mut v, block, &PLACES.0[8]);
        round(&mut v, block, &PLACES.0[9]);
        round(&mut v, block, &PLACES.0[0]);
        round(&mut v, block, &PLACES.0[1]);
        low = _mm256_ternarylogic_epi64::<0x96>(low, v[0], v[2]);
        high = _mm256_ternarylogic_epi64::<0x96>(high, v[1], v[3]);
    }
    // SAFETY: each half of the state has 32 bytes; the stores need no alignment.
    unsafe {
        _mm256_storeu_si256(state.as_mut_ptr().cast(), low);
        _mm256_storeu_si256(state[4..].as_mut_ptr().cast(), high);
    }
}

/// Four times G on the columns, four times on the diagonals.
#[target_feature(enable = "avx2,avx512f,avx512vl")]
#[inline]
fn round(v: &mut [__m256i; 4], block: [__m512i; 2], places: &[[u64; 8]; 2]) {
    mix(v, words(block, &places[0]));
    turn::<BY_3, BY_1>(v);
    mix(v, words(block, &places[1]));
    turn::<BY_1, BY_3>(v);
}

/// G (§3.1) on four places, with the words that its first and its second half add.
#[target_feature(enable = "avx2,avx512f,avx512vl")]
#[inline]
fn mix(v: &mut [__m256i; 4], words: __m512i) {
    let [a, b, c, d] = v;
    *a = _mm256_add_epi64(_mm256_add_epi64(*a, _mm512_castsi512_si256(words)), *b);
    *d = _mm256_shuffle_epi32::<0b10_11_00_01>(_mm256_xor_si256(*d, *a));
    *c = _mm256_add_epi64(*c, *d);
    *b = _mm256_ror_epi64::<24>(_mm256_xor_si256(*b, *c));
    *a = _mm256_add_epi64(_mm256_add_epi64(*a, _mm512_extracti64x4_epi64::<1>(words)), *b);
    *d = _mm256_ror_epi64::<16>(_mm256_xor_si256(*d, *a));
    *c = _mm256_add_epi64(*c, *d);
    *b = _mm256_ror_epi64::<63>(_mm256_xor_si256(*b, *c));
}

/// Turns the rows about b: from columns to diagonals, or back.
#[target_feature(enable = "avx2")]
#[inline]
fn turn<const A: i32, const C: i32>(v: &mut [__m256i; 4]) {
    v[0] = _mm256_permute4x64_epi64::<A>(v[0]);
    v[3] = _mm256_permute4x64_epi64::<BY_2>(v[3]);
    v[2] = _mm256_permute4x64_epi64::<C>(v[2]);
}

#[target_feature(enable = "avx512f")]
#[inline]
fn words(block: [__m512i; 2], places: &[u64; 8]) -> __m512i {
    // SAFETY: 64 bytes; the load needs no alignment.
    let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast()) };
    _mm512_permutex2var_epi64(block[0], places, block[1])
}

#[target_feature(enable = "avx512f")]
#[inline]
fn halves(block: &[u8; 128]) -> [__m512i; 2] {
    // SAFETY: 64 bytes each; the loads need no alignment.
    [0, 64].map(|at| unsafe { _mm512_loadu_si512(block[at..].as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
#[inline]
fn rows(words: &[u64; 8]) -> [__m256i; 2] {
    // SAFETY: 32 bytes each; the loads need no alignment.
    [0, 4].map(|at| unsafe { _mm256_loadu_si256(words[at..].as_ptr().cast()) })
}
