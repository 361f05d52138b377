//! Kernels in vector code and assembly: the only `unsafe` of this crate. Every function that this module offers is safe to call,
//! since it takes the token that proves its instructions.

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;
