//! The operating system's randomness, for back ends that do not draw their own.
#![cfg_attr(
    not(any(
        feature = "aead",
        feature = "libcrux",
        feature = "ml-kem",
        feature = "rustcrypto",
        feature = "dalek",
        feature = "ec",
        feature = "x25519"
    )),
    expect(dead_code)
)]

/// The message of the errors `Randomness` in `aead`, `kem` and `dh`.
pub(crate) const MISSING: &str = "no randomness from the operating system; enable the feature `getrandom` of candor-primitives, or call the method that takes a generator";

/// No randomness was to be had.
pub(crate) struct Unavailable;

/// `N` fresh random bytes.
#[inline]
pub(crate) fn bytes<const N: usize>() -> Result<zeroize::Zeroizing<[u8; N]>, Unavailable> {
    let mut bytes = zeroize::Zeroizing::new([0; N]);
    fill(bytes.as_mut_slice())?;
    Ok(bytes)
}

/// Fresh random bytes, as many as there is room for, in one call of the system.
#[cfg(feature = "getrandom")]
#[inline]
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), Unavailable> {
    getrandom::fill(bytes).map_err(|_| Unavailable)
}

/// Without the feature there is no operating system to ask.
#[cfg(not(feature = "getrandom"))]
pub(crate) fn fill(_: &mut [u8]) -> Result<(), Unavailable> {
    Err(Unavailable)
}
