//! Diffie-Hellman over Curve25519 (RFC 7748).
//!
//! A back end is a type without fields: `aws_lc::X25519`, `dalek::X25519`.
//!
//! ```
//! # #[cfg(feature = "aws-lc")] {
//! use candor_primitives::dh::{DhError, DiffieHellman, aws_lc::X25519};
//!
//! fn exchange<D: DiffieHellman>(dh: D) -> Result<(), DhError> {
//!     let (ours, our_public) = dh.generate()?;
//!     let (theirs, their_public) = dh.generate()?;
//!     assert!(dh.agree(&ours, &their_public)? == dh.agree(&theirs, &our_public)?);
//!     Ok(())
//! }
//! exchange(X25519).unwrap();
//! # }
//! ```

use core::fmt;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

#[cfg(feature = "aws-lc")]
pub mod aws_lc;
#[cfg(feature = "dalek")]
pub mod dalek;

pub use crate::SharedSecret;

/// A Diffie-Hellman function on 32-byte keys.
pub trait DiffieHellman {
    /// The secret key; wiped on drop.
    type Secret;

    /// The function's name in its standard.
    const NAME: &'static str = "X25519";
    /// Bytes of a public key.
    const PUBLIC: usize = 32;

    /// A fresh key pair, from the operating system's randomness.
    ///
    /// # Errors
    /// [`DhError::Randomness`], [`DhError::BackEnd`].
    fn generate(&self) -> Result<(Self::Secret, [u8; 32]), DhError>;

    /// A fresh key pair, from `rng`.
    ///
    /// # Errors
    /// [`DhError::BackEnd`].
    fn generate_with(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<(Self::Secret, [u8; 32]), DhError> {
        let mut bytes = Zeroizing::new([0; 32]);
        rng.fill_bytes(bytes.as_mut_slice());
        let secret = self.secret_from_bytes(&bytes)?;
        let public = self.public_of(&secret)?;
        Ok((secret, public))
    }

    /// The secret key in `bytes`; every string of 32 bytes is one (RFC 7748 §5 clamps it).
    ///
    /// # Errors
    /// [`DhError::BackEnd`].
    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<Self::Secret, DhError>;

    /// The bytes of a secret key, as [`Self::secret_from_bytes`] takes them; wiped when dropped.
    ///
    /// # Errors
    /// [`DhError::BackEnd`].
    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<[u8; 32]>, DhError>;

    /// The public key that belongs to `secret`: X25519(secret, 9), RFC 7748 §6.1.
    ///
    /// # Errors
    /// [`DhError::BackEnd`].
    fn public_of(&self, secret: &Self::Secret) -> Result<[u8; 32], DhError>;

    /// X25519(secret, peer), RFC 7748 §5. It is a point and not uniform: derive keys from it.
    ///
    /// # Errors
    /// [`DhError::NonContributory`] if the result is all zero (RFC 7748 §6.1): `peer` is a point of small order.
    fn agree(&self, secret: &Self::Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError>;
}

/// Why a Diffie-Hellman operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DhError {
    /// The result is all zero: the peer's key is a point of small order, so the secret would not depend on ours.
    NonContributory,
    /// The operating system gave no randomness, or the crate was built without the feature `getrandom`.
    Randomness,
    /// The back end of this name failed, which it does only when memory or its own randomness run out.
    BackEnd(&'static str),
}

impl fmt::Display for DhError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NonContributory => {
                f.write_str("peer's public key is of small order: the shared secret would be zero; abort the exchange")
            }
            Self::Randomness => f.write_str(crate::random::MISSING),
            Self::BackEnd(name) => write!(f, "{name} failed; memory or randomness may have run out"),
        }
    }
}

impl core::error::Error for DhError {}

impl From<crate::random::Unavailable> for DhError {
    fn from(_: crate::random::Unavailable) -> Self {
        Self::Randomness
    }
}
