//! Vectors from seeds: uniform ones, and sparse ones of a fixed weight (specification, section 3.3).

use super::arm_mux::Arm;
use super::expand::{Expander, Version};
use super::parameters::{MOST_POSITIONS, Parameters};
use crate::words::Words;
use candor_cpu::secret;
use zeroize::Zeroizing;

/// A uniform polynomial.
pub(super) fn uniform(parameters: &Parameters, from: &mut Expander) -> Words {
    let mut words = Words::zero(parameters.words());
    from.fill_words(parameters.bytes(), &mut words);
    words[parameters.words() - 1] &= parameters.last_word();
    words
}

/// A polynomial of weight ω_r, for an encryption: each position is a multiplication, and positions that occur twice give way. No
/// rejection, so that time and reads are always the same.
pub(super) fn sparse(parameters: &Parameters, arm: Arm, from: &mut Expander) -> Words {
    let weight = parameters.omega_r;
    let mut bytes = Zeroizing::new([0; 4 * MOST_POSITIONS]);
    from.fill(&mut bytes[..4 * weight]);
    let mut room = Zeroizing::new([0u32; MOST_POSITIONS]);
    let positions = &mut room[..weight];
    for (i, (position, four)) in positions.iter_mut().zip(bytes.as_chunks::<4>().0).enumerate() {
        let scaled = (u64::from(u32::from_le_bytes(*four)) * (parameters.n - i) as u64) >> 32;
        *position = i as u32 + scaled as u32;
    }
    arm.distinct(positions);
    scattered(parameters, arm, positions)
}

/// A polynomial of weight ω, for a key: candidates of 24 bits are taken modulo n, those beyond the greatest multiple of n and those that
/// were there before are dropped.
///
/// Which ones are dropped is public. That says nothing about the vector: renaming the positions by any permutation changes neither the
/// distribution of the candidates nor which of them are dropped, so given this pattern all vectors of the weight remain equally likely.
pub(super) fn sparse_by_rejection(parameters: &Parameters, arm: Arm, from: &mut Candidates) -> Words {
    let weight = parameters.omega;
    let n = parameters.n as u64;
    let limit = (1 << 24) / n * n;
    // ⌈2⁴² / n⌉: the quotient of a candidate below 2²⁴ is exact, as its error is below 2⁴⁰ / 2⁴².
    let reciprocal = (1u64 << 42).div_ceil(n);
    // Positions that are not there yet are no polynomial's.
    let mut room = Zeroizing::new([u32::MAX; MOST_POSITIONS]);
    let positions = &mut room[..weight];
    let mut count = 0;
    while count < weight {
        let candidate = u64::from(from.next());
        let beyond = (limit - 1).wrapping_sub(candidate) >> 63;
        let position = (candidate - ((candidate * reciprocal) >> 42) * n) as u32;
        let again = arm.contains(positions, position);
        if secret::declassified(beyond as u8 | again, "hqc-rejected") == 0 {
            positions[count] = position;
            count += 1;
        }
    }
    scattered(parameters, arm, positions)
}

/// The candidates of [`sparse_by_rejection`], in the order in which the XOF gives them. One key's vectors share it.
pub(super) struct Candidates {
    from: Expander,
    bytes: Zeroizing<[u8; 3 * MOST_POSITIONS]>,
    /// Bytes that are read at once, a multiple of 3; with version 5.0.0 it matters.
    block: usize,
    at: usize,
}

impl Candidates {
    pub(super) fn new(parameters: &Parameters, from: Expander) -> Self {
        let block = 3 * parameters.omega;
        Self { from, bytes: Zeroizing::new([0; 3 * MOST_POSITIONS]), block, at: block }
    }

    fn next(&mut self) -> u32 {
        if self.at == self.block {
            self.from.fill(&mut self.bytes[..self.block]);
            self.at = 0;
        }
        let [a, b, c] = [0, 1, 2].map(|i| u32::from(self.bytes[self.at + i]));
        self.at += 3;
        match self.from.version() {
            Version::Current => a | b << 8 | c << 16,
            Version::V5_0_0 => c | b << 8 | a << 16,
        }
    }

    /// Begins with the next vector: version 5.0.0 drops what is left of the block.
    pub(super) fn next_vector(&mut self) {
        if self.from.version() == Version::V5_0_0 {
            self.at = self.block;
        }
    }
}

fn scattered(parameters: &Parameters, arm: Arm, positions: &[u32]) -> Words {
    let mut words = Words::zero(parameters.words());
    arm.scatter(positions, &mut words);
    words
}
