//! X25519 from AWS-LC.
//!
//! ```
//! use candor_primitives::dh::{DhError, DiffieHellman, aws_lc::X25519};
//! let (secret, _) = X25519.generate()?;
//! assert_eq!(X25519.agree(&secret, &[0; 32]), Err(DhError::NonContributory));
//! # Ok::<(), DhError>(())
//! ```

use super::{DhError, DiffieHellman, SharedSecret};
use crate::stack;
use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::encoding::{AsBigEndian, Curve25519SeedBin};
use candor_cpu::secret;
use core::fmt;
use zeroize::Zeroizing;

const FAILED: DhError = DhError::BackEnd("aws-lc");

/// Stack that an operation takes, in bytes; the library wipes its own and copies keys on the way.
const FRAMES: usize = 1536;

/// X25519 (RFC 7748).
#[derive(Clone, Copy, Debug, Default)]
pub struct X25519;

/// A secret key; AWS-LC wipes it on drop.
pub struct Secret(PrivateKey);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl DiffieHellman for X25519 {
    type Secret = Secret;

    #[inline]
    fn generate(&self) -> Result<(Secret, [u8; 32]), DhError> {
        let generate = || PrivateKey::generate(&agreement::X25519).map_err(|_| FAILED);
        let secret = Secret(stack::clearing::<FRAMES, _>(generate)?);
        let public = self.public_of(&secret)?;
        Ok((secret, public))
    }

    #[inline]
    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<Secret, DhError> {
        stack::clearing::<FRAMES, _>(|| {
            PrivateKey::from_private_key(&agreement::X25519, bytes).map(Secret).map_err(|_| FAILED)
        })
    }

    fn secret_to_bytes(&self, secret: &Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        let seed: Curve25519SeedBin<'_> = secret.0.as_be_bytes().map_err(|_| FAILED)?;
        seed.as_ref().try_into().map(Zeroizing::new).map_err(|_| FAILED)
    }

    #[inline]
    fn public_of(&self, secret: &Secret) -> Result<[u8; 32], DhError> {
        let public = secret.0.compute_public_key().map_err(|_| FAILED)?;
        public.as_ref().try_into().map_err(|_| FAILED)
    }

    #[inline]
    fn agree(&self, secret: &Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        secret::ran("X25519", "aws-lc");
        // AWS-LC itself refuses an all-zero result; with 32 bytes on either side nothing else can fail but memory.
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer.as_slice());
        stack::clearing::<FRAMES, _>(|| {
            agreement::agree(&secret.0, peer, DhError::NonContributory, |shared| {
                SharedSecret::from_slice(shared).ok_or(FAILED)
            })
        })
    }
}
