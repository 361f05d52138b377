//! Which arm of SM3 runs.

use super::sm3_portable;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, HaveAvx2, HaveAvx512Crypto, secret};

/// One way to compute the compression function. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub enum Arm {
    /// x86-64's AVX-512 for the message schedule, BMI2 for the rounds.
    Avx512(HaveAvx512Crypto),
    /// x86-64's AVX2 for the message schedule, BMI2 for the rounds.
    Avx2(HaveAvx2),
    /// Safe Rust.
    Portable,
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        let cpu = cpu.for_routine(Routine::Sm3);
        if let Some(token) = HaveAvx512Crypto::check(cpu) {
            Self::Avx512(token)
        } else {
            HaveAvx2::check(cpu).map_or(Self::Portable, Self::Avx2)
        }
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx512(_) => "avx512",
            Self::Avx2(_) => "avx2",
            Self::Portable => "portable",
        }
    }
}

/// Runs the compression function over `blocks`.
#[inline]
pub(super) fn compress(arm: Arm, state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    secret::ran("sm3", arm.name());
    match arm {
        #[cfg(target_arch = "x86_64")]
        Arm::Avx512(token) => x86_64::sm3_avx512::compress(token, state, blocks),
        #[cfg(target_arch = "x86_64")]
        Arm::Avx2(token) => x86_64::sm3::compress(token, state, blocks),
        _ => sm3_portable::compress(state, blocks),
    }
}
