//! Which arm of BLAKE2b runs.

use super::blake2b_portable;
use candor_cpu::{Cpu, secret};

/// One way to compute the compression function. An accelerated variant proves that the CPU has the instructions.
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

/// Runs F over `blocks`. `counter` is the number of bytes before the first of them; each block adds 128 to it, but the last, if
/// `last` holds its length, adds that and is marked as final.
#[inline]
pub(super) fn compress(arm: Arm, state: &mut [u64; 8], blocks: &[[u8; 128]], counter: u128, last: Option<usize>) {
    secret::ran("blake2b", arm.name());
    match arm {
        Arm::Portable => blake2b_portable::compress(state, blocks, counter, last),
    }
}
