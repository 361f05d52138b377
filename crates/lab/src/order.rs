//! The order of subjects within a round.
//!
//! Every n rounds form a cyclic Latin square over a fresh shuffle of the n subjects: each subject stands once in each
//! position, so drift within a round favours none of them. For two subjects that is AB BA or BA AB. The new shuffle for each
//! square varies which subject follows which.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// SplitMix64: enough for orders, paddings and derived seeds. Not for secrets.
///
/// The numbers made of its bits are our own, because a rerun must draw the same orders from the same seed in every later
/// version, which crate `rand` does not promise.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// The stream that follows from this seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which must be above 0 and far below 2⁶⁴, so that the bias is negligible.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles the items (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// An endless sequence of balanced orders of `0..n`.
#[derive(Debug)]
pub struct Orders {
    random: Random,
    names: Vec<usize>,
    starts: Vec<usize>,
}

impl Orders {
    /// Orders of `n` subjects.
    pub fn new(n: usize, seed: u64) -> Self {
        Self { random: Random::new(seed), names: (0..n).collect(), starts: Vec::new() }
    }
}

impl Iterator for Orders {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        if self.starts.is_empty() {
            self.random.shuffle(&mut self.names);
            self.starts = (0..self.names.len()).collect();
            self.random.shuffle(&mut self.starts);
        }
        let start = self.starts.pop()?;
        Some((0..self.names.len()).map(|i| self.names[(start + i) % self.names.len()]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_puts_every_subject_once_in_every_position() {
        for n in 2..9 {
            let orders: Vec<_> = Orders::new(n, 42).take(n * 5).collect();
            for block in orders.chunks(n) {
                for position in 0..n {
                    let mut seen: Vec<_> = block.iter().map(|order| order[position]).collect();
                    seen.sort_unstable();
                    assert_eq!(seen, (0..n).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn two_subjects_alternate_within_a_block() {
        let orders: Vec<_> = Orders::new(2, 7).take(40).collect();
        assert!(orders.chunks(2).all(|pair| pair[0] != pair[1]));
        assert!(orders.chunks(2).any(|pair| pair[0] == [0, 1]) && orders.chunks(2).any(|pair| pair[0] == [1, 0]));
    }

    #[test]
    fn the_same_seed_gives_the_same_orders() {
        let a: Vec<_> = Orders::new(5, 1).take(20).collect();
        assert_eq!(a, Orders::new(5, 1).take(20).collect::<Vec<_>>());
        assert_ne!(a, Orders::new(5, 2).take(20).collect::<Vec<_>>());
    }

    #[test]
    fn a_seed_means_the_same_orders_in_every_version() {
        let mut random = Random::new(1234567);
        // As published with the algorithm's C code.
        assert_eq!([random.bits(), random.bits()], [6457827717110365317, 3203168211198807973]);
        assert_eq!(Orders::new(4, 1).take(2).collect::<Vec<_>>(), [[1, 2, 0, 3], [2, 0, 3, 1]]);
    }

    #[test]
    fn no_subjects_make_no_orders() {
        assert_eq!(Orders::new(0, 1).next(), None);
    }
}
