//! The end of a login for the server.

use crate::SessionKey;
use crate::credential::CredentialHash;
use crate::suite::SuiteId;
use core::fmt;

/// Proof that the client of an account has just logged in; only [`ServerLogin::finish`](super::ServerLogin::finish) makes one.
///
/// An account registers again with it ([`Server::register_again`](super::Server::register_again)). It can't be saved: to change the
/// password later, the user logs in again, as one should before a change of password.
pub struct Session {
    /// Shared with the client.
    pub session_key: SessionKey,
    credential: CredentialHash,
    minimum: SuiteId,
}

impl Session {
    pub(super) fn new(session_key: SessionKey, credential: CredentialHash, minimum: SuiteId) -> Self {
        Self { session_key, credential, minimum }
    }

    /// Names the record that the client logged in with.
    pub fn credential(&self) -> &CredentialHash {
        &self.credential
    }

    /// The record's minimum, which the next one keeps.
    pub(super) fn minimum(&self) -> SuiteId {
        self.minimum
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session(..)")
    }
}
