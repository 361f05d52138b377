//! Which arm of Keccak's permutation runs.

use super::keccak_portable;
use candor_cpu::{Cpu, secret};

/// One way to compute the permutation. Holding one of the accelerated is proof that the CPU has what it needs.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// Safe Rust.
    Portable,
}

impl Arm {
    #[inline]
    pub(super) fn choose(_cpu: Cpu) -> Self {
        Self::Portable
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
        }
    }
}

/// Absorbs `blocks`: xors each into the state's first words and permutes.
#[inline]
pub(super) fn absorb<const RATE: usize>(arm: Arm, state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    secret::ran("keccak", arm.name());
    match arm {
        Arm::Portable => keccak_portable::absorb(state, blocks),
    }
}

/// The permutation.
#[inline]
pub(super) fn permute(arm: Arm, state: &mut [u64; 25]) {
    secret::ran("keccak", arm.name());
    match arm {
        Arm::Portable => keccak_portable::permute(state),
    }
}
