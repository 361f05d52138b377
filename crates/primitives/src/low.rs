//! Kernels in vector code and assembly, large buffers, and a count of forks: the only `unsafe` of this crate. Every function that this module offers is safe to
//! call: a kernel takes the token that proves its instructions.

#[cfg(all(
    target_os = "linux",
    any(feature = "forks", feature = "rsa", all(feature = "ec", feature = "getrandom", feature = "std"))
))]
pub(crate) mod forks;
#[cfg(feature = "ksf")]
pub(crate) mod pages;
#[cfg(target_arch = "wasm32")]
pub(crate) mod wasm32;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;
