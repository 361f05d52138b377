//! Sessions: random tokens, of which the database has hashes.
//!
//! The access token opens requests for some minutes. The [refresh token](crate::refresh) gets a new pair, once. A session ends at the latest when its lifetime is over, however
//! often it is refreshed.

use crate::config::Config;
use crate::ids::{NoRandomness, Purpose, SessionId, TokenHash, random};
use crate::refresh::{REFRESH, RefreshKey};
use crate::store::{NewDevice, NewSession, Refresh, Scope};
use crate::time::UnixTime;
use base64ct::{Base64UrlUnpadded, Encoding};
use std::time::Duration;
use zeroize::Zeroizing;

/// Bytes of an access token.
pub(crate) const ACCESS: usize = 32;
/// How long a session from a recovery code is good for, in seconds.
pub(crate) const RECOVERY: i64 = 15 * 60;

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
