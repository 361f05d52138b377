//! Sessions: random tokens, of which the database has hashes.
//!
//! The access token opens requests for some minutes. The refresh token gets a new pair, once. It says which session it belongs to and proves that this deployment
//! issued it:
//!
//! ```text
//! refresh token = session 16 ∣ random 16 ∣ tag 16        tag = the first bytes of HMAC-SHA-256( key, session ∣ random )
//! ```
//!
//! So every token that was ever issued is known for what it is, and the database keeps only the hash of each session's current one. Any other token of the session
//! was exchanged before: it ends the session, since nobody knows whether its owner or a thief came first. A session ends at the latest when its lifetime is over, however
//! often it is refreshed.

use crate::config::Config;
use crate::ids::{NoRandomness, Purpose, SessionId, TokenHash, random};
use crate::master::MasterKey;
use crate::store::{NewDevice, NewSession, Refresh, Scope};
use crate::time::UnixTime;
use base64ct::{Base64UrlUnpadded, Encoding};
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use std::fmt;
use std::time::Duration;
use zeroize::Zeroizing;

/// Bytes of an access token.
pub(crate) const ACCESS: usize = 32;
/// Bytes of a refresh token.
pub const REFRESH: usize = TAGGED + TAG;
const TAGGED: usize = 16 + 16;
const TAG: usize = 16;
/// How long a session from a recovery code is good for, in seconds.
pub(crate) const RECOVERY: i64 = 15 * 60;

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

/// A fresh pair of tokens, and how long they are valid.
pub(crate) struct Tokens {
    pub(crate) session: SessionId,
    pub(crate) access: Zeroizing<[u8; ACCESS]>,
    pub(crate) refresh: Zeroizing<[u8; REFRESH]>,
    access_until: UnixTime,
    ends: UnixTime,
}

impl Tokens {
    pub(crate) fn fresh(
        key: &RefreshKey,
        session: SessionId,
        config: &Config,
        scope: Scope,
        now: UnixTime,
    ) -> Result<Self, NoRandomness> {
        let (access, lifetime) = match scope {
            Scope::Full => (seconds(config.access_lifetime), seconds(config.session_lifetime)),
            Scope::Recovery => (RECOVERY, RECOVERY),
        };
        Ok(Self {
            session,
            access: Zeroizing::new(random()?),
            refresh: key.issue(session)?,
            access_until: now.plus(access.min(lifetime)),
            ends: now.plus(lifetime),
        })
    }

    /// What the database keeps of a session with these tokens.
    pub(crate) fn stored(&self, scope: Scope, label: String, device: Option<NewDevice>) -> NewSession {
        let Refresh { access, access_until, refresh } = self.refreshed();
        NewSession { id: self.session, scope, access, access_until, refresh, ends: self.ends, label, device }
    }

    /// What the database keeps of a session whose tokens these replace.
    pub(crate) fn refreshed(&self) -> Refresh {
        Refresh {
            access: TokenHash::of(Purpose::Access, self.access.as_slice()),
            access_until: self.access_until,
            refresh: TokenHash::of(Purpose::Refresh, self.refresh.as_slice()),
        }
    }

    /// When the session ends.
    pub(crate) fn ends(&self) -> UnixTime {
        self.ends
    }

    /// When the access token expires.
    pub(crate) fn access_until(&self) -> UnixTime {
        self.access_until
    }
}

/// A fresh registration token, as it is handed out: 24 random bytes in base64url. The database gets the [hash](TokenHash::of) of this text.
///
/// # Errors
/// If the operating system gives no random bytes.
pub fn registration_token() -> Result<Zeroizing<String>, NoRandomness> {
    let bytes = Zeroizing::new(random::<24>()?);
    Ok(Zeroizing::new(Base64UrlUnpadded::encode_string(bytes.as_slice())))
}

fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
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
