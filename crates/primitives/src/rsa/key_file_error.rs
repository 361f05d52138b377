//! Why a file of a key is refused.

use super::RsaError;
use core::fmt;
use pkcs8::der::Error as DerError;
use pkcs8::{KeyError, ObjectIdentifier, spki};

/// Why a file of an RSA key was refused. The traits of crates `pkcs1` and `pkcs8` can't tell that much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFileError {
    /// It is not the structure that was expected, in DER.
    Der(DerError),
    /// The key is for another algorithm than rsaEncryption (RFC 8017 §A.1): for another kind of key, or for PSS or OAEP alone.
    Algorithm {
        /// Its object identifier.
        found: ObjectIdentifier,
    },
    /// The algorithm's parameters are not NULL.
    Parameters,
    /// The key has more than two primes.
    MorePrimes,
    /// The modulus is too short, too long, or between two sizes.
    ModulusLength {
        /// Bits that it has.
        found: usize,
    },
    /// The modulus is even.
    EvenModulus,
    /// The public exponent is even or below 3.
    Exponent {
        /// The exponent.
        found: u64,
    },
    /// The public exponent has more than 64 bits.
    ExponentLength {
        /// Bits that it has.
        found: usize,
    },
    /// The parts of the secret key do not belong together, or its primes are not of half the modulus' size.
    Parts,
    /// The public key that the file has beside the secret one is another's.
    PublicKey,
}

impl KeyFileError {
    /// Why a key with this modulus and this public exponent, the highest byte first, was refused by `error`.
    pub(super) fn of(error: RsaError, modulus: &[u8], exponent: &[u8]) -> Self {
        match error {
            RsaError::Modulus => match bits(modulus) {
                2048 | 3072 | 4096 => Self::EvenModulus,
                found => Self::ModulusLength { found },
            },
            RsaError::Exponent => match bits(exponent) {
                found @ 65.. => Self::ExponentLength { found },
                _ => Self::Exponent { found: exponent.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)) },
            },
            _ => Self::Parts,
        }
    }
}

/// Bits of a number whose highest byte is first.
fn bits(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros).map_or(0, |highest| 8 * (number.len() - zeros) - highest.leading_zeros() as usize)
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Der(error) => write!(f, "structure of the key is malformed: {error}"),
            Self::Algorithm { found } => {
                write!(f, "algorithm is {found}; expected rsaEncryption, 1.2.840.113549.1.1.1")
            }
            Self::Parameters => f.write_str("parameters of the algorithm are not NULL, as those of rsaEncryption are"),
            Self::MorePrimes => f.write_str("key has more than two primes; expected two"),
            Self::ModulusLength { found } => write!(f, "modulus has {found} bits; expected 2048, 3072 or 4096"),
            Self::EvenModulus => f.write_str("modulus is even; expected a product of two odd primes"),
            Self::Exponent { found } => write!(f, "public exponent is {found}; expected an odd number from 3 on"),
            Self::ExponentLength { found } => write!(f, "public exponent has {found} bits; expected at most 64"),
            Self::Parts => RsaError::SecretKey.fmt(f),
            Self::PublicKey => f.write_str("public key beside the secret key is another's"),
        }
    }
}

impl core::error::Error for KeyFileError {}

impl From<DerError> for KeyFileError {
    fn from(error: DerError) -> Self {
        Self::Der(error)
    }
}

impl From<KeyFileError> for pkcs1::Error {
    fn from(error: KeyFileError) -> Self {
        match error {
            KeyFileError::Der(error) => Self::Asn1(error),
            KeyFileError::MorePrimes => Self::Version,
            _ => Self::KeyMalformed,
        }
    }
}

impl From<KeyFileError> for spki::Error {
    fn from(error: KeyFileError) -> Self {
        match error {
            KeyFileError::Der(error) => Self::Asn1(error),
            KeyFileError::Algorithm { found } => Self::OidUnknown { oid: found },
            KeyFileError::Parameters => Self::AlgorithmParametersMissing,
            _ => Self::KeyMalformed,
        }
    }
}

impl From<KeyFileError> for pkcs8::Error {
    fn from(error: KeyFileError) -> Self {
        match error {
            KeyFileError::Der(error) => Self::Asn1(error),
            KeyFileError::Algorithm { .. } | KeyFileError::Parameters => Self::PublicKey(error.into()),
            KeyFileError::ModulusLength { found: ..2048 } => Self::KeyMalformed(KeyError::TooShort),
            KeyFileError::ModulusLength { found: 4097.. } => Self::KeyMalformed(KeyError::TooLong),
            _ => Self::KeyMalformed(KeyError::Invalid),
        }
    }
}
