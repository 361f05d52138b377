//! Ed25519 (RFC 8032 §5.1), by crate `ed25519-dalek`, with this crate's randomness, key files and cleared stack.
//!
//! Signing takes no randomness: [`SecretKey::sign`] makes one signature of a message. The key's owner can make others that verify, so
//! messages must not be told apart by their signatures.
//!
//! Verification is strict. As RFC 8032 §5.1.7 asks, S is below the group's order, and public keys and points R have their only encoding (§5.1.3): y is
//! below p, and x = 0 has no sign. The equation is the one without the factor 8. Beside that, small orders are refused. A signature of a public key of
//! small order would match many messages. A point R of small order matches one, but no honest signer makes it: S would give the secret key away.
//!
//! Batches are not verified together: the equation for many signatures lets through some that the one for a single signature refuses, so that an
//! answer would depend on a signature's neighbours.
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

use crate::kept::Kept;
use crate::{random, stack};
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use rand_core::CryptoRng;
use sha2::Sha512;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Stack that an operation takes, in bytes; the crate leaves digests and multiples of points there.
const FRAMES: usize = 8192;

/// The group's order L, the lowest byte first (RFC 8032 §5.1).
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// A secret key: 32 random bytes (RFC 8032 §5.1.5), with its public key. Wiped on drop.
#[derive(Clone)]
pub struct SecretKey {
    bytes: Kept<[u8; 32]>,
    public: PublicKey,
}

/// A public key: a point of the curve, in its only encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A signature: R and S, 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ed25519Error {
    /// The public key is not 32 bytes, or not the encoding of a point of the curve, of which each has one (RFC 8032 §5.1.2 and §5.1.3).
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
            Self::PublicKey => "Ed25519 public key is not the canonical encoding of a point of the curve in 32 bytes",
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
            let mut key = Kept::new([0; 32]);
            key.copy_from_slice(bytes);
            let public = VerifyingKey::from(&ExpandedSecretKey::from(&*key));
            secret::declassify(public.as_bytes(), "ed25519-public-key");
            Self { bytes: key, public: PublicKey(public) }
        })
    }

    /// The 32 bytes.
    #[must_use]
    // ct: ed25519/keygen
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(*self.bytes)
    }

    /// The public key.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// Signs a message. The same message has the same signature.
    #[must_use]
    // ct: ed25519/sign
    pub fn sign(&self, message: &[u8]) -> Signature {
        secret::takes("ed25519/sign", &*self.bytes);
        secret::ran("Ed25519", "dalek");
        stack::clearing::<FRAMES, _>(|| {
            let expanded = ExpandedSecretKey::from(&*self.bytes);
            let signature = raw_sign::<Sha512>(&expanded, message, &self.public.0).to_bytes();
            secret::declassify(&signature, "ed25519-signature");
            Signature(signature)
        })
    }
}

impl PublicKey {
    /// The key in the form of RFC 8032 §5.1.2. A point of small order is read, and verifies nothing.
    ///
    /// # Errors
    /// [`Ed25519Error::PublicKey`].
    // ct: public, because the key is
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Ed25519Error> {
        let bytes = bytes.try_into().map_err(|_| Ed25519Error::PublicKey)?;
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| Ed25519Error::PublicKey)?;
        // dalek reads p + y for y, and a sign where x is 0. It writes neither.
        let written = VerifyingKey::from(key.to_edwards());
        if written.as_bytes() == bytes { Ok(Self(key)) } else { Err(Ed25519Error::PublicKey) }
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
        // dalek leaves this out if any crate of the program turns its feature `legacy_compatibility` on.
        if !is_below_order(&signature.0[32..]) {
            return Err(Ed25519Error::Signature);
        }
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

/// Whether S, the lowest byte first, is below L.
fn is_below_order(s: &[u8]) -> bool {
    s.iter().rev().lt(ORDER.iter().rev())
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;

    #[test]
    fn numbers_below_the_order_are_told_from_others() {
        let mut below = ORDER;
        below[0] -= 1;
        let mut above = ORDER;
        above[0] += 1;
        assert!(is_below_order(&[0; 32]) && is_below_order(&below));
        assert!(!is_below_order(&ORDER) && !is_below_order(&above) && !is_below_order(&[0xff; 32]));
        // The highest byte counts most.
        let mut little = ORDER;
        (little[0], little[31]) = (0xff, 0x0f);
        assert!(is_below_order(&little));
    }

    #[test]
    fn a_key_that_moves_leaves_its_secret_where_it_is() {
        let key = SecretKey::from_bytes(&[7; 32]);
        let at = key.bytes.as_ptr();
        let moved = Box::new(key);
        assert_eq!(moved.bytes.as_ptr(), at);
        assert_ne!(moved.clone().bytes.as_ptr(), at);
    }
}
