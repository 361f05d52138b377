//! Which arm of BLAKE2b runs.

use super::blake2b_portable;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, HaveAvx512Crypto, secret};

/// One way to compute the compression function. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// x86-64's AVX-512: a row of the state a register.
    Avx512(HaveAvx512Crypto),
    /// Safe Rust.
    Portable,
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        let cpu = cpu.for_routine(Routine::Blake2b);
        HaveAvx512Crypto::check(cpu).map_or(Self::Portable, Self::Avx512)
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx512(_) => "avx512",
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
        #[cfg(target_arch = "x86_64")]
        Arm::Avx512(token) => x86_64::blake2b::compress(token, state, blocks, counter, last),
        _ => blake2b_portable::compress(state, blocks, counter, last),
    }
}
