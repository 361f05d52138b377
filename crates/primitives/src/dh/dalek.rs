//! X25519 from `x25519-dalek`: Rust only.
//!
//! ```
//! use candor_primitives::dh::{DhError, DiffieHellman, dalek::X25519};
//! let (secret, _) = X25519.generate()?;
//! assert_eq!(X25519.agree(&secret, &[0; 32]), Err(DhError::NonContributory));
//! # Ok::<(), DhError>(())
//! ```

use super::{DhError, DiffieHellman, SharedSecret};
use crate::{random, stack};
use candor_cpu::secret;
use core::fmt;
use subtle::ConstantTimeEq;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

/// Stack that an operation takes, in bytes; the crate leaves multiples of points there.
const FRAMES: usize = 3072;

/// X25519 (RFC 7748).
#[derive(Clone, Copy, Debug, Default)]
pub struct X25519;

/// A secret key; the crate wipes it on drop.
pub struct Secret(StaticSecret);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl DiffieHellman for X25519 {
    type Secret = Secret;

    fn generate(&self) -> Result<(Secret, [u8; 32]), DhError> {
        let bytes = random::bytes::<32>()?;
        let secret = self.secret_from_bytes(&bytes)?;
        let public = self.public_of(&secret)?;
        Ok((secret, public))
    }

    #[inline]
    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<Secret, DhError> {
        Ok(Secret(StaticSecret::from(*bytes)))
    }

    fn secret_to_bytes(&self, secret: &Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        Ok(Zeroizing::new(secret.0.to_bytes()))
    }

    #[inline]
    fn public_of(&self, secret: &Secret) -> Result<[u8; 32], DhError> {
        Ok(stack::clearing::<FRAMES, _>(|| PublicKey::from(&secret.0).to_bytes()))
    }

    #[inline]
    fn agree(&self, secret: &Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        secret::ran("X25519", "dalek");
        stack::clearing::<FRAMES, _>(|| {
            let shared = SharedSecret::from(secret.0.diffie_hellman(&PublicKey::from(*peer)).to_bytes());
            let all_zero = secret::declassified(shared.as_bytes().ct_eq(&[0; 32]).unwrap_u8(), "x25519-all-zero");
            if all_zero != 0 { Err(DhError::NonContributory) } else { Ok(shared) }
        })
    }
}
