//! The layout of the messages, in bytes (RFC 9807 §4 to §6), and how they are taken apart.
//!
//! ```text
//! registration request    blinded element 32
//! registration response   evaluated element 32 | server's public key 32
//! registration upload     client's public key 32 | masking key 64 | envelope 96
//! KE1   blinded element 32 | nonce 32 | key share 32 [| encapsulation key] [| ciphertext to the server's static key]
//! KE2   evaluated element 32 | masking nonce 32 | masked response 128 | nonce 32 | key share 32 | MAC 64 [| ciphertext]
//! KE3   MAC 64
//! ```

use crate::Error;
use crate::error::Input;
use crate::group::ELEMENT;
use crate::kdf::HASH;
use crate::lengths::{ENVELOPE, KE1, MAC, MASKED, NONCE, RESPONSE, UPLOAD};
use crate::suite::{Slot, Suite};

/// KE1 in its parts.
pub(crate) struct Ke1<'a> {
    pub(crate) all: &'a [u8],
    /// The part that is RFC 9807's.
    pub(crate) rfc: &'a [u8; KE1],
    pub(crate) blinded: &'a [u8; ELEMENT],
    pub(crate) share: &'a [u8; ELEMENT],
    pub(crate) encapsulation_key: &'a [u8],
    pub(crate) static_ciphertext: &'a [u8],
}

impl<'a> Ke1<'a> {
    /// # Errors
    /// [`Error::Length`].
    pub(crate) fn parse<S: Suite>(all: &'a [u8]) -> Result<Self, Error> {
        let wrong = Error::Length { what: Input::Ke1, expected: S::KE1, got: all.len() };
        if all.len() != S::KE1 {
            return Err(wrong);
        }
        let (rfc, rest) = all.split_first_chunk().ok_or(wrong)?;
        let (blinded, shares) = rfc.split_first_chunk().ok_or(wrong)?;
        let (_nonce, share) = shares.split_last_chunk().ok_or(wrong)?;
        let (encapsulation_key, static_ciphertext) = rest.split_at(S::Ephemeral::PUBLIC);
        Ok(Self { all, rfc, blinded, share, encapsulation_key, static_ciphertext })
    }
}

/// KE2 in its parts.
pub(crate) struct Ke2<'a> {
    pub(crate) response: &'a [u8; RESPONSE],
    pub(crate) nonce: &'a [u8; NONCE],
    pub(crate) share: &'a [u8; ELEMENT],
    pub(crate) mac: &'a [u8; MAC],
    pub(crate) ciphertext: &'a [u8],
}

impl<'a> Ke2<'a> {
    /// # Errors
    /// [`Error::Length`].
    pub(crate) fn parse<S: Suite>(all: &'a [u8]) -> Result<Self, Error> {
        let wrong = Error::Length { what: Input::Ke2, expected: S::KE2, got: all.len() };
        if all.len() != S::KE2 {
            return Err(wrong);
        }
        let (response, rest) = all.split_first_chunk().ok_or(wrong)?;
        let (nonce, rest) = rest.split_first_chunk().ok_or(wrong)?;
        let (share, rest) = rest.split_first_chunk().ok_or(wrong)?;
        let (mac, ciphertext) = rest.split_first_chunk().ok_or(wrong)?;
        Ok(Self { response, nonce, share, mac, ciphertext })
    }
}

/// The credential response in its parts.
pub(crate) struct Response<'a> {
    pub(crate) evaluated: &'a [u8; ELEMENT],
    pub(crate) masking_nonce: &'a [u8; NONCE],
    pub(crate) masked: &'a [u8; MASKED],
}

impl<'a> Response<'a> {
    pub(crate) fn parts(all: &'a [u8; RESPONSE]) -> Self {
        let (evaluated, rest) = split(all);
        let (masking_nonce, masked) = split(rest);
        Self { evaluated, masking_nonce, masked: masked.try_into().expect("the lengths add up") }
    }
}

/// A registration upload in its parts.
pub(crate) struct Upload<'a> {
    pub(crate) client_public: &'a [u8; ELEMENT],
    pub(crate) masking_key: &'a [u8; HASH],
    pub(crate) envelope: &'a [u8; ENVELOPE],
}

impl<'a> Upload<'a> {
    pub(crate) fn parts(all: &'a [u8; UPLOAD]) -> Self {
        let (client_public, rest) = split(all);
        let (masking_key, envelope) = split(rest);
        Self { client_public, masking_key, envelope: envelope.try_into().expect("the lengths add up") }
    }
}

/// The first `N` bytes and the rest; for arrays of which we know that they are long enough.
fn split<const N: usize>(bytes: &[u8]) -> (&[u8; N], &[u8]) {
    bytes.split_first_chunk().expect("the lengths add up")
}
