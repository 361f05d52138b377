//! Elliptic curves over prime fields: keys, ECDSA (FIPS 186-5) and ECDH (SP 800-56A), on P-256, P-384 and secp256k1. SM2 stands on the same
//! curves' arithmetic, in [`sm2`](crate::sm2).
//!
//! [`Ec`] makes and reads the keys of a curve. A [`SecretKey`] signs and agrees, a [`PublicKey`] verifies.
//!
//! ```
//! use candor_primitives::ec::{Ec, P256};
//!
//! let ec = Ec::<P256>::new();
//! let secret = ec.secret_from_bytes(&[7; 32])?;
//! let public = secret.public_key();
//! # #[cfg(feature = "getrandom")] {
//! let signature = secret.sign(b"a contract")?;
//! assert!(public.verify(b"a contract", &signature).is_ok());
//! assert!(public.verify(b"another", &signature).is_err());
//! # }
//!
//! let peer = ec.secret_from_bytes(&[8; 32])?;
//! assert_eq!(secret.agree(peer.public_key()).as_bytes(), peer.agree(public).as_bytes());
//!
//! // Keys go from and to DER and PEM, in the forms that OpenSSL reads and writes.
//! use candor_primitives::ec::{DecodePrivateKey, EncodePrivateKey, LineEnding, SecretKey};
//! let pem = secret.to_pkcs8_pem(LineEnding::LF)?;
//! assert_eq!(SecretKey::<P256>::from_pkcs8_pem(&pem)?.public_key(), public);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod der;
mod ecdh;
mod ecdsa;
pub(crate) mod key;
mod key_files;
pub(crate) mod nonce;
mod rfc6979;
#[cfg(test)]
mod tests;

pub use crate::curve::p256::P256;
pub use crate::curve::p384::P384;
pub use crate::curve::secp256k1::Secp256k1;
pub use ecdh::SharedSecret;
pub use ecdsa::{EcdsaCurve, Signature};
pub use key::{Bytes, PublicKey, SecretKey};
pub use pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding};
pub use sec1::{DecodeEcPrivateKey, EncodeEcPrivateKey};

pub(crate) use crate::curve::arm::on_arm;

use crate::curve::Curve;
use crate::curve::arm::Arm;
use crate::random;
use candor_cpu::Cpu;
use core::fmt;
use core::marker::PhantomData;
use pkcs8::ObjectIdentifier;

/// Stack that an operation takes, in bytes: agreement on P-384 in safe Rust takes most.
pub(crate) const FRAMES: usize = 12288;

/// A curve that keys can be of: one of this crate's.
pub trait NamedCurve: Curve {
    /// Its name, for people.
    const NAME: &'static str;
    /// Its object identifier, for key files.
    const OID: &'static ObjectIdentifier;
    /// What has to be subtracted from n for the greatest secret key.
    #[doc(hidden)]
    const ABOVE_SECRETS: u64 = 1;
}

impl NamedCurve for P256 {
    const NAME: &'static str = "P-256";
    // prime256v1, RFC 5480 §2.1.1.1.
    const OID: &'static ObjectIdentifier = &ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
}

impl NamedCurve for P384 {
    const NAME: &'static str = "P-384";
    // secp384r1, RFC 5480 §2.1.1.1.
    const OID: &'static ObjectIdentifier = &ObjectIdentifier::new_unwrap("1.3.132.0.34");
}

impl NamedCurve for Secp256k1 {
    const NAME: &'static str = "secp256k1";
    // ansip256k1, SEC 2 version 2, §A.2.1.
    const OID: &'static ObjectIdentifier = &ObjectIdentifier::new_unwrap("1.3.132.0.10");
}

/// A curve on one CPU: makes and reads keys, which remember it.
#[derive(Clone, Copy)]
pub struct Ec<C> {
    pub(crate) arm: Arm,
    pub(crate) cpu: Cpu,
    curve: PhantomData<C>,
}

impl<C: NamedCurve> Ec<C> {
    /// With the fastest code for this CPU.
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// With no instructions but those that `cpu` permits.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self { arm: Arm::choose(cpu), cpu, curve: PhantomData }
    }

    /// The arm that runs: `adx` (x86-64) or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.arm.name()
    }
}

impl<C: NamedCurve> Default for Ec<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: NamedCurve> fmt::Debug for Ec<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ec").field("curve", &C::NAME).field("arm", &self.arm()).finish()
    }
}

/// Why an operation with a curve's key failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcError {
    /// The secret key is 0, n or larger; for SM2 also n − 1.
    SecretKey,
    /// The public key is not SEC1's form of a point of the curve.
    PublicKey,
    /// The signature is not two numbers from 1 to n − 1, or not in the form that was asked for.
    SignatureForm,
    /// The signature is not this key's for this message.
    Signature,
    /// The digest is shorter than half of the curve's size.
    Digest,
    /// The caller's generator gave eight numbers in a row that are no secret key, which a good one does with probability 2^-256.
    Generator,
    /// The operating system gave no randomness, or the crate was built without the feature `getrandom`.
    Randomness,
}

impl fmt::Display for EcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SecretKey => "secret key is out of range; expected a number from 1 to n - 1 (for SM2 n - 2)",
            Self::PublicKey => {
                "public key is not a point of the curve in SEC1 form (33 or 65 bytes; for P-384 49 or 97)"
            }
            Self::SignatureForm => "signature is malformed; expected two numbers from 1 to n - 1",
            Self::Signature => "signature does not match this key and message",
            Self::Digest => "digest is too short; expected at least 16 bytes (for P-384 24)",
            Self::Generator => "random generator is broken: eight numbers in a row are out of range for a secret key",
            Self::Randomness => random::MISSING,
        })
    }
}

impl core::error::Error for EcError {}

impl From<random::Unavailable> for EcError {
    fn from(_: random::Unavailable) -> Self {
        Self::Randomness
    }
}
