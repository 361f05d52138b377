//! Which arm of Keccak's permutation runs.

use super::keccak_portable;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, HaveAvx2, HaveAvx512Crypto, secret};

/// One way to compute the permutation. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// x86-64's AVX-512: a lane a register.
    Avx512(HaveAvx512Crypto),
    /// x86-64's BMI, which comes with AVX2.
    Avx2(HaveAvx2),
    /// Safe Rust.
    Portable,
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        let cpu = cpu.for_routine(Routine::Keccak);
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

/// Absorbs `blocks`: xors each into the state's first words and permutes.
#[inline]
pub(super) fn absorb<const RATE: usize>(arm: Arm, state: &mut [u64; 25], blocks: &[[u8; RATE]]) {
    secret::ran("keccak", arm.name());
    match arm {
        #[cfg(target_arch = "x86_64")]
        Arm::Avx512(token) => x86_64::keccak::absorb_avx512(token, state, blocks),
        #[cfg(target_arch = "x86_64")]
        Arm::Avx2(token) => x86_64::keccak::absorb(token, state, blocks),
        _ => keccak_portable::absorb(state, blocks),
    }
}

/// The permutation.
#[inline]
pub(super) fn permute(arm: Arm, state: &mut [u64; 25]) {
    secret::ran("keccak", arm.name());
    match arm {
        #[cfg(target_arch = "x86_64")]
        Arm::Avx512(token) => x86_64::keccak::permute_avx512(token, state),
        #[cfg(target_arch = "x86_64")]
        Arm::Avx2(token) => x86_64::keccak::permute(token, state),
        _ => keccak_portable::permute(state),
    }
}
