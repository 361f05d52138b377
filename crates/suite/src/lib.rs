//! The primitive suite for programs that learn at run time which algorithm they need: from a flag, a file, or a caller in another language.
//!
//! | module | what |
//! |---|---|
//! | [`hash`], [`mac`], [`aead`] | an algorithm by its name, and its state |
//! | [`key`] | keys of every kind: made, read as bytes, used |
//! | [`key_file`] | the same keys as PEM and DER, as OpenSSL has them |
//! | [`signing`] | signatures of messages that come in pieces |
//! | [`container`] | an encrypted file, piece by piece; its format is in `docs/container.md` |
//! | [`checksum`] | lines of `sha256sum`, read and written |
//!
//! Nothing here opens a file. `candor`'s commands and the C interface stand on it.
#![forbid(unsafe_code)]

// From below: error; hash, mac, aead; rsa; key; key_file, signing, container; checksum stands on hash alone.

pub mod aead;
pub mod checksum;
pub mod container;
pub mod hash;
pub mod key;
pub mod key_file;
pub mod mac;
pub mod signing;

mod error;
mod rsa;

pub use candor_primitives::stack;
pub use error::Error;

/// The errors of the families, which [`Error`] passes on.
pub mod causes {
    pub use candor_primitives::aead::AeadError;
    pub use candor_primitives::dh::DhError;
    pub use candor_primitives::ec::EcError;
    pub use candor_primitives::ed25519::Ed25519Error;
    pub use candor_primitives::kem::KemError;
    pub use candor_primitives::rsa::RsaError;
    pub use candor_primitives::sm2::Sm2Error;
}
