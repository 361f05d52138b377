//! Diffie-Hellman over Curve25519 (RFC 7748).
//!
//! A back end is a type: `aws_lc::X25519` and `dalek::X25519` wrap libraries, `x25519::X25519` is our own.
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

use alloc::vec::Vec;
use core::fmt;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

#[cfg(feature = "aws-lc")]
pub mod aws_lc;
#[cfg(feature = "dalek")]
pub mod dalek;
#[cfg(feature = "x25519")]
pub mod x25519;

pub use crate::SharedSecret;

/// A secret key and the public key that belongs to it.
pub type KeyPair<S> = (S, [u8; 32]);

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

    /// Two agreements, each with the result of [`Self::agree`]. Back ends that can do so compute them in one pass.
    fn agree_pair(&self, pairs: [(&Self::Secret, &[u8; 32]); 2]) -> [Result<SharedSecret, DhError>; 2] {
        pairs.map(|(secret, peer)| self.agree(secret, peer))
    }

    /// Any number of agreements, each with the result of [`Self::agree`], in the order of `pairs`. One with a point of small order does not
    /// concern the others.
    fn agree_many(&self, pairs: &[(&Self::Secret, &[u8; 32])]) -> Vec<Result<SharedSecret, DhError>> {
        pairs.iter().map(|(secret, peer)| self.agree(secret, peer)).collect()
    }

    /// The public keys of any number of secret keys.
    ///
    /// # Errors
    /// [`DhError::BackEnd`].
    fn public_many(&self, secrets: &[&Self::Secret]) -> Result<Vec<[u8; 32]>, DhError> {
        secrets.iter().map(|secret| self.public_of(secret)).collect()
    }

    /// Fresh key pairs, from the operating system's randomness.
    ///
    /// # Errors
    /// [`DhError::Randomness`], [`DhError::BackEnd`].
    fn generate_many(&self, count: usize) -> Result<Vec<KeyPair<Self::Secret>>, DhError> {
        // With room from the start, so that no secret is moved and left behind.
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push(self.generate()?);
        }
        Ok(pairs)
    }
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
