//! Vectors from their positions, on 256-bit registers.

use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

/// Words that stay in registers while the positions pass by.
const BLOCK: usize = 32;

/// The vector with these bits set, in `words`: see [`crate::kernels::support::scatter`].
#[inline]
pub(crate) fn scatter(_: HaveAvx2, positions: &[u32], words: &mut [u64]) {
    #[target_feature(enable = "avx2")]
    fn with_features(positions: &[u32], words: &mut [u64]) {
        let (blocks, rest) = words.as_chunks_mut::<BLOCK>();
        let mut first = 0;
        for block in blocks {
            *block = gather(positions, first);
            first += BLOCK;
        }
        let last = gather(positions, first);
        rest.copy_from_slice(&last[..rest.len()]);
    }
    // SAFETY: the token proves AVX2.
    unsafe { with_features(positions, words) }
}

/// Words `first` to `first + 31` of the vector.
#[target_feature(enable = "avx2")]
#[inline]
fn gather(positions: &[u32], first: usize) -> [u64; BLOCK] {
    let numbers: [__m256i; BLOCK / 4] = core::array::from_fn(|i| {
        _mm256_add_epi64(_mm256_set1_epi64x((first + 4 * i) as i64), _mm256_set_epi64x(3, 2, 1, 0))
    });
    let mut sums = [_mm256_setzero_si256(); BLOCK / 4];
    for position in positions {
        let word = _mm256_set1_epi64x(i64::from(position >> 6));
        let bit = _mm256_set1_epi64x(1i64 << (position & 63));
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum = _mm256_or_si256(*sum, _mm256_and_si256(bit, _mm256_cmpeq_epi64(word, number)));
        }
    }
    let mut words = [0; BLOCK];
    for (words, sum) in words.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
        // SAFETY: four words are the 32 bytes of a register, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), sum) };
    }
    words
}
