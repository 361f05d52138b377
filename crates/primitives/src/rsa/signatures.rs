//! Signatures.

use super::blinding::Pair;
use super::padding::{self, RsaHash, Sealed};
use super::power::public_power;
use super::{FRAMES, PublicKey, RsaError, SecretKey, Size};
use crate::words::{from_bytes, is_below, to_bytes};
use crate::{random, stack};
use alloc::vec::Vec;
use candor_cpu::{Cpu, secret};
use core::fmt;
use core::marker::PhantomData;
use rand_core::{CryptoRng, TryCryptoRng};

/// Where randomness comes from.
pub(super) type Fill<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), RsaError>;

/// A padding for signatures, with its hash: [`Pss`](super::Pss) or [`Pkcs1v15`](super::Pkcs1v15).
pub trait Scheme: Sealed + Sized + 'static {
    /// The hash of messages.
    type Hash: RsaHash;

    /// Writes what is signed: as many bytes as the modulus has.
    #[doc(hidden)]
    fn encode(
        cpu: Cpu,
        digest: &[u8],
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), RsaError>,
        to: &mut [u8],
    ) -> Result<(), RsaError>;

    /// Whether bytes are what is signed for a digest. It may write over them.
    #[doc(hidden)]
    fn is_of(cpu: Cpu, digest: &[u8], encoded: &mut [u8]) -> bool;
}

/// A signature by a scheme: as many bytes as the modulus has.
pub struct Signature<S> {
    bytes: Vec<u8>,
    scheme: PhantomData<fn() -> S>,
}

impl SecretKey {
    /// Signs a message.
    ///
    /// # Errors
    /// [`RsaError::Randomness`], [`RsaError::Fault`].
    // ct: rsa/sign
    pub fn sign<S: Scheme>(&self, message: &[u8]) -> Result<Signature<S>, RsaError> {
        self.sign_by(&self.digest::<S>(message), &mut |bytes| Ok(random::fill(bytes)?), Pair::Kept)
    }

    /// [`sign`](Self::sign) with randomness from `rng`, in twice the time: a blinding is drawn from it that serves no other operation.
    ///
    /// # Errors
    /// [`RsaError::Fault`].
    // ct: rsa/sign
    pub fn sign_with<S: Scheme>(
        &self,
        message: &[u8],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Signature<S>, RsaError> {
        let digest = self.digest::<S>(message);
        self.sign_digest_with(&digest, rng)
    }

    /// Signs a digest by the scheme's hash.
    ///
    /// # Errors
    /// [`RsaError::Digest`], [`RsaError::Randomness`], [`RsaError::Fault`].
    // ct: rsa/sign
    pub fn sign_digest<S: Scheme>(&self, digest: &[u8]) -> Result<Signature<S>, RsaError> {
        self.sign_by(digest, &mut |bytes| Ok(random::fill(bytes)?), Pair::Kept)
    }

    /// [`sign_digest`](Self::sign_digest) with randomness from `rng`, in twice the time as [`sign_with`](Self::sign_with).
    ///
    /// # Errors
    /// [`RsaError::Digest`], [`RsaError::Fault`].
    // ct: rsa/sign
    pub fn sign_digest_with<S: Scheme>(
        &self,
        digest: &[u8],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Signature<S>, RsaError> {
        let mut fill = |bytes: &mut [u8]| {
            rng.fill_bytes(bytes);
            Ok(())
        };
        self.sign_by(digest, &mut fill, Pair::Own)
    }

    fn digest<S: Scheme>(&self, message: &[u8]) -> digest::Output<S::Hash> {
        padding::digest::<S::Hash>(self.public.rsa.cpu, &[message])
    }

    fn sign_by<S: Scheme>(&self, digest: &[u8], fill: Fill<'_>, pair: Pair) -> Result<Signature<S>, RsaError> {
        secret::takes("rsa/sign", &self.secret.primes[0].words[..]);
        if digest.len() != padding::length::<S::Hash>() {
            return Err(RsaError::Digest);
        }
        stack::clearing::<FRAMES, _>(|| {
            let PublicKey { rsa, size, .. } = &self.public;
            let mut bytes = padding::zeros(size.bytes());
            S::encode(rsa.cpu, digest, fill, &mut bytes)?;
            let encoded = from_bytes(&bytes, size.words()).expect("as many bytes as the number has");
            let power = self.private_power(&encoded, fill, pair)?;
            to_bytes(&power, &mut bytes);
            secret::declassify(&bytes, "rsa-signature");
            Ok(Signature { bytes, scheme: PhantomData })
        })
    }
}

impl PublicKey {
    /// Verifies a signature of a message.
    ///
    /// # Errors
    /// [`RsaError::Signature`].
    // ct: public, because signatures are
    pub fn verify<S: Scheme>(&self, message: &[u8], signature: &Signature<S>) -> Result<(), RsaError> {
        self.verify_digest(&padding::digest::<S::Hash>(self.rsa.cpu, &[message]), signature)
    }

    /// Verifies a signature of a digest by the scheme's hash.
    ///
    /// # Errors
    /// [`RsaError::Digest`], [`RsaError::Signature`].
    // ct: public, because signatures are
    pub fn verify_digest<S: Scheme>(&self, digest: &[u8], signature: &Signature<S>) -> Result<(), RsaError> {
        if digest.len() != padding::length::<S::Hash>() {
            return Err(RsaError::Digest);
        }
        if signature.bytes.len() != self.size.bytes() {
            return Err(RsaError::Signature);
        }
        let number = from_bytes(&signature.bytes, self.size.words()).ok_or(RsaError::Signature)?;
        if is_below(&number, &self.modulus.words) == 0 {
            return Err(RsaError::Signature);
        }
        let mut encoded = padding::zeros(self.size.bytes());
        to_bytes(&public_power(&self.modulus, &number, self.exponent), &mut encoded);
        if S::is_of(self.rsa.cpu, digest, &mut encoded) { Ok(()) } else { Err(RsaError::Signature) }
    }
}

impl<S> Signature<S> {
    /// The signature of these bytes.
    ///
    /// # Errors
    /// [`RsaError::Signature`] unless there are as many as a modulus has.
    // ct: public, because signatures are
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RsaError> {
        if Size::ALL.into_iter().any(|size| size.bytes() == bytes.len()) {
            Ok(Self { bytes: bytes.to_vec(), scheme: PhantomData })
        } else {
            Err(RsaError::Signature)
        }
    }

    /// As many bytes as the modulus has.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<S> AsRef<[u8]> for Signature<S> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<S> Clone for Signature<S> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), scheme: PhantomData }
    }
}

impl<S> PartialEq for Signature<S> {
    // ct: public, because signatures are
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<S> Eq for Signature<S> {}

impl<S> fmt::Debug for Signature<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature(")?;
        self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl<S> TryFrom<&[u8]> for Signature<S> {
    type Error = signature::Error;

    fn try_from(bytes: &[u8]) -> Result<Self, signature::Error> {
        Self::from_bytes(bytes).map_err(|_| signature::Error::new())
    }
}

impl<S> From<Signature<S>> for Vec<u8> {
    fn from(signature: Signature<S>) -> Self {
        signature.bytes
    }
}

impl<S> signature::SignatureEncoding for Signature<S> {
    type Repr = Vec<u8>;
}

impl<S: Scheme> signature::Signer<Signature<S>> for SecretKey {
    fn try_sign(&self, message: &[u8]) -> Result<Signature<S>, signature::Error> {
        self.sign(message).map_err(|_| signature::Error::new())
    }
}

impl<S: Scheme> signature::hazmat::PrehashSigner<Signature<S>> for SecretKey {
    fn sign_prehash(&self, digest: &[u8]) -> Result<Signature<S>, signature::Error> {
        self.sign_digest(digest).map_err(|_| signature::Error::new())
    }
}

impl<S: Scheme> signature::RandomizedSigner<Signature<S>> for SecretKey {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        message: &[u8],
    ) -> Result<Signature<S>, signature::Error> {
        let digest = self.digest::<S>(message);
        signature::hazmat::RandomizedPrehashSigner::sign_prehash_with_rng(self, rng, &digest)
    }
}

impl<S: Scheme> signature::hazmat::RandomizedPrehashSigner<Signature<S>> for SecretKey {
    fn sign_prehash_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        digest: &[u8],
    ) -> Result<Signature<S>, signature::Error> {
        let mut fill = |bytes: &mut [u8]| rng.try_fill_bytes(bytes).map_err(|_| RsaError::Randomness);
        self.sign_by(digest, &mut fill, Pair::Own).map_err(|_| signature::Error::new())
    }
}

impl<S: Scheme> signature::Verifier<Signature<S>> for PublicKey {
    fn verify(&self, message: &[u8], signature: &Signature<S>) -> Result<(), signature::Error> {
        Self::verify(self, message, signature).map_err(|_| signature::Error::new())
    }
}

impl<S: Scheme> signature::hazmat::PrehashVerifier<Signature<S>> for PublicKey {
    fn verify_prehash(&self, digest: &[u8], signature: &Signature<S>) -> Result<(), signature::Error> {
        self.verify_digest(digest, signature).map_err(|_| signature::Error::new())
    }
}

impl signature::Keypair for SecretKey {
    type VerifyingKey = PublicKey;

    fn verifying_key(&self) -> PublicKey {
        self.public_key().clone()
    }
}
