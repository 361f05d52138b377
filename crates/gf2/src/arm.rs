//! The arms: the ways to multiply that this crate has.

use candor_cpu::Cpu;
#[cfg(target_arch = "aarch64")]
use candor_cpu::HavePmull;
#[cfg(target_arch = "riscv64")]
use candor_cpu::HaveZbc;
use candor_cpu::arms::Routine;
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};

/// One way to multiply. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(crate) enum Arm {
    /// x86-64: VPCLMULQDQ on 512-bit registers.
    #[cfg(target_arch = "x86_64")]
    Avx512(HaveAvx512Crypto),
    /// x86-64: VPCLMULQDQ on 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    Vpclmul(HaveVpclmul),
    /// x86-64: PCLMULQDQ on 128-bit registers.
    #[cfg(target_arch = "x86_64")]
    Clmul(HaveClmul),
    /// AArch64: PMULL.
    #[cfg(target_arch = "aarch64")]
    Pmull(HavePmull),
    /// RISC-V: Zbc.
    #[cfg(target_arch = "riscv64")]
    Zbc(HaveZbc),
    /// Safe Rust.
    Portable,
}

impl Arm {
    /// The one that `cpu` should take for `routine`.
    #[inline]
    pub(crate) fn choose(cpu: Cpu, routine: Routine) -> Self {
        let cpu = cpu.for_routine(routine);
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(token) = HaveAvx512Crypto::check(cpu) {
                return Self::Avx512(token);
            }
            if let Some(token) = HaveVpclmul::check(cpu) {
                return Self::Vpclmul(token);
            }
            if let Some(token) = HaveClmul::check(cpu) {
                return Self::Clmul(token);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(token) = HavePmull::check(cpu) {
            return Self::Pmull(token);
        }
        #[cfg(target_arch = "riscv64")]
        if let Some(token) = HaveZbc::check(cpu) {
            return Self::Zbc(token);
        }
        let _ = cpu;
        Self::Portable
    }

    /// `vpclmul`, `portable`, …
    #[inline]
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Vpclmul(_) => "vpclmul",
            #[cfg(target_arch = "x86_64")]
            Self::Clmul(_) => "clmul",
            #[cfg(target_arch = "aarch64")]
            Self::Pmull(_) => "pmull",
            #[cfg(target_arch = "riscv64")]
            Self::Zbc(_) => "zbc",
            Self::Portable => "portable",
        }
    }
}
