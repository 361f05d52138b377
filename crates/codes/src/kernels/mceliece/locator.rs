//! The error locator from the syndromes: Berlekamp and Massey's algorithm without inversions, its discrepancies carried along as Sarwate and
//! Shanbhag do (RiBM, 2001), so that no step adds up anything across positions.

use super::bitsliced::{self, Elements, combine};
use super::field;
use super::vector::{Row, Vector};
use candor_cpu::barrier;

/// The polynomial whose roots are the points of the errors, up to a factor: coefficient e at position e, degree `t` at most. The syndromes
/// are the power sums 0 to 2t − 1 of t errors; of others, something comes out.
///
/// With the syndromes' series S, the connection polynomial Λ and x times the auxiliary one B, the row `series` holds the discrepancies
/// (SΛ)ₚ that are still to come at positions p ≥ step, and Λₚ₊₁ at those below; `auxiliary` holds the same of xB. As Λ's degree is at most
/// the number of steps, and each step uses up one discrepancy, 2t positions are enough. Λ₀ is kept outside.
#[inline(always)]
pub(crate) fn locator<V: Vector, const M: usize>(proof: V::Proof, syndromes: &[Row; M], t: usize) -> [Row; M] {
    let mut series = *syndromes;
    let mut auxiliary = *syndromes;
    for (plane, row) in auxiliary.iter_mut().enumerate() {
        V::load(proof, row).up(u64::from(plane == 0)).store(row);
    }
    // γ, the discrepancy at the last change of B: as masks, and as an element.
    let mut gammas = [[0; 4]; M];
    gammas[0] = [u64::MAX; 4];
    let (mut gamma, mut constant, mut length) = (1u16, 1u16, 0u64);
    for step in 0..2 * t {
        let (word, bit) = (step / 64, step % 64);
        let mut discrepancy = 0;
        for plane in (0..M).rev() {
            discrepancy = discrepancy << 1 | (series[plane][word] >> bit & 1) as u16;
        }
        let here = V::splat(proof, 1 << bit);
        let discrepancies: Elements<V, M> = core::array::from_fn(|i| here.masks(series[i][word]));

        // B changes if the discrepancy is not zero and the register has to grow: length ≤ step / 2.
        let nonzero = u64::from(discrepancy).wrapping_neg() >> 63;
        let grows = !(step as u64).wrapping_sub(2 * length) >> 63;
        let changes = barrier::mask_u64(nonzero & grows);
        length ^= (length ^ (step as u64 + 1 - length)) & changes;

        let mut left = [u64::MAX; 4];
        left[word] ^= 1 << bit;
        let (left, change) = (V::load(proof, &left), V::splat(proof, changes));
        let old: Elements<V, M> = core::array::from_fn(|i| V::load(proof, &series[i]).and(left));
        let other: Elements<V, M> = bitsliced::load(proof, &auxiliary);
        let masks: Elements<V, M> = bitsliced::load(proof, &gammas);
        bitsliced::store(&combine(proof, &old, &masks, &other, &discrepancies), &mut series);
        for i in 0..M {
            // Λ₀ enters below Λ₁ if B becomes Λ; xB has no constant term.
            let lowest = u64::from(constant >> i & 1) & changes;
            other[i].select(old[i], change).up(lowest).store(&mut auxiliary[i]);
            masks[i].select(discrepancies[i], change).store(&mut gammas[i]);
        }
        constant = field::times::<M>(constant, gamma);
        gamma ^= (gamma ^ discrepancy) & changes as u16;
    }
    // Coefficient e of the locator is Λ's t − e.
    core::array::from_fn(|i| {
        let mut row = backwards(&series[i], 256 - t);
        row[t / 64] |= u64::from(constant >> i & 1) << (t % 64);
        row
    })
}

/// The positions in opposite order, then moved down by `count`.
#[inline(always)]
fn backwards(row: &Row, count: usize) -> Row {
    let turned: Row = core::array::from_fn(|i| row[3 - i].reverse_bits());
    let (words, bits) = (count / 64, count % 64);
    core::array::from_fn(|i| {
        let at = |j: usize| if j < 4 { turned[j] } else { 0 };
        // In two shifts, as one by 64 is none.
        at(i + words) >> bits | at(i + words + 1) << 1 << (63 - bits)
    })
}
