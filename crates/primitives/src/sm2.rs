//! SM2: digital signatures, encryption and key exchange on China's national curve (GB/T 32918, GM/T 0003, ISO/IEC 14888-3).
//!
//! [`Sm2`] makes and reads keys. A [`SigningKey`] is a secret key with its holder's identity, and a [`VerifyingKey`] a public one; both must
//! hold the same identity, [`DEFAULT_ID`] unless another one was agreed.
//!
//! ```
//! use candor_primitives::sm2::{DEFAULT_ID, Format, Sm2};
//!
//! let sm2 = Sm2::new();
//! let secret = sm2.secret_from_bytes(&[7; 32])?;
//! let public = secret.public_key().clone();
//! # #[cfg(feature = "getrandom")] {
//! let signature = secret.signing_key(DEFAULT_ID)?.sign(b"a contract")?;
//! assert!(public.verifying_key(DEFAULT_ID)?.verify(b"a contract", &signature).is_ok());
//! assert!(public.verifying_key(DEFAULT_ID)?.verify(b"another", &signature).is_err());
//!
//! let ciphertext = public.encrypt(b"an offer", Format::Asn1)?;
//! assert_eq!(secret.decrypt(&ciphertext, Format::Asn1)?.as_slice(), b"an offer");
//! # }
//!
//! // Keys go from and to DER and PEM, in the form that OpenSSL writes.
//! use candor_primitives::sm2::{DecodePrivateKey, EncodePrivateKey, LineEnding, SecretKey};
//! let pem = secret.to_pkcs8_pem(LineEnding::LF)?;
//! assert_eq!(SecretKey::from_pkcs8_pem(&pem)?.public_key(), &public);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod encryption;
mod exchange;
mod signature;
#[cfg(test)]
mod tests;

pub use crate::curve::sm2::Sm2Curve;
pub use crate::ec::EcError;
pub use encryption::Format;
pub use exchange::{Agreement, Exchange, Role};
pub use pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding};
pub use signature::{Signature, SigningKey, VerifyingKey};

use crate::ec::{self, Ec, FRAMES, NamedCurve};
use crate::random;
use core::fmt;
use pkcs8::ObjectIdentifier;

/// The identity that stands for "none was agreed" (GM/T 0009 §10). OpenSSL before 4.0 takes an empty one unless told otherwise.
pub const DEFAULT_ID: &[u8] = b"1234567812345678";

/// SM2 on one CPU: makes and reads keys, which remember it.
pub type Sm2 = Ec<Sm2Curve>;
/// A secret key: a number from 1 to n − 2.
pub type SecretKey = ec::SecretKey<Sm2Curve>;
/// A public key.
pub type PublicKey = ec::PublicKey<Sm2Curve>;

impl NamedCurve for Sm2Curve {
    const NAME: &'static str = "SM2";
    // sm2p256v1, GM/T 0006.
    const OID: &'static ObjectIdentifier = &ObjectIdentifier::new_unwrap("1.2.156.10197.1.301");
    // n − 1 has no inverse of 1 + d (GB/T 32918.1 §6.1).
    const ABOVE_SECRETS: u64 = 2;
}

/// Why an operation of SM2 failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sm2Error {
    /// The secret key is 0, n − 1, or larger (GB/T 32918.1 §6.1).
    SecretKey,
    /// The public key is not 33 or 65 bytes of SEC1, or not a point of the curve.
    PublicKey,
    /// The caller's generator gave eight numbers in a row that are no secret key.
    Generator,
    /// The signature is not two numbers from 1 to n − 1, or not in the form that was asked for.
    SignatureForm,
    /// The signature is not this key's for this message and identity.
    Signature,
    /// The ciphertext is not in the form that was asked for, or its first part is not a point of the curve.
    CiphertextForm,
    /// The ciphertext was not made for this key, or was changed.
    Ciphertext,
    /// A message of no bytes, or of more than the key derivation has counters for (GB/T 32918.4 §6) or DER's lengths have bits for.
    Length,
    /// The identity is longer than 8191 bytes (GB/T 32918.2 §5.5).
    Identity,
    /// The exchange has no result: the peer's keys cancel out, or the peer's confirmation is wrong.
    Exchange,
    /// The operating system gave no randomness, or the crate was built without the feature `getrandom`.
    Randomness,
}

impl fmt::Display for Sm2Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SignatureForm => "SM2 signature is malformed; expected two numbers from 1 to n - 1",
            Self::Signature => "SM2 signature does not match this key, identity and message",
            Self::CiphertextForm => "SM2 ciphertext is malformed",
            Self::Ciphertext => "SM2 ciphertext was made for another key, or was changed",
            Self::Length => "SM2 message is empty or too long to encrypt",
            Self::Identity => "SM2 identity is longer than 8191 bytes",
            Self::Exchange => "SM2 key exchange failed: the peer is not who was expected; abort it",
            Self::SecretKey => "SM2 secret key is out of range; expected a number from 1 to n - 2",
            Self::PublicKey => "SM2 public key is not a point of the curve in SEC1 form (33 or 65 bytes)",
            Self::Generator => {
                "random generator is broken: eight numbers in a row are out of range for an SM2 secret key"
            }
            Self::Randomness => random::MISSING,
        })
    }
}

impl core::error::Error for Sm2Error {}

impl From<EcError> for Sm2Error {
    fn from(error: EcError) -> Self {
        match error {
            EcError::SecretKey => Self::SecretKey,
            EcError::PublicKey => Self::PublicKey,
            EcError::SignatureForm => Self::SignatureForm,
            EcError::Signature => Self::Signature,
            EcError::Digest => Self::Length,
            EcError::Generator => Self::Generator,
            EcError::Randomness => Self::Randomness,
        }
    }
}

impl From<random::Unavailable> for Sm2Error {
    fn from(_: random::Unavailable) -> Self {
        Self::Randomness
    }
}
