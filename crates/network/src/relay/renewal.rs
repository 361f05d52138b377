//! Keys and certificates that are renewed while the relay runs.
//!
//! Link certificates hold for 30 days and are made anew every day; links that stand are not touched. Onion keys are listed for four weeks
//! and then accepted for one more, so that clients with an older relay list have a week to learn the new line. The relay writes its key
//! file first, then accepts the new keys, and only then lists them: whatever fails on the way, no listed key is one that it doesn't have.
//!
//! The clock may be wrong: a board without a battery starts in 1970, and a time server can be wrong by years. So onion keys are renewed only
//! by a clock that has gone on evenly for an hour ([`Even`]), and a relay starts with the keys that it has. What a wrong clock has said all the
//! same drops no keys ([`RelayKeys::renewed`]).

use super::Shared;
use super::journal::RelayEvent;
use crate::clock::{self, Even, Moment};
use crate::keys::{RelayKeys, Renewal, Words};
use crate::link::locked;
use crate::policy::Policy;
use crate::relay_list::ListedRelay;
use crate::tls::Acceptor;
use crate::{Error, files};
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

/// What of a relay stands in a descriptor of Tor's.
#[cfg(feature = "tor")]
pub(crate) struct TorParts<'a> {
    /// In seconds since 1970.
    pub(crate) now: u64,
    pub(crate) name: Option<&'a str>,
    pub(crate) address: SocketAddr,
    pub(crate) identity: &'a RelayIdentity,
    /// The public key of `ntor`.
    pub(crate) onion_key: [u8; 32],
    /// Sign of its point, and its certificate for the identity.
    pub(crate) onion_certificate: (u8, Vec<u8>),
    pub(crate) policy: &'a Policy,
    pub(crate) has_directory: bool,
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
    clock: Even,
    credentials: Arc<Credentials>,
    listed: Arc<ListedRelay>,
    /// The entry is not written yet.
    unwritten: bool,
    /// After a failure.
    not_before: Option<Instant>,
}

impl Keyring {
    /// With the entry written. The onion keys to be used stand beside it. Keys that are due are renewed later, once the clock is believed.
    pub(super) fn new(
        keys: &RelayKeys,
        name: Option<String>,
        address: SocketAddr,
        handshakes: Vec<HandshakeType>,
        policy: Policy,
        entry: Option<PathBuf>,
        renewal: Renewal,
        at: Moment,
    ) -> Result<(Self, OnionKeys), Error> {
        let keys = keys.clone();
        let onion_keys = keys.onion_keys(&handshakes)?;
        let listed = Arc::new(keys.listed(name.clone(), address, &handshakes)?.with_exit(&policy));
        let credentials = Arc::new(Credentials::new(&keys, at.now)?);
        let state =
            Mutex::new(State { keys, clock: Even::since(at), credentials, listed, unwritten: true, not_before: None });
        let keyring = Self { renewal, name, address, handshakes, policy, entry, state, renewing: Mutex::default() };
        keyring.write_entry()?;
        Ok((keyring, onion_keys))
    }

    pub(super) fn listed(&self) -> Arc<ListedRelay> {
        Arc::clone(&locked(&self.state).listed)
    }

    /// A descriptor for a directory, made at `now`, with the onion keys of the moment.
    pub(super) fn descriptor(&self, words: &Words, now: u64) -> Result<Vec<u8>, Error> {
        let (keys, listed) = {
            let state = locked(&self.state);
            (state.keys.clone(), Arc::clone(&state.listed))
        };
        keys.descriptor(&listed, words, now, &self.renewal)
    }

    /// Calls `write` with what a descriptor of Tor's says.
    #[cfg(feature = "tor")]
    pub(super) fn tor_descriptor<T>(
        &self,
        now: u64,
        until: u64,
        has_directory: bool,
        write: impl FnOnce(&TorParts<'_>) -> T,
    ) -> Result<T, Error> {
        let credentials = self.credentials(now)?;
        let (onion_key, onion_certificate) = locked(&self.state).keys.onion_certificate(until);
        let (address, name, policy) = (self.address, self.name.as_deref(), &self.policy);
        let identity = &credentials.identity;
        Ok(write(&TorParts { now, name, address, identity, onion_key, onion_certificate, policy, has_directory }))
    }

    /// What to show on links; made anew if it is old.
    pub(super) fn credentials(&self, now: u64) -> Result<Arc<Credentials>, Error> {
        let mut state = locked(&self.state);
        if state.credentials.is_due(now, self.renewal.links) {
            state.credentials = Arc::new(Credentials::new(&state.keys, now)?);
        }
        Ok(Arc::clone(&state.credentials))
    }

    fn is_due(&self, at: Moment) -> bool {
        let mut state = locked(&self.state);
        let believed = state.clock.is_believed(at);
        (state.unwritten || (believed && state.keys.is_due(at, &self.renewal)))
            && state.not_before.is_none_or(|instant| instant <= clock::instant())
    }

    /// Renews onion keys that are due; `accept` puts them to use.
    fn renew(&self, at: Moment, accept: impl FnOnce(OnionKeys)) -> Result<Renewed, Error> {
        let _alone = locked(&self.renewing);
        let (old, believed) = {
            let mut state = locked(&self.state);
            (state.keys.clone(), state.clock.is_believed(at))
        };
        let mut is_new = false;
        if believed && old.is_due(at, &self.renewal) {
            let keys;
            (keys, is_new) = old.renewed(at, &self.renewal)?;
            let listed =
                Arc::new(keys.listed(self.name.clone(), self.address, &self.handshakes)?.with_exit(&self.policy));
            accept(keys.onion_keys(&self.handshakes)?);
            let mut state = locked(&self.state);
            state.keys = keys;
            state.listed = listed;
            state.unwritten |= is_new;
        }
        Ok(Renewed { is_new, entry: self.write_entry() })
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
            let text = format!("{}\n", listed.to_line());
            // A relay that starts again with the same keys needs no room on the disk.
            if std::fs::read_to_string(path).is_ok_and(|written| written == text) {
                locked(&self.state).unwritten = false;
                return Ok(());
            }
            files::replace(path, &text, 0o644)?;
        }
        locked(&self.state).unwritten = false;
        Ok(())
    }
}

/// What a renewal has come to.
struct Renewed {
    /// Whether there are new keys.
    is_new: bool,
    /// Whether the entry is up to date.
    entry: Result<(), Error>,
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
    let at = relay.clock.moment();
    if !relay.keyring.is_due(at) {
        return;
    }
    let shared = Arc::clone(relay);
    let work = move || {
        let renewed = shared.keyring.renew(at, |keys| shared.pool.replace(keys));
        let failed = |event| {
            shared.keyring.failed();
            shared.journal.tell(&event);
        };
        match renewed {
            Ok(Renewed { is_new, entry }) => {
                if is_new {
                    shared.journal.tell(&RelayEvent::KeysRenewed);
                }
                if let Err(error) = entry {
                    failed(RelayEvent::EntryFailed { why: error.to_string() });
                }
            }
            Err(error) => failed(RelayEvent::RenewalFailed { why: error.to_string() }),
        }
    };
    // It fails only if it panics, and then the old keys stay.
    let _ = tokio::task::spawn_blocking(work).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, UNEVEN};

    const HOUR: u64 = 3600;
    const START: u64 = 1_800_000_000;

    fn at(now: u64, steady: u64) -> Moment {
        Moment { now, steady }
    }

    fn keyring(keys: &RelayKeys, entry: Option<PathBuf>, start: Moment) -> Result<Keyring, Error> {
        let address = ([127, 0, 0, 1], 1).into();
        let handshakes = HandshakeType::ALL.to_vec();
        let made = Keyring::new(keys, None, address, handshakes, Policy::default(), entry, Renewal::default(), start);
        made.map(|(keyring, _)| keyring)
    }

    #[test]
    fn a_clock_is_believed_after_an_even_hour() {
        let keyring = keyring(&RelayKeys::generate().unwrap(), None, at(START, 0)).unwrap();
        let believes = |moment| locked(&keyring.state).clock.is_believed(moment);
        assert!(!believes(at(START + HOUR - 1, HOUR - 1)));
        assert!(believes(at(START + HOUR, HOUR)));
        assert!(believes(at(START + 2 * HOUR + UNEVEN, 2 * HOUR)), "a clock may be set by a little");
        for jumped in [START + 4 * HOUR, START - 365 * 24 * HOUR, START + 31 * 24 * HOUR, 0] {
            let steady = 10 * HOUR;
            assert!(!believes(at(jumped, steady)), "{jumped}");
            assert!(!believes(at(jumped + HOUR - 1, steady + HOUR - 1)), "{jumped}");
        }
        assert!(believes(at(HOUR, 11 * HOUR)), "the last of them has gone on");
    }

    /// With keys that are due, and no room for others on the disk.
    #[test]
    fn a_relay_starts_with_old_keys_on_a_full_disk_and_renews_them_when_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let keys = RelayKeys::load_or_create(&path).unwrap();
        let entry = folder.path().join("entry");
        let now = Clock::default().now();
        keyring(&keys, Some(entry.clone()), at(now, 0)).unwrap();
        let before = [&path, &entry].map(|path| std::fs::read(path).unwrap());
        // Folders in the way of the partial files.
        let blocks = ["keys.partial", "entry.partial"].map(|name| folder.path().join(name));
        blocks.iter().for_each(|block| std::fs::create_dir(block).unwrap());

        let later = now + 40 * 24 * HOUR;
        let keyring = keyring(&keys, Some(entry.clone()), at(later, 0)).expect("the entry is still right");
        assert!(!keyring.is_due(at(later + HOUR - 1, HOUR - 1)));
        let due = at(later + HOUR, HOUR);
        assert!(keyring.is_due(due));
        assert!(keyring.renew(due, |_| panic!("they are not in the file")).is_err());
        keyring.failed();
        assert!(!keyring.is_due(due), "it waits before it tries again");
        assert_eq!([&path, &entry].map(|path| std::fs::read(path).unwrap()), before);

        // Room for the keys, and none for the entry: the keys are in use, and both are told.
        std::fs::remove_dir(&blocks[0]).unwrap();
        let mut accepted = false;
        let renewed = keyring.renew(due, |_| accepted = true).unwrap();
        assert!(renewed.is_new && renewed.entry.is_err() && accepted);
        assert_eq!(std::fs::read(&entry).unwrap(), before[1]);
        std::fs::remove_dir(&blocks[1]).unwrap();
        let again = keyring.renew(due, |_| panic!("nothing is due")).unwrap();
        assert!(!again.is_new && again.entry.is_ok());
        assert_eq!(std::fs::read_to_string(&entry).unwrap(), format!("{}\n", keyring.listed().to_line()));
    }
}
