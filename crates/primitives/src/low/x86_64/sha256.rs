//! SHA-256 of several messages at once with the SHA instructions.
//!
//! SHA256RNDS2 takes some cycles from its input to its output, and the rounds of one message are one chain of them; the unit can start
//! another in between. So several chains run side by side.

use crate::rounds::SHA256_K;
use candor_cpu::HaveSha;
use core::arch::x86_64::*;

/// Chains side by side. With more of them the registers run out, and it gets slower (measured with 3 and 4 on Zen 5).
pub(crate) const LANES: usize = 2;

/// Compresses blocks in each lane, as many as the shortest list has; entry i of the state holds word i of all.
#[inline]
pub(crate) fn compress(_: HaveSha, state: &mut [[u32; LANES]; 8], blocks: [&[[u8; 64]]; LANES]) {
    // SAFETY: the token proves the features.
    unsafe { with_features(state, blocks) }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn with_features(state: &mut [[u32; LANES]; 8], blocks: [&[[u8; 64]]; LANES]) {
    let word = |i: usize, lane: usize| state[i][lane] as i32;
    // The instructions want a, b, e, f in one register, from the top, and c, d, g, h in the other.
    let mut abef: [__m128i; LANES] = [_mm_setzero_si128(); LANES];
    let mut cdgh = abef;
    for lane in 0..LANES {
        abef[lane] = _mm_set_epi32(word(0, lane), word(1, lane), word(4, lane), word(5, lane));
        cdgh[lane] = _mm_set_epi32(word(2, lane), word(3, lane), word(6, lane), word(7, lane));
    }
    for blocks in blocks[0].iter().zip(blocks[1]).map(<[_; LANES]>::from) {
        let before = [abef, cdgh];
        let mut w = [words(blocks[0]), words(blocks[1])];
        for (four, k) in SHA256_K.as_chunks::<4>().0.iter().enumerate() {
            let k = _mm_set_epi32(k[3] as i32, k[2] as i32, k[1] as i32, k[0] as i32);
            for lane in 0..LANES {
                // The old a, b, e, f become c, d, g, h, so the two names change places twice.
                let x = _mm_add_epi32(w[lane][0], k);
                cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], x);
                abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], _mm_shuffle_epi32::<0x0e>(x));
                w[lane] = if four < 12 { extended(w[lane]) } else { [w[lane][1], w[lane][2], w[lane][3], w[lane][0]] };
            }
        }
        for lane in 0..LANES {
            abef[lane] = _mm_add_epi32(abef[lane], before[0][lane]);
            cdgh[lane] = _mm_add_epi32(cdgh[lane], before[1][lane]);
        }
    }
    for lane in 0..LANES {
        let [f, e, b, a] = lanes(abef[lane]);
        let [h, g, d, c] = lanes(cdgh[lane]);
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
