//! The identifiers under which the server derives OPRF keys.

use crate::Error;
use crate::error::{Input, expect_short};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The credential identifier of RFC 9807: the account's OPRF key is derived from it.
///
/// [`Server::register`](crate::Server::register) mints one for each registration: 32 random bytes, stored in the
/// [`Record`](crate::Record). So nobody can have a password evaluated under the key of an account that exists, except by a login.
///
/// It is wiped on drop and never printed: whoever has the server's keys needs it to try passwords.
#[derive(Clone, PartialEq, Eq)]
pub struct CredentialId(Zeroizing<Vec<u8>>);

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
        Ok(Self(Zeroizing::new(bytes.to_vec())))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A fresh identifier. Takes 32 bytes from `rng`.
    pub(crate) fn mint(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut id = Zeroizing::new(vec![0; Self::LENGTH]);
        rng.fill_bytes(&mut id);
        Self(id)
    }
}

impl fmt::Debug for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialId(..)")
    }
}

/// Says which registration of which account something belongs to: a hash of the credential identifier and the client's public key, which is
/// fresh in each registration, also where an imported identifier stays the same. [`Record::credential_hash`](crate::Record::credential_hash)
/// gives it.
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
