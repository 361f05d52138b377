//! From a task's seed to bytes: every subject derives the same inputs from the same seed.
//!
//! SplitMix64, started from the seed and a purpose. It makes test inputs, never keys that protect anything.

use rand_core::{TryCryptoRng, TryRng};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::convert::Infallible;

/// A stream of bytes determined by a seed and a purpose; a clone goes on where it stands, by itself.
#[derive(Clone, Debug)]
pub struct Stream(SplitMix64);

impl Stream {
    /// The stream of `seed` for `purpose`; different purposes give unrelated streams.
    pub fn new(seed: u64, purpose: &str) -> Self {
        // FNV-1a folds the purpose in; one step of the generator then spreads it over the word.
        let folded = purpose
            .bytes()
            .fold(0xcbf29ce484222325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3));
        Self(SplitMix64::seed_from_u64(SplitMix64::seed_from_u64(seed ^ folded).next_u64()))
    }

    /// The stream of a SplitMix64 in this state.
    #[must_use]
    pub fn from_state(state: u64) -> Self {
        Self(SplitMix64::seed_from_u64(state))
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Fills `bytes`, eight at a time, little-endian.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

/// What would be random, for the parties of a witness that everybody can play again.
impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Stream {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_purpose_both_count() {
        let bytes = |seed, purpose| Stream::new(seed, purpose).array::<32>();
        assert_eq!(bytes(1, "a"), bytes(1, "a"));
        assert_ne!(bytes(1, "a"), bytes(2, "a"));
        assert_ne!(bytes(1, "a"), bytes(1, "b"));
    }
}
