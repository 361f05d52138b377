//! The kernels: one file an arm, all behind one contract. The only `unsafe` of this crate.
#![allow(unsafe_code)]

pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod portable;
mod scalar;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;
