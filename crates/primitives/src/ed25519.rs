//! Ed25519 (RFC 8032 §5.1), by crate `ed25519-dalek`, with this crate's randomness, key files and cleared stack.
//!
//! Signing takes no randomness: a message has one signature. Verification is strict: beside what RFC 8032 §5.1.7 asks for, public keys and points R
//! of small order are refused, which would match many messages. Batches are not verified together: the equation for many signatures lets through
//! some that the one for a single signature refuses, so that an answer would depend on a signature's neighbours.
//!
//! ```
//! use candor_primitives::ed25519::{DecodePrivateKey, EncodePrivateKey, LineEnding, SecretKey};
//!
//! let secret = SecretKey::from_bytes(&[7; 32]);
//! let signature = secret.sign(b"a contract");
//! assert!(secret.public_key().verify(b"a contract", &signature).is_ok());
//! assert!(secret.public_key().verify(b"another", &signature).is_err());
//!
//! let pem = secret.to_pkcs8_pem(LineEnding::LF)?;
//! assert_eq!(SecretKey::from_pkcs8_pem(&pem)?.public_key(), secret.public_key());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod key_files;

pub use pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding};

use crate::{random, stack};
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Stack that an operation takes, in bytes; the crate leaves digests and multiples of points there.
const FRAMES: usize = 8192;

/// A secret key: 32 random bytes (RFC 8032 §5.1.5), with its public key. Wiped on drop.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

/// A public key: a point of the curve.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A signature: R and S, 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ed25519Error {
    /// The public key is not 32 bytes of a point of the curve.
    PublicKey,
    /// The signature is not 64 bytes.
    SignatureForm,
    /// The signature is not this key's for this message.
    Signature,
    /// The operating system gave no randomness, or the crate was built without the feature `getrandom`.
    Randomness,
}

impl fmt::Display for Ed25519Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PublicKey => "Ed25519 public key is not 32 bytes of a point of the curve",
            Self::SignatureForm => "Ed25519 signature has another length; expected 64 bytes",
            Self::Signature => "Ed25519 signature does not match this key and message",
            Self::Randomness => random::MISSING,
        })
    }
}

impl core::error::Error for Ed25519Error {}

impl From<random::Unavailable> for Ed25519Error {
    fn from(_: random::Unavailable) -> Self {
        Self::Randomness
    }
}

impl SecretKey {
    /// A fresh key pair, from the operating system's randomness.
    ///
    /// # Errors
    /// [`Ed25519Error::Randomness`].
    pub fn generate() -> Result<Self, Ed25519Error> {
        stack::clearing::<FRAMES, _>(|| Ok(Self::from_bytes(&*random::bytes()?)))
    }

    /// A fresh key pair, from `rng`.
    // ct: ed25519/keygen
    pub fn generate_with(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        stack::clearing::<FRAMES, _>(|| {
            let mut bytes = Zeroizing::new([0; 32]);
            rng.fill_bytes(bytes.as_mut_slice());
            Self::from_bytes(&bytes)
        })
    }

    /// The key pair of these bytes. Any 32 are a secret key.
    #[must_use]
    // ct: ed25519/keygen
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        secret::takes("ed25519/keygen", bytes);
        secret::ran("Ed25519", "dalek");
        stack::clearing::<FRAMES, _>(|| {
            let key = SigningKey::from_bytes(bytes);
            secret::declassify(key.as_ref().as_bytes(), "ed25519-public-key");
            Self(key)
        })
    }

    /// The 32 bytes.
    #[must_use]
    // ct: ed25519/keygen
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The public key.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a message.
    #[must_use]
    // ct: ed25519/sign
    pub fn sign(&self, message: &[u8]) -> Signature {
        secret::takes("ed25519/sign", self.0.as_bytes());
        secret::ran("Ed25519", "dalek");
        stack::clearing::<FRAMES, _>(|| {
            let signature = self.0.sign(message).to_bytes();
            secret::declassify(&signature, "ed25519-signature");
            Signature(signature)
        })
    }
}

impl PublicKey {
    /// The key in the form of RFC 8032 §5.1.2.
    ///
    /// # Errors
    /// [`Ed25519Error::PublicKey`].
    // ct: public, because the key is
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Ed25519Error> {
        let bytes = bytes.try_into().map_err(|_| Ed25519Error::PublicKey)?;
        VerifyingKey::from_bytes(bytes).map(Self).map_err(|_| Ed25519Error::PublicKey)
    }

    /// The same.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Verifies a signature of a message.
    ///
    /// # Errors
    /// [`Ed25519Error::Signature`].
    // ct: public, because signatures are
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Ed25519Error> {
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        self.0.verify_strict(message, &signature).map_err(|_| Ed25519Error::Signature)
    }
}

impl Signature {
    /// R and S.
    ///
    /// # Errors
    /// [`Ed25519Error::SignatureForm`]. Whether S is below the group's order is seen in verification.
    // ct: public, because signatures are
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Ed25519Error> {
        bytes.try_into().map(Self).map_err(|_| Ed25519Error::SignatureForm)
    }

    /// R and S.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 64] {
        self.0
    }
}

impl ZeroizeOnDrop for SecretKey {}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_hex("PublicKey", &self.to_bytes(), f)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_hex("Signature", &self.0, f)
    }
}

fn in_hex(name: &str, bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{name}(")?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
    write!(f, ")")
}

impl signature::SignatureEncoding for Signature {
    type Repr = [u8; 64];
}

impl TryFrom<&[u8]> for Signature {
    type Error = signature::Error;

    fn try_from(bytes: &[u8]) -> Result<Self, signature::Error> {
        Self::from_bytes(bytes).map_err(|_| signature::Error::new())
    }
}

impl From<Signature> for [u8; 64] {
    fn from(signature: Signature) -> Self {
        signature.0
    }
}

impl From<Signature> for Vec<u8> {
    fn from(signature: Signature) -> Self {
        signature.0.to_vec()
    }
}

impl signature::Signer<Signature> for SecretKey {
    fn try_sign(&self, message: &[u8]) -> Result<Signature, signature::Error> {
        Ok(self.sign(message))
    }
}

impl signature::Verifier<Signature> for PublicKey {
    fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        Self::verify(self, message, signature).map_err(|_| signature::Error::new())
    }
}

impl signature::Keypair for SecretKey {
    type VerifyingKey = PublicKey;

    fn verifying_key(&self) -> PublicKey {
        self.public_key()
    }
}
