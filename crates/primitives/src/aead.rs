//! Authenticated encryption with associated data: AES-128-GCM and AES-256-GCM (SP 800-38D), SM4-GCM and SM4-CCM (RFC 8998),
//! ChaCha20-Poly1305 (RFC 8439) and XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
//!
//! Most programs want [`RandomNonce`], which draws a nonce for each message, puts it in front, and counts:
//!
//! ```
//! # #[cfg(feature = "getrandom")] {
//! use candor_primitives::aead::{Aes256Gcm, RandomNonce};
//!
//! let cipher = RandomNonce::new(Aes256Gcm::new(&[7; 32]));
//! let sealed = cipher.seal(b"header", b"message")?;
//! assert_eq!(cipher.open(b"header", &sealed)?, b"message");
//! assert!(cipher.open(b"another header", &sealed).is_err());
//! # }
//! # Ok::<(), candor_primitives::aead::AeadError>(())
//! ```
//!
//! The raw types take the nonce from a protocol that numbers its messages. **A nonce must never serve two messages under one key**: with GCM
//! and Poly1305 the second message gives away the key of the authenticator, and the xor of both plaintexts.
//!
//! ```
//! use candor_primitives::aead::Aes256Gcm;
//!
//! let cipher = Aes256Gcm::new(&[7; 32]);
//! let mut data = *b"message";
//! let tag = cipher.seal_in_place(&[0; 12], b"header", &mut data)?;
//! cipher.open_in_place(&[0; 12], b"header", &mut data, &tag)?;
//! assert_eq!(&data, b"message");
//! # Ok::<(), candor_primitives::aead::AeadError>(())
//! ```
//!
//! All types implement the traits of crate `aead` 0.6, so they replace those of `aes-gcm` and `chacha20poly1305`.
//!
//! # When opening fails
//!
//! The tag is compared in constant time. If it is wrong, the buffer is filled with zeros before the error is returned: it holds no plaintext,
//! and no ciphertext either.
//!
//! # Limits
//!
//! | | longest message | longest associated data | messages under one key |
//! |---|---|---|---|
//! | GCM | 2^36 − 32 bytes | 2^61 − 1 bytes | random nonces: 2^32 (SP 800-38D §8.3) |
//! | SM4-CCM | 2^24 − 1 bytes | no limit | random nonces: 2^32 |
//! | ChaCha20-Poly1305 | 2^38 − 64 bytes | 2^64 − 1 bytes | random nonces: 2^32 |
//! | XChaCha20-Poly1305 | 2^38 − 64 bytes | 2^64 − 1 bytes | random nonces: no limit in practice |
//!
//! Lengths are checked by every call. The number of messages is counted by [`RandomNonce`]; whoever chooses nonces counts them anyway.

mod chacha20_poly1305;
mod chacha20_poly1305_mux;
mod chacha20_portable;
mod gcm;
mod gcm_mux;
mod gcm_portable;
mod interface;
mod random_nonce;
#[cfg(test)]
pub(crate) mod reference;
mod sm4;
mod sm4_mux;

pub use ::aead::{Aead, AeadCore, AeadInOut, Buffer, Key, KeyInit, KeySizeUser, Nonce, Payload, Tag, inout};
pub use chacha20_poly1305::{ChaCha20Poly1305, XChaCha20Poly1305};
pub use gcm::{Aes128Gcm, Aes256Gcm};
pub use random_nonce::{RandomNonce, RandomNonceAead};
pub use sm4::{Sm4Ccm, Sm4Gcm};

use core::fmt;

/// Why a message was not sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AeadError {
    /// The tag does not belong to this ciphertext, nonce, associated data and key: one of them was changed or mixed up.
    Tag,
    /// The message is longer than the algorithm allows.
    MessageTooLong {
        /// The most bytes that the algorithm allows.
        most: u64,
    },
    /// The associated data is longer than the algorithm allows.
    AssociatedDataTooLong {
        /// The most bytes that the algorithm allows.
        most: u64,
    },
    /// A sealed message is shorter than its nonce and tag.
    TooShort {
        /// The length of a sealed empty message.
        least: usize,
        /// The length that was given.
        got: usize,
    },
    /// As many messages were sealed under this key as random nonces allow.
    KeyUsedUp,
    /// The operating system gave no randomness, or the crate was built without the feature `getrandom`.
    Randomness,
}

impl fmt::Display for AeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag => {
                f.write_str("authentication failed: wrong key or nonce, or the message was changed on its way")
            }
            Self::MessageTooLong { most } => {
                write!(f, "message is too long; split it into pieces of at most {most} bytes")
            }
            Self::AssociatedDataTooLong { most } => {
                write!(f, "associated data is too long; expected at most {most} bytes")
            }
            Self::TooShort { least, got } => write!(f, "sealed message is {got} bytes long; expected at least {least}"),
            Self::KeyUsedUp => {
                f.write_str("this key has sealed as many messages as random nonces allow; make a new key")
            }
            Self::Randomness => f.write_str(crate::random::MISSING),
        }
    }
}

impl core::error::Error for AeadError {}

/// Bytes of a tag.
const TAG: usize = 16;

/// Whether the tags are equal, in constant time. The answer is public.
fn matches(expected: &[u8; TAG], tag: &[u8; TAG], why: &'static str) -> bool {
    use subtle::ConstantTimeEq;
    candor_cpu::secret::declassified(expected.ct_eq(tag).unwrap_u8(), why) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_up_to_the_limits_are_taken_and_longer_ones_refused() {
        let gcm = (1 << 36) - 32;
        assert_eq!(Aes128Gcm::check_lengths((1 << 61) - 1, gcm), Ok(()));
        assert_eq!(Aes256Gcm::check_lengths(0, gcm + 1), Err(AeadError::MessageTooLong { most: gcm }));
        let most = (1 << 61) - 1;
        assert_eq!(Aes256Gcm::check_lengths(1 << 61, 0), Err(AeadError::AssociatedDataTooLong { most }));
        let chacha = (1 << 38) - 64;
        assert_eq!(ChaCha20Poly1305::check_lengths(u64::MAX, chacha), Ok(()));
        assert_eq!(XChaCha20Poly1305::check_lengths(0, chacha + 1), Err(AeadError::MessageTooLong { most: chacha }));
        assert_eq!(Sm4Gcm::check_lengths(most, gcm), Ok(()));
        assert_eq!(Sm4Gcm::check_lengths(0, gcm + 1), Err(AeadError::MessageTooLong { most: gcm }));
        assert_eq!(Sm4Gcm::check_lengths(most + 1, 0), Err(AeadError::AssociatedDataTooLong { most }));
        let ccm = (1 << 24) - 1;
        assert_eq!(Sm4Ccm::check_lengths(u64::MAX, ccm), Ok(()));
        assert_eq!(Sm4Ccm::check_lengths(0, ccm + 1), Err(AeadError::MessageTooLong { most: ccm }));
    }
}
