//! Test inputs that look random and are the same in every run.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). For inputs of tests, never for keys.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Default for Random {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from `0..limit`; zero if `limit` is zero.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.word() % limit.max(1) as u64) as usize
    }

    /// The next `length` bytes: words in little endian.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length.div_ceil(8)).flat_map(|_| self.word().to_le_bytes()).take(length).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // First outputs for state 1234567, as published with the algorithm's C code.
        let mut random = Random::new(1234567);
        assert_eq!([random.word(), random.word()], [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn bytes_are_the_words_cut_to_length() {
        let mut random = Random::new(1);
        let words = [random.word(), random.word()].map(u64::to_le_bytes);
        assert_eq!(Random::new(1).bytes(11), words.as_flattened()[..11]);
        assert!(Random::new(1).bytes(0).is_empty());
    }
}
