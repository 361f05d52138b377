//! An encrypted file: a header that gives a key to whoever may have it, and chunks under that key. `docs/container.md` has the format and its reasons.
//!
//! [`Sealer`] and [`Opener`] take a message in pieces of any length and give out whole chunks. An opener gives out nothing that is not authenticated,
//! but only [`Opener::finish`] knows that the message is complete: **what came before may be the beginning of a message that was cut short.**
//!
//! ```
//! use candor_suite::container::{ContainerCipher, Header, Opener, Sealer};
//! use candor_suite::key::{KeyKind, SecretKey};
//!
//! let secret = SecretKey::generate(KeyKind::MlKem768)?;
//! let mut sealed = Vec::new();
//! let mut sealer = Sealer::to_key(&secret.public_key()?, ContainerCipher::Aes256Gcm, &mut sealed)?;
//! sealer.push(b"a message", &mut sealed)?;
//! sealer.finish(&mut sealed)?;
//!
//! let length = Header::length(&sealed)?;
//! let header = Header::parse(&sealed[..length])?;
//! let mut opened = Vec::new();
//! let mut opener = Opener::with_key(&header, &secret)?;
//! opener.push(&sealed[length..], &mut opened)?;
//! opener.finish(&mut opened)?;
//! assert_eq!(opened, b"a message");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunks;
mod cost;
mod header;
mod recipient;

pub use chunks::{CHUNK, Opener, Sealer};
pub use cost::Cost;
pub use header::{ContainerCipher, Header, PREFIX};
pub use recipient::Recipient;

use crate::Error;

/// What keys and ciphertexts of containers are for: in HKDF's info, and OAEP's label, so that what a header holds is no ciphertext of `PublicKey::encrypt`.
const LABEL: &[u8] = b"candor container v1";

/// Why a container can't be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContainerError {
    /// The first bytes are those of another kind of file.
    #[error("not a file that candor has encrypted: it does not begin with `candor container`")]
    Magic,
    /// A later version, another recipient, cipher or size of chunks.
    #[error("container has {what} {got}, which this version of candor does not know")]
    Unknown {
        /// What it is a number of.
        what: &'static str,
        /// The number.
        got: u8,
    },
    /// The file ends within its header, or a header was given that is longer than it says.
    #[error("container's header is {got} bytes long; expected {expected}")]
    HeaderLength {
        /// The length that the header says it has.
        expected: usize,
        /// The length that was given.
        got: usize,
    },
    /// The password's cost is out of bounds.
    #[error(
        "container asks for Argon2id with {memory} KiB, {passes} passes and {lanes} lanes; allowed are at least 8 KiB for each lane and at most {} KiB in all, {} passes and {} lanes",
        Cost::MOST_MEMORY,
        Cost::MOST_PASSES,
        Cost::MOST_LANES
    )]
    Cost {
        /// Memory in KiB.
        memory: u32,
        /// Passes over it.
        passes: u32,
        /// Lanes in it.
        lanes: u32,
    },
    /// Encrypted to a key, and a password was given; or the other way round; or to another kind of key.
    #[error("container was encrypted to {expected}; {got} was given")]
    OtherRecipient {
        /// What opens it.
        expected: &'static str,
        /// What was given.
        got: &'static str,
    },
    /// The key or password is another, or the header was changed.
    #[error("this key or password does not open the container, or its header was changed")]
    WrongKey,
    /// A chunk is not what was written there. The last chunk is also this if it ends too early.
    #[error("container was changed or cut short: chunk {chunk} is not authentic")]
    Changed {
        /// The number of the chunk, from 0.
        chunk: u64,
    },
    /// The container ends before its last chunk.
    #[error("container was cut short: it ends before chunk {chunks}")]
    Truncated {
        /// How many chunks are there, of which none is the last.
        chunks: u64,
    },
    /// More than 2^32 chunks.
    #[error("message is longer than 256 TiB, the most that a container holds")]
    TooLong,
    /// No memory for Argon2id.
    #[error("{0}")]
    Memory(String),
    /// No randomness from the operating system.
    #[error("no randomness from the operating system")]
    Randomness,
    /// Other errors of keys.
    #[error(transparent)]
    Key(#[from] Error),
}
