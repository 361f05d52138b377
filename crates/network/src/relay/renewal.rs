//! Keys and certificates that are renewed while the relay runs.
//!
//! Link certificates hold for 30 days and are made anew every day; links that stand are not touched. Onion keys are listed for four weeks
//! and then accepted for one more, so that clients with an older relay list have a week to learn the new line. The relay writes its key
//! file first, then accepts the new keys, and only then lists them: whatever fails on the way, no listed key is one that it doesn't have.

use super::Shared;
use super::journal::RelayEvent;
use crate::keys::{RelayKeys, Renewal};
use crate::link::locked;
use crate::policy::Policy;
use crate::relay_list::ListedRelay;
use crate::tls::Acceptor;
use crate::{Error, clock, files};
use candor_onion::circuit::OnionKeys;
use candor_onion::handshake::HandshakeType;
use candor_onion::link::RelayIdentity;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long to wait after a renewal has failed.
const RETRY: Duration = Duration::from_secs(60);

/// What a relay shows on its links.
pub(super) struct Credentials {
    pub(super) identity: RelayIdentity,
    pub(super) acceptor: Acceptor,
    made: u64,
}

/// A relay's keys, and what is made of them.
pub(super) struct Keyring {
    renewal: Renewal,
    name: Option<String>,
    address: SocketAddr,
    handshakes: Vec<HandshakeType>,
    policy: Policy,
    entry: Option<PathBuf>,
    state: Mutex<State>,
    /// Held while keys are being renewed, which takes a while: they are written to disk.
    renewing: Mutex<()>,
}

struct State {
    keys: RelayKeys,
    credentials: Arc<Credentials>,
    listed: Arc<ListedRelay>,
    /// The entry is not written yet.
    unwritten: bool,
    /// After a failure.
    not_before: Option<Instant>,
}

impl Keyring {
    /// With what is due at `now` renewed, and the entry written. The onion keys to be used stand beside it.
    pub(super) fn new(
        keys: &RelayKeys,
        name: Option<String>,
        address: SocketAddr,
        handshakes: Vec<HandshakeType>,
        policy: Policy,
        entry: Option<PathBuf>,
        renewal: Renewal,
        now: u64,
    ) -> Result<(Self, OnionKeys), Error> {
        let keys = if keys.is_due(now, &renewal) { keys.renewed(now, &renewal)?.0 } else { keys.clone() };
        let onion_keys = keys.onion_keys(&handshakes)?;
        let listed = Arc::new(keys.listed(name.clone(), address, &handshakes)?.with_exit(&policy));
        let credentials = Arc::new(Credentials::new(&keys, now)?);
        let state = Mutex::new(State { keys, credentials, listed, unwritten: true, not_before: None });
        let keyring = Self { renewal, name, address, handshakes, policy, entry, state, renewing: Mutex::default() };
        keyring.write_entry()?;
        Ok((keyring, onion_keys))
    }

    pub(super) fn listed(&self) -> Arc<ListedRelay> {
        Arc::clone(&locked(&self.state).listed)
    }

    /// What to show on links; made anew if it is old.
    pub(super) fn credentials(&self, now: u64) -> Result<Arc<Credentials>, Error> {
        let mut state = locked(&self.state);
        if state.credentials.is_due(now, self.renewal.links) {
            state.credentials = Arc::new(Credentials::new(&state.keys, now)?);
        }
        Ok(Arc::clone(&state.credentials))
    }

    fn is_due(&self, now: u64) -> bool {
        let state = locked(&self.state);
        (state.unwritten || state.keys.is_due(now, &self.renewal))
            && state.not_before.is_none_or(|instant| instant <= clock::instant())
    }

    /// Renews onion keys that are due; `accept` puts them to use. Whether there are new ones.
    fn renew(&self, now: u64, accept: impl FnOnce(OnionKeys)) -> Result<bool, Error> {
        let _alone = locked(&self.renewing);
        let old = locked(&self.state).keys.clone();
        let mut is_new = false;
        if old.is_due(now, &self.renewal) {
            let keys;
            (keys, is_new) = old.renewed(now, &self.renewal)?;
            let listed =
                Arc::new(keys.listed(self.name.clone(), self.address, &self.handshakes)?.with_exit(&self.policy));
            accept(keys.onion_keys(&self.handshakes)?);
            let mut state = locked(&self.state);
            state.keys = keys;
            state.listed = listed;
            state.unwritten |= is_new;
        }
        self.write_entry()?;
        Ok(is_new)
    }

    fn failed(&self) {
        locked(&self.state).not_before = Some(clock::instant() + RETRY);
    }

    fn write_entry(&self) -> Result<(), Error> {
        let (unwritten, listed) = {
            let state = locked(&self.state);
            (state.unwritten, Arc::clone(&state.listed))
        };
        if let Some(path) = self.entry.as_ref().filter(|_| unwritten) {
            files::replace(path, &format!("{}\n", listed.to_line()), 0o644)?;
        }
        locked(&self.state).unwritten = false;
        Ok(())
    }
}

impl Credentials {
    fn new(keys: &RelayKeys, now: u64) -> Result<Self, Error> {
        Ok(Self { identity: keys.link_identity(now)?, acceptor: Acceptor::new()?, made: now })
    }

    /// Too old, or from a future that a wrong clock has shown.
    fn is_due(&self, now: u64, after: Duration) -> bool {
        self.made.saturating_add(after.as_secs()) <= now || self.made > now.saturating_add(DAY.as_secs())
    }
}

impl Shared {
    /// What to show on links.
    pub(super) fn credentials(&self) -> Result<Arc<Credentials>, Error> {
        self.keyring.credentials(self.clock.now())
    }
}

/// Renews what is due, on a thread that may wait for the disk.
pub(super) async fn keep_fresh(relay: &Arc<Shared>) {
    let now = relay.clock.now();
    if !relay.keyring.is_due(now) {
        return;
    }
    let shared = Arc::clone(relay);
    let work = move || {
        let renewed = shared.keyring.renew(now, |keys| shared.pool.replace(keys));
        match renewed {
            Ok(true) => shared.journal.tell(&RelayEvent::KeysRenewed),
            Ok(false) => {}
            Err(error) => {
                shared.keyring.failed();
                shared.journal.tell(&RelayEvent::RenewalFailed { why: error.to_string() });
            }
        }
    };
    // It fails only if it panics, and then the old keys stay.
    let _ = tokio::task::spawn_blocking(work).await;
}
