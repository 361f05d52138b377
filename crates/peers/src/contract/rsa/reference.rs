//! RSA by RustCrypto, the neutral party of the witnesses: it shares no code with candor's own.

use super::{Failed, KeyFiles, Size};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
#[cfg(test)]
use rsa::BoxedUint;
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPublicKey};
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey};
#[cfg(test)]
use rsa::traits::PrivateKeyParts;
use rsa::traits::PublicKeyParts;
use rsa::{Oaep, Pss, RsaPrivateKey};
use sha2::Sha256;

/// A key pair.
pub(super) struct Key(RsaPrivateKey);

impl Key {
    /// The key of a file in PKCS#8 or PKCS#1, whose parts must belong together.
    pub(super) fn read(file: &[u8]) -> Result<Self, Failed> {
        let key = RsaPrivateKey::from_pkcs8_der(file).ok().or_else(|| RsaPrivateKey::from_pkcs1_der(file).ok());
        key.map(Self).ok_or("RustCrypto refuses the key")
    }

    /// A fresh one.
    #[cfg(test)]
    pub(super) fn new(bits: usize) -> Self {
        Self(RsaPrivateKey::new(&mut UnwrapErr(SysRng), bits).expect("a key"))
    }

    pub(super) fn files(&self) -> KeyFiles {
        let public = self.0.to_public_key();
        KeyFiles {
            pkcs8: self.0.to_pkcs8_der().expect("a key has a form").as_bytes().to_vec(),
            spki: public.to_public_key_der().expect("a key has a form").into_vec(),
            pkcs1: public.to_pkcs1_der().expect("a key has a form").into_vec(),
        }
    }

    /// Whether it is what a task asks for. RustCrypto looks whether the parts belong together, and not at the primes. With a number in the place of one, a
    /// signature is wrong for nearly each digest; and the digest is none that the library knew.
    pub(super) fn check(&self, size: Size) -> Result<(), Failed> {
        self.0.validate().map_err(|_| "makes a key whose parts do not belong together")?;
        let mut digest = [0; 32];
        getrandom::fill(&mut digest).map_err(|_| "the system gives no randomness")?;
        self.sign(&digest)
            .and_then(|signature| self.verify(&digest, &signature))
            .map_err(|_| "makes a key of primes that are none")?;
        if self.0.n().bits() as usize != size.bits() {
            return Err("makes a key of another size");
        }
        if self.0.e_bytes()[..] != [1, 0, 1] { Err("makes a key with another exponent") } else { Ok(()) }
    }

    /// A signature of a digest.
    pub(super) fn sign(&self, digest: &[u8]) -> Result<Vec<u8>, Failed> {
        self.0
            .sign_with_rng(&mut UnwrapErr(SysRng), Pss::<Sha256>::new(), digest)
            .map_err(|_| "RustCrypto does not sign")
    }

    /// A message, encrypted.
    pub(super) fn encrypt(&self, message: &[u8]) -> Result<Vec<u8>, Failed> {
        let sealed = self.0.to_public_key().encrypt(&mut UnwrapErr(SysRng), Oaep::<Sha256>::new(), message);
        sealed.map_err(|_| "RustCrypto does not encrypt")
    }

    /// The message of a ciphertext.
    pub(super) fn decrypt(&self, sealed: &[u8]) -> Result<Vec<u8>, Failed> {
        self.0.decrypt(Oaep::<Sha256>::new(), sealed).map_err(|_| "RustCrypto does not decrypt the answer")
    }

    /// The key with another number in the place of its first prime, and all parts as they follow from it.
    #[cfg(test)]
    pub(super) fn composite(&self) -> Self {
        let [p, q] = [0, 1].map(|at| self.0.primes()[at].to_be_bytes());
        let mut p = p.to_vec();
        *p.last_mut().expect("a number has bytes") ^= 2;
        let number = |bytes: &[u8]| BoxedUint::from_be_slice(bytes, 8 * bytes.len() as u32).expect("so many bits");
        let key = RsaPrivateKey::from_p_q(number(&p), number(&q), number(&self.0.e_bytes()));
        Self(key.expect("the parts belong together"))
    }

    /// Verifies a signature.
    pub(super) fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<(), Failed> {
        self.0.to_public_key().verify(Pss::<Sha256>::new(), digest, signature).map_err(|_| "RustCrypto says no")
    }
}
