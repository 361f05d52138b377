//! Refresh tokens: each says which session it belongs to, and proves that this deployment issued it.
//!
//! ```text
//! refresh token = session 16 ∣ random 16 ∣ tag 16        tag = the first bytes of HMAC-SHA-256( key, session ∣ random )
//! ```
//!
//! So every token that was ever issued is known for what it is, and the database keeps only the hash of each session's current one. Any other token of the session
//! was exchanged before: it ends the session, since nobody knows whether its owner or a thief came first.

use crate::ids::{NoRandomness, Purpose, SessionId, TokenHash, random};
use crate::master::MasterKey;
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of a refresh token.
pub const REFRESH: usize = TAGGED + TAG;
const TAGGED: usize = 16 + 16;
const TAG: usize = 16;

/// What authenticates the refresh tokens of a deployment.
#[derive(Clone)]
pub struct RefreshKey(HmacSha256);

/// A refresh token that this deployment has issued: its session, and the token's hash. Only [`RefreshKey`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct IssuedRefresh {
    session: SessionId,
    hash: TokenHash,
}

impl RefreshKey {
    /// The key of the deployment with this master key.
    #[must_use]
    pub fn new(master: &MasterKey) -> Self {
        let key = master.derive("refresh tokens");
        Self(<HmacSha256 as KeyInit>::new_from_slice(key.as_slice()).expect("HMAC takes keys of any length"))
    }

    /// A fresh token of a session.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn issue(&self, session: SessionId) -> Result<Zeroizing<[u8; REFRESH]>, NoRandomness> {
        let mut token = Zeroizing::new([0; REFRESH]);
        let (tagged, tag) = token.split_at_mut(TAGGED);
        tagged[..16].copy_from_slice(&session.0);
        tagged[16..].copy_from_slice(&random::<16>()?);
        tag.copy_from_slice(&self.0.clone().chain_update(tagged).finalize().into_bytes()[..TAG]);
        Ok(token)
    }

    /// What a token is, if this deployment has issued it.
    #[must_use]
    pub fn read(&self, token: &[u8; REFRESH]) -> Option<IssuedRefresh> {
        let (tagged, tag) = token.split_at(TAGGED);
        self.0.clone().chain_update(tagged).verify_truncated_left(tag).ok()?;
        let session = SessionId(*token.first_chunk()?);
        Some(IssuedRefresh { session, hash: TokenHash::of(Purpose::Refresh, token) })
    }
}

impl fmt::Debug for RefreshKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshKey(..)")
    }
}

impl IssuedRefresh {
    /// The session that it was issued for.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The hash of the token.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_is_read_by_its_own_deployment_as_it_was_issued() {
        let [ours, other] = [1, 2].map(|byte| RefreshKey::new(&MasterKey::from_bytes([byte; 32])));
        let session = SessionId([7; 16]);
        let token = ours.issue(session).unwrap();
        let read = ours.read(&token).unwrap();
        assert_eq!((read.session(), read.hash()), (session, TokenHash::of(Purpose::Refresh, token.as_slice())));
        assert!(other.read(&token).is_none());
        for bit in 0..8 * REFRESH {
            let mut changed = token.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(ours.read(&changed).is_none(), "bit {bit}");
        }
        assert_ne!(*token, *ours.issue(session).unwrap());
    }
}
