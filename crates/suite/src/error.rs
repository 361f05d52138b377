//! The errors of all operations but those of containers, which have their own.

use candor_primitives::aead::AeadError;
use candor_primitives::dh::DhError;
use candor_primitives::ec::EcError;
use candor_primitives::ed25519::Ed25519Error;
use candor_primitives::kem::KemError;
use candor_primitives::rsa::RsaError;
use candor_primitives::sm2::Sm2Error;

/// Why an operation failed. No message holds anything secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input or a buffer has the wrong length.
    #[error("{what} is {got} bytes long; expected {expected}")]
    Length {
        /// What is too short or too long.
        what: &'static str,
        /// The length that the algorithm has.
        expected: usize,
        /// The length that was given.
        got: usize,
    },
    /// A key has a length outside the range that the algorithm takes.
    #[error("key is {got} bytes long; {algorithm} takes {least} to {most}")]
    KeyLength {
        /// The algorithm.
        algorithm: &'static str,
        /// The shortest key.
        least: usize,
        /// The longest key.
        most: usize,
        /// The length that was given.
        got: usize,
    },
    /// The message is longer than this algorithm can take in pieces.
    #[error(
        "message is longer than {most} bytes, the most that {kind} signs here: it needs the whole message in memory"
    )]
    MessageTooLong {
        /// The kind of key.
        kind: &'static str,
        /// The most bytes.
        most: usize,
    },
    /// There is not enough memory for a message that is needed whole.
    #[error("not enough memory for the whole message")]
    Memory,
    /// The key can't do that.
    #[error("{kind} keys do not {what}")]
    Unsuitable {
        /// The kind of key.
        kind: &'static str,
        /// What was asked for, as a verb.
        what: &'static str,
    },
    /// Two keys of different kinds.
    #[error("keys are of different kinds: {ours} and {theirs}")]
    KindsDiffer {
        /// The kind of the secret key.
        ours: &'static str,
        /// The kind of the public key.
        theirs: &'static str,
    },
    /// The signature does not belong to this key and message.
    #[error("signature does not match this key and message")]
    Signature,
    /// The code of a message does not belong to this key and message.
    #[error("code does not match this key and message")]
    Mac,
    /// A key file is not one.
    #[error("{0}")]
    KeyFile(String),
    /// An error of an AEAD.
    #[error(transparent)]
    Aead(#[from] AeadError),
    /// An error of a curve's key.
    #[error(transparent)]
    Ec(EcError),
    /// An error of SM2.
    #[error(transparent)]
    Sm2(Sm2Error),
    /// An error of Ed25519.
    #[error(transparent)]
    Ed25519(Ed25519Error),
    /// An error of X25519.
    #[error(transparent)]
    Dh(#[from] DhError),
    /// An error of RSA.
    #[error("{0}")]
    Rsa(RsaError),
    /// An error of ML-KEM.
    #[error(transparent)]
    Kem(#[from] KemError),
}

impl From<EcError> for Error {
    fn from(error: EcError) -> Self {
        match error {
            EcError::Signature | EcError::SignatureForm => Self::Signature,
            other => Self::Ec(other),
        }
    }
}

impl From<RsaError> for Error {
    fn from(error: RsaError) -> Self {
        match error {
            RsaError::Signature => Self::Signature,
            other => Self::Rsa(other),
        }
    }
}

impl From<Sm2Error> for Error {
    fn from(error: Sm2Error) -> Self {
        match error {
            Sm2Error::Signature | Sm2Error::SignatureForm => Self::Signature,
            other => Self::Sm2(other),
        }
    }
}

impl From<Ed25519Error> for Error {
    fn from(error: Ed25519Error) -> Self {
        match error {
            Ed25519Error::Signature | Ed25519Error::SignatureForm => Self::Signature,
            other => Self::Ed25519(other),
        }
    }
}

/// An error unless there are as many bytes as expected.
pub(crate) fn expect_length(what: &'static str, expected: usize, got: usize) -> Result<(), Error> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}

/// An array of exactly this length.
pub(crate) fn exactly<'a, const N: usize>(what: &'static str, bytes: &'a [u8]) -> Result<&'a [u8; N], Error> {
    bytes.try_into().map_err(|_| Error::Length { what, expected: N, got: bytes.len() })
}
