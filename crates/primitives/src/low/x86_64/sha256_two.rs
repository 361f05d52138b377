//! SHA-256 of two messages at once with the SHA instructions.
//!
//! SHA256RNDS2 takes four cycles or so from its input to its output, and the rounds of one message are one chain of them; the unit can
//! start another in between. So two chains run side by side.

use crate::hash::sha256_portable::K;
use candor_cpu::HaveSha;
use core::arch::x86_64::*;

/// Compresses a block in each of 2 lanes; entry i of the state holds word i of both.
#[inline]
pub(crate) fn compress(_: HaveSha, state: &mut [[u32; 2]; 8], blocks: [&[u8; 64]; 2]) {
    // SAFETY: the token proves the features.
    unsafe { with_features(state, blocks) }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn with_features(state: &mut [[u32; 2]; 8], blocks: [&[u8; 64]; 2]) {
    let word = |i: usize, lane: usize| state[i][lane] as i32;
    // The instructions want a, b, e, f in one register, from the top, and c, d, g, h in the other.
    let before: [[__m128i; 2]; 2] = core::array::from_fn(|lane| {
        [
            _mm_set_epi32(word(0, lane), word(1, lane), word(4, lane), word(5, lane)),
            _mm_set_epi32(word(2, lane), word(3, lane), word(6, lane), word(7, lane)),
        ]
    });
    let [[mut abef0, mut cdgh0], [mut abef1, mut cdgh1]] = before;
    let mut w0 = words(blocks[0]);
    let mut w1 = words(blocks[1]);
    for (four, k) in K.as_chunks::<4>().0.iter().enumerate() {
        let k = _mm_set_epi32(k[3] as i32, k[2] as i32, k[1] as i32, k[0] as i32);
        let [x0, x1] = [_mm_add_epi32(w0[0], k), _mm_add_epi32(w1[0], k)];
        cdgh0 = _mm_sha256rnds2_epu32(cdgh0, abef0, x0);
        cdgh1 = _mm_sha256rnds2_epu32(cdgh1, abef1, x1);
        abef0 = _mm_sha256rnds2_epu32(abef0, cdgh0, _mm_shuffle_epi32::<0x0e>(x0));
        abef1 = _mm_sha256rnds2_epu32(abef1, cdgh1, _mm_shuffle_epi32::<0x0e>(x1));
        if four < 12 {
            w0 = extended(w0);
            w1 = extended(w1);
        } else {
            w0.rotate_left(1);
            w1.rotate_left(1);
        }
    }
    for (lane, (after, before)) in [[abef0, cdgh0], [abef1, cdgh1]].into_iter().zip(before).enumerate() {
        let [abef, cdgh] = [_mm_add_epi32(after[0], before[0]), _mm_add_epi32(after[1], before[1])];
        let [f, e, b, a] = lanes(abef);
        let [h, g, d, c] = lanes(cdgh);
        for (row, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            row[lane] = word;
        }
    }
}

/// The words of a block, four to a register.
#[target_feature(enable = "ssse3")]
#[inline]
fn words(block: &[u8; 64]) -> [__m128i; 4] {
    core::array::from_fn(|i| {
        let [a, b, c, d] = core::array::from_fn(|j| {
            let (words, _) = block.as_chunks::<4>();
            i32::from_be_bytes(words[4 * i + j])
        });
        _mm_set_epi32(d, c, b, a)
    })
}

/// The schedule four words further (FIPS 180-4 §6.2.2 step 1): the oldest register goes, the newest comes.
#[target_feature(enable = "sha,ssse3")]
#[inline]
fn extended([w0, w4, w8, w12]: [__m128i; 4]) -> [__m128i; 4] {
    let w9 = _mm_alignr_epi8::<4>(w12, w8);
    let new = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), w9), w12);
    [w4, w8, w12, new]
}

/// The four words of a register, the lowest first.
#[target_feature(enable = "sse4.1")]
#[inline]
fn lanes(x: __m128i) -> [u32; 4] {
    [_mm_extract_epi32::<0>(x), _mm_extract_epi32::<1>(x), _mm_extract_epi32::<2>(x), _mm_extract_epi32::<3>(x)]
        .map(|word| word as u32)
}
