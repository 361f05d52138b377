//! Which arm of SHA512 runs.

use super::sha512_portable;
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
pub(super) fn compress(arm: Arm, state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    secret::ran("sha512", arm.name());
    match arm {
        Arm::Portable => sha512_portable::compress(state, blocks),
    }
}
