//! The kernels: one file an arm, all behind one contract. The only `unsafe` of this crate.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod portable;
#[cfg(target_arch = "riscv64")]
pub(crate) mod riscv64;
mod scalar;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;
