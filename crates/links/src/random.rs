//! The generator of losses and drawn costs: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), from a seed. Not for secrets.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of numbers that follows from its seed, in every later version too.
#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// The stream number `index` of those that belong to a seed.
    pub(crate) fn stream(seed: u64, index: u64) -> Self {
        Self::new(Self::new(seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)).bits())
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `bound`, which must be above 0 and far below 2⁶⁴.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }
}
