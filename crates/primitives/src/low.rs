//! The `unsafe` kernels. Each accelerated one takes the token that proves its CPU features.

pub(crate) mod pages;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;
