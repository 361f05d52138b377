//! The operating system's randomness, where there is one, for the back ends that do not draw their own.

/// No randomness could be had.
pub(crate) struct Unavailable;

#[cfg(any(feature = "libcrux", feature = "rustcrypto", feature = "dalek"))]
pub(crate) use drawn::bytes;

#[cfg(any(feature = "libcrux", feature = "rustcrypto", feature = "dalek"))]
mod drawn {
    use super::Unavailable;
    use zeroize::Zeroizing;

    /// `N` fresh random bytes.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn bytes<const N: usize>() -> Result<Zeroizing<[u8; N]>, Unavailable> {
        let mut bytes = Zeroizing::new([0; N]);
        getrandom::fill(bytes.as_mut_slice()).map_err(|_| Unavailable)?;
        Ok(bytes)
    }

    /// Without `std` there is no operating system to ask.
    #[cfg(not(feature = "std"))]
    pub(crate) fn bytes<const N: usize>() -> Result<Zeroizing<[u8; N]>, Unavailable> {
        Err(Unavailable)
    }
}
