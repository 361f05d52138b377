//! RSA (RFC 8017, FIPS 186-5): signatures by PSS and by PKCS#1 v1.5, encryption by OAEP, and keys of 2,048, 3,072 and 4,096 bits.
//!
//! [`Rsa`] makes and reads keys. A [`SecretKey`] signs and decrypts, a [`PublicKey`] verifies and encrypts. A [`Scheme`] is a padding with a hash.
//!
//! ```
//! # #[cfg(feature = "getrandom")] {
//! use candor_primitives::hash::Sha256;
//! use candor_primitives::rsa::{Pss, Rsa, Size};
//!
//! let secret = Rsa::new().generate(Size::Bits2048)?;
//! let signature = secret.sign::<Pss<Sha256>>(b"a contract")?;
//! assert!(secret.public_key().verify(b"a contract", &signature).is_ok());
//! assert!(secret.public_key().verify(b"another", &signature).is_err());
//!
//! let sealed = secret.public_key().encrypt_oaep::<Sha256>(b"a key", b"label")?;
//! assert_eq!(*secret.decrypt_oaep::<Sha256>(&sealed, b"label")?, b"a key");
//!
//! // Keys go from and to DER and PEM, in the forms that OpenSSL reads and writes.
//! use candor_primitives::rsa::{DecodePrivateKey, EncodePrivateKey, LineEnding, SecretKey};
//! let pem = secret.to_pkcs8_pem(LineEnding::LF)?;
//! assert_eq!(SecretKey::from_pkcs8_pem(&pem)?.public_key(), secret.public_key());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arm_mux;
mod blinding;
mod exponents;
mod generate;
mod key;
mod key_file_error;
mod key_files;
mod limbs;
mod modulus;
mod oaep;
mod padding;
mod pkcs1v15;
pub(crate) mod portable;
mod power;
mod primes;
mod private;
mod pss;
mod signatures;
#[cfg(test)]
mod tests;

pub use key::{Parts, PublicKey, SecretKey};
pub use key_file_error::KeyFileError;
pub use padding::RsaHash;
pub use pkcs1::{DecodeRsaPrivateKey, DecodeRsaPublicKey, EncodeRsaPrivateKey, EncodeRsaPublicKey};
pub use pkcs1v15::Pkcs1v15;
pub use pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding};
pub use pss::Pss;
pub use signatures::{Scheme, Signature};

use crate::random;
use arm_mux::Arm;
use candor_cpu::Cpu;
use core::fmt;

/// Stack that an operation takes, in bytes.
const FRAMES: usize = 16384;

/// How long a modulus is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// 2,048 bits.
    Bits2048,
    /// 3,072 bits.
    Bits3072,
    /// 4,096 bits.
    Bits4096,
}

impl Size {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bits2048, Self::Bits3072, Self::Bits4096];

    /// Bits.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::Bits2048 => 2048,
            Self::Bits3072 => 3072,
            Self::Bits4096 => 4096,
        }
    }

    /// Bytes of a modulus, a signature or a ciphertext.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bits() / 8
    }

    /// Words of a modulus.
    const fn words(self) -> usize {
        self.bits() / 64
    }
}

/// RSA on one CPU: makes and reads keys, which remember it.
#[derive(Clone, Copy)]
pub struct Rsa {
    arm: Arm,
    cpu: Cpu,
}

impl Rsa {
    /// With the fastest code for this CPU.
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// With no instructions but those that `cpu` permits.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self { arm: Arm::choose(cpu), cpu }
    }

    /// The arm that runs: `avx512` or `adx` (x86-64), or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.arm.name()
    }
}

impl Default for Rsa {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Rsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rsa").field("arm", &self.arm()).finish()
    }
}

/// Why an operation with an RSA key failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RsaError {
    /// The modulus does not have 2,048, 3,072 or 4,096 bits, or is even.
    Modulus,
    /// The public exponent is even, below 3, or has more than 64 bits.
    Exponent,
    /// The parts of the secret key do not belong together, or its primes are not of half the modulus' size.
    SecretKey,
    /// The signature is not this key's for this message, or not as long as the modulus.
    Signature,
    /// The ciphertext is not one for this key, hash and label. There is one error for whatever is wrong with it.
    Decryption,
    /// The message is too long for this key and hash.
    MessageLength,
    /// The digest is not as long as its hash makes it.
    Digest,
    /// A secret computation went wrong, by a fault of the machine or because a "prime" of the key is none; its result was thrown away.
    Fault,
    /// The caller's generator gave so many candidates that no prime was among them, which a good one does with negligible probability.
    Generator,
    /// The operating system gave no randomness, or the crate was built without the feature `getrandom`.
    Randomness,
}

impl fmt::Display for RsaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Modulus => "modulus is not supported; expected an odd number of 2048, 3072 or 4096 bits",
            Self::Exponent => "public exponent is not supported; expected an odd number from 3 to 2^64 - 1",
            Self::SecretKey => "parts of the secret key do not belong together; expected two primes of half the modulus' size, with their exponents and coefficient",
            Self::Signature => "signature does not match this key and message",
            Self::Decryption => "ciphertext can't be decrypted with this key, hash and label",
            Self::MessageLength => "message is too long for this key and hash",
            Self::Digest => "digest is not as long as its hash makes it",
            Self::Fault => "secret computation went wrong, so its result was discarded: check the key, and the machine",
            Self::Generator => "random generator is broken: no prime was among its numbers",
            Self::Randomness => random::MISSING,
        })
    }
}

impl core::error::Error for RsaError {}

impl From<random::Unavailable> for RsaError {
    fn from(_: random::Unavailable) -> Self {
        Self::Randomness
    }
}
