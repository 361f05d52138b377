//! The error locator from the syndromes: Berlekamp and Massey's algorithm without inversions, its discrepancies carried along as Sarwate and
//! Shanbhag do (RiBM, 2001), so that no step adds up anything across positions.

use super::bitsliced::{self, combine, each_below, planes};
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
        let first = V::splat(proof, u64::from(plane == 0) << 63);
        V::load(proof, row).up(first).store(row);
    }
    // γ, the discrepancy at the last change of B, as masks; Λ₀ in each lane of one vector.
    let mut gammas = [Row::ZERO; M];
    gammas[0] = Row([u64::MAX; 4]);
    let mut constant = V::splat(proof, 1);
    let mut length = 0;
    for step in 0..2 * t {
        let (word, bit) = (step / 64, step % 64);
        let here = V::splat(proof, 1 << bit);
        let discrepancies: [V; M] = planes!(proof, I => here.masks(series[I][word]));

        // B changes if the discrepancy is not zero and the register has to grow: length ≤ step / 2.
        let mut any = 0;
        for row in &series {
            // One by one, or with AVX-512 they are gathered.
            any |= barrier::opaque_u64(row[word]);
        }
        let grows = !(step as u64).wrapping_sub(2 * length) >> 63;
        let changes = barrier::mask_u64((any >> bit) & grows);
        length ^= (length ^ (step as u64 + 1 - length)) & changes;

        // All positions but this one, whose discrepancy is used up.
        let left = V::splat(proof, u64::MAX).xor(here.and(V::load(proof, &const { &LANES }[word])));
        let change = V::splat(proof, changes);
        let old: [V; M] = planes!(proof, I => V::load(proof, &series[I]).and(left));
        let other: [V; M] = bitsliced::load(proof, &auxiliary);
        let masks: [V; M] = bitsliced::load(proof, &gammas);
        bitsliced::store(&combine(proof, &old, &masks, &other, &discrepancies), &mut series);
        // Λ₀ enters below Λ₁ if B becomes Λ; xB has no constant term.
        let entering = constant.and(change);
        let mut product = V::zero(proof);
        each_below!(M, I => {
            other[I].select(old[I], change).up(entering.raise_lanes::<{ 63 - I as i32 }>()).store(&mut auxiliary[I]);
            masks[I].select(discrepancies[I], change).store(&mut gammas[I]);
            product = product.xor(constant.raise_lanes::<{ I as i32 }>().and(masks[I]));
        });
        constant = reduce_lanes::<V, M>(proof, product);
    }
    let mut constants = Row::ZERO;
    constant.store(&mut constants);
    // Coefficient e of the locator is Λ's t − e.
    let mut locator = [Row::ZERO; M];
    each_below!(M, I => {
        locator[I] = backwards(&series[I], 256 - t);
        locator[I][t / 64] |= (constants[0] >> I & 1) << (t % 64);
    });
    locator
}

/// A product of two elements in each lane, of degree up to 2M − 2, modulo the field's polynomial ([`field::reduce`] on vectors).
#[inline(always)]
fn reduce_lanes<V: Vector, const M: usize>(proof: V::Proof, product: V) -> V {
    let element = V::splat(proof, u64::from(field::mask::<M>()));
    if M == 12 {
        let high = product.down_lanes::<12>();
        let above = high.xor(high.down_lanes::<9>());
        product.xor(above).xor(above.raise_lanes::<3>()).and(element)
    } else {
        let high = product.down_lanes::<13>();
        let above = high.xor(high.down_lanes::<12>()).xor(high.down_lanes::<10>()).xor(high.down_lanes::<9>());
        let sum = above.xor(above.raise_lanes::<1>()).xor(above.raise_lanes::<3>()).xor(above.raise_lanes::<4>());
        product.xor(sum).and(element)
    }
}

/// Each lane alone.
const LANES: [Row; 4] =
    [Row([u64::MAX, 0, 0, 0]), Row([0, u64::MAX, 0, 0]), Row([0, 0, u64::MAX, 0]), Row([0, 0, 0, u64::MAX])];

/// The positions in opposite order, then moved down by `count`.
#[inline(always)]
pub(crate) fn backwards(row: &Row, count: usize) -> Row {
    let (words, bits) = (count / 64, count % 64);
    // What is below the top, and zeros above it. No closures: they would not have the features, and what stays a call is harder to check.
    let mut turned = [0; 8];
    for (turned, word) in turned.iter_mut().zip(row.0.iter().rev()) {
        *turned = word.reverse_bits();
    }
    let mut moved = Row::ZERO;
    for (i, word) in moved.iter_mut().enumerate() {
        // In two shifts, as one by 64 is none.
        *word = turned[i + words] >> bits | turned[i + words + 1] << 1 << (63 - bits);
    }
    moved
}
