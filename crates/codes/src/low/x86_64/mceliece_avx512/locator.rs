//! The error locator: the algorithm of [`crate::kernels::mceliece::locator`], which has the comments. In each step one element multiplies all positions, and
//! another all positions of the auxiliary polynomial, for which there are affine maps.

use super::affine::{Elements, Factor};
use crate::kernels::mceliece::locator::backwards;
use crate::kernels::mceliece::vector::Row;
use candor_cpu::barrier;
use core::arch::x86_64::*;

/// Positions in a register, and words of a row.
const LANES: usize = 64;

/// See [`crate::kernels::mceliece::locator::locator`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
pub(super) fn locator<const M: usize>(syndromes: &[Row; M], t: usize) -> [Row; M] {
    let (series, constant): ([Row; M], u64) = match (2 * t).div_ceil(LANES) {
        1 | 2 => rows(&State::<2>::of(syndromes).run::<M>(t)),
        3 => rows(&State::<3>::of(syndromes).run::<M>(t)),
        _ => rows(&State::<4>::of(syndromes).run::<M>(t)),
    };
    let mut locator = [Row::ZERO; M];
    for (bit, (locator, series)) in locator.iter_mut().zip(&series).enumerate() {
        *locator = backwards(series, 256 - t);
        locator[t / 64] |= (constant >> bit & 1) << (t % 64);
    }
    locator
}

/// Series and auxiliary, γ, and Λ₀ in all places of `constant`.
#[derive(Clone, Copy)]
struct State<const N: usize> {
    series: [Elements; N],
    auxiliary: [Elements; N],
    gamma: Factor,
    constant: Elements,
    length: u64,
}

impl<const N: usize> State<N> {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    fn of<const M: usize>(syndromes: &[Row; M]) -> Self {
        let mut series = [Elements::zero(); N];
        for (bit, plane) in syndromes.iter().enumerate() {
            for (series, word) in series.iter_mut().zip(plane.iter()) {
                let bits = _mm512_maskz_set1_epi8(*word, (1u8 << (bit % 8)).cast_signed());
                let half = if bit < 8 { &mut series.low } else { &mut series.high };
                *half = _mm512_or_si512(*half, bits);
            }
        }
        let one = Elements { low: _mm512_set1_epi8(1), high: _mm512_setzero_si512() };
        let mut auxiliary = series;
        for i in 0..N {
            auxiliary[i] = series[i].up(if i == 0 { one } else { series[i - 1] });
        }
        Self { series, auxiliary, gamma: Factor::of::<M>(_mm256_set1_epi16(1)), constant: one, length: 0 }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    fn run<const M: usize>(mut self, t: usize) -> Self {
        let steps = 2 * t;
        self.steps::<M, 0>(steps.min(LANES));
        self.steps::<M, 1>(steps.saturating_sub(LANES).min(LANES));
        if N > 2 {
            self.steps::<M, 2>(steps.saturating_sub(2 * LANES).min(LANES));
        }
        if N > 3 {
            self.steps::<M, 3>(steps.saturating_sub(3 * LANES).min(LANES));
        }
        self
    }

    /// The first `count` steps whose discrepancies are in register `W`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
    #[inline]
    fn steps<const M: usize, const W: usize>(&mut self, count: usize) {
        let Self { mut series, mut auxiliary, mut gamma, mut constant, mut length } = *self;
        for bit in 0..count {
            let step = (LANES * W + bit) as u64;
            let discrepancy = element(series[W], bit);
            let other = Factor::of::<M>(_mm256_set1_epi16(discrepancy.cast_signed()));
            // 1 if it is not zero.
            let any = u64::from(discrepancy).wrapping_neg() >> 63;
            let grows = !step.wrapping_sub(2 * length) >> 63;
            let changes = barrier::mask_u64(any & grows);
            length ^= (length ^ (step + 1 - length)) & changes;

            series[W] = series[W].only(!(1 << bit));
            let mut below = Elements::zero().or(constant, changes);
            for i in 0..N {
                let (old, auxiliary_before) = (series[i], auxiliary[i]);
                series[i] = old.times(&gamma).plus(auxiliary_before.times(&other));
                let mixed = auxiliary_before.or(old, changes);
                auxiliary[i] = mixed.up(below);
                below = mixed;
            }
            constant = constant.times(&gamma);
            gamma = gamma.or(other, changes);
        }
        *self = Self { series, auxiliary, gamma, constant, length };
    }
}

/// Element `at` of a register; `at` is public.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn element(elements: Elements, at: usize) -> u16 {
    let (mut low, mut high) = ([0u8; LANES], [0u8; LANES]);
    // SAFETY: there is room for 64 bytes twice, and the stores need no alignment.
    unsafe {
        _mm512_storeu_si512(low.as_mut_ptr().cast(), elements.low);
        _mm512_storeu_si512(high.as_mut_ptr().cast(), elements.high);
    }
    u16::from(low[at]) | u16::from(high[at]) << 8
}

/// The series as planes of bits, and Λ₀.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,gfni")]
#[inline]
fn rows<const N: usize, const M: usize>(state: &State<N>) -> ([Row; M], u64) {
    let mut all = [Row::ZERO; M];
    for (bit, row) in all.iter_mut().enumerate() {
        let one = _mm512_set1_epi8((1u8 << (bit % 8)).cast_signed());
        for (word, series) in row.iter_mut().zip(&state.series) {
            *word = _mm512_test_epi8_mask(if bit < 8 { series.low } else { series.high }, one);
        }
    }
    (all, u64::from(element(state.constant, 0)))
}
