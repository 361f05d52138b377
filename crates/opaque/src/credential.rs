//! The identifiers under which the server derives OPRF keys.

use crate::Error;
use crate::error::{Input, expect_short};
use alloc::vec::Vec;
use candor_primitives::hash::{Digest, Sha512};
use rand_core::CryptoRng;

/// The credential identifier of RFC 9807: the account's OPRF key is derived from it.
///
/// [`Server::register`](crate::Server::register) mints one for each registration: 32 random bytes, stored in the
/// [`Record`](crate::Record). So nobody can have a password evaluated under the key of an account that exists, except by a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialId(Vec<u8>);

impl CredentialId {
    /// Bytes of a minted identifier.
    pub const LENGTH: usize = 32;

    /// The identifier of an account that another implementation registered, often its user name.
    ///
    /// # Errors
    /// [`Error::TooLong`] if it is longer than 65535 bytes.
    // ct: public, because it is the name of an account's record
    pub fn imported(bytes: &[u8]) -> Result<Self, Error> {
        expect_short(Input::CredentialId, bytes)?;
        Ok(Self(bytes.to_vec()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What binds a login to its account.
    pub fn hash(&self) -> CredentialHash {
        let hash = Sha512::new().chain_update(b"candor-opaque-1: credential").chain_update(&self.0).finalize();
        CredentialHash(hash.first_chunk().copied().unwrap_or_default())
    }

    /// A fresh identifier. Takes 32 bytes from `rng`.
    pub(crate) fn mint(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut id = [0; Self::LENGTH];
        rng.fill_bytes(&mut id);
        Self(id.to_vec())
    }
}

/// A hash of a [`CredentialId`]: says which registration of which account something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CredentialHash([u8; Self::LENGTH]);

impl CredentialHash {
    /// Bytes of the hash.
    pub const LENGTH: usize = 32;

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8; Self::LENGTH]) -> Self {
        Self(*bytes)
    }
}
