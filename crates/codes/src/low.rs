//! The kernels compiled for one CPU's instructions: the only `unsafe` of this crate. Every function is safe to call: it takes the token that
//! proves its instructions.

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;
