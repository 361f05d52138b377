//! Which arm of SM3 runs.

use super::sm3_portable;
use candor_cpu::{Cpu, secret};

/// One way to compute the compression function. Holding one of the accelerated is proof that the CPU has what it needs.
#[derive(Clone, Copy)]
pub enum Arm {
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

/// Runs the compression function over `blocks`.
#[inline]
pub(super) fn compress(arm: Arm, state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    secret::ran("sm3", arm.name());
    match arm {
        Arm::Portable => sm3_portable::compress(state, blocks),
    }
}
