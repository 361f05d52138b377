//! Which arm of SHA-256 runs.
//!
//! The accelerated arms are crate `sha2`'s. It dispatches on the same CPUID and HWCAP bits that our tokens prove, so a token
//! implies which code runs. Its portable code can't be selected at run time; that arm is ours.

use super::sha256_portable;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, HaveArmSha2, HaveSha, secret};

/// One way to compute SHA-256's compression function. Holding one of the accelerated is proof that the CPU has them.
#[derive(Clone, Copy)]
pub enum Arm {
    /// x86-64's SHA instructions.
    X86(HaveSha),
    /// AArch64's SHA-256 instructions.
    Aarch64(HaveArmSha2),
    /// Safe Rust.
    Portable,
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        let cpu = cpu.for_routine(Routine::Sha256);
        if let Some(token) = HaveSha::check(cpu) {
            Self::X86(token)
        } else if let Some(token) = HaveArmSha2::check(cpu) {
            Self::Aarch64(token)
        } else {
            Self::Portable
        }
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86(_) => "sha",
            Self::Aarch64(_) => "arm-sha2",
            Self::Portable => "portable",
        }
    }
}

/// Runs the compression function over `blocks`.
#[inline]
pub(super) fn compress(arm: Arm, state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    secret::ran("sha256", arm.name());
    match arm {
        Arm::X86(_) | Arm::Aarch64(_) => sha2::block_api::compress256(state, blocks),
        Arm::Portable => sha256_portable::compress(state, blocks),
    }
}
