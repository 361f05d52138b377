//! The 32-byte result of a key exchange.

use candor_cpu::secret;
use core::fmt;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The 32-byte secret that both sides share after a key encapsulation or a Diffie-Hellman exchange.
///
/// It is wiped on drop, compared in constant time, and never printed. A KEM's secret is uniform and may be used as a key directly
/// (FIPS 203 §3.3); that of a Diffie-Hellman exchange must go through a key derivation first (RFC 7748 §6.1).
///
/// ```
/// use candor_primitives::SharedSecret;
/// let ours = SharedSecret::from([7; 32]);
/// assert!(ours == SharedSecret::from([7; 32]));
/// assert_eq!(format!("{ours:?}"), "SharedSecret(..)");
/// ```
#[derive(Clone)]
pub struct SharedSecret([u8; Self::LENGTH]);

impl SharedSecret {
    /// Its length in bytes.
    pub const LENGTH: usize = 32;

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    /// A secret from a slice; `None` if its length is wrong.
    #[cfg(feature = "aws-lc")]
    #[inline]
    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl From<[u8; Self::LENGTH]> for SharedSecret {
    /// For implementations of `Kem` and `DiffieHellman`.
    #[inline]
    fn from(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }
}

impl ConstantTimeEq for SharedSecret {
    #[inline]
    fn ct_eq(&self, other: &Self) -> Choice {
        secret::ran("shared-secret/compare", "subtle");
        self.0.ct_eq(&other.0)
    }
}

impl PartialEq for SharedSecret {
    /// In constant time; only the answer is public.
    // ct: shared-secret/compare
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for SharedSecret {}

impl Zeroize for SharedSecret {
    #[inline]
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Drop for SharedSecret {
    #[inline]
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for SharedSecret {}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_of_every_byte() {
        let secret = SharedSecret([1; 32]);
        assert_eq!(secret, secret.clone());
        for at in 0..32 {
            let mut other = [1; 32];
            other[at] ^= 0x80;
            assert_ne!(secret, SharedSecret(other), "byte {at}");
        }
    }

    #[test]
    fn nothing_of_it_is_printed() {
        assert_eq!(alloc::format!("{:?}", SharedSecret([0xab; 32])), "SharedSecret(..)");
    }

    #[test]
    fn wiping_leaves_zeros() {
        let mut secret = SharedSecret([0xab; 32]);
        secret.zeroize();
        assert_eq!(secret.as_bytes(), &[0; 32]);
    }
}
