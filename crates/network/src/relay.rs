//! A relay: links from clients and relays, circuits over them, extensions to other relays, and, if its policy lists anything, an
//! exit.
//!
//! | thread or task | work |
//! |---|---|
//! | a task for each link | reads cells, takes off or adds a layer, queues what comes of it on the same or another link |
//! | the threads of the handshake [`pool`] | answer creations, but for those that come alone: the link's task does that |
//! | a task for each exit stream | a TCP connection |
//! | a task for each new link to another relay | connects once for all circuits that want it |
//! | a task for the time | ends what is idle, renews keys |
//!
//! Every queue is bounded, and nobody waits in front of one with cells in hand: over a bound, the circuit is destroyed with
//! RESOURCELIMIT. What a hostile neighbour can make a relay keep is therefore [`RelayLimits`], whatever it sends. `docs/threats.md`
//! lists the attacks and the bounds.

mod attempts;
mod circuit;
mod creation;
mod crowds;
mod directory;
mod exit;
mod extension;
mod fair;
mod journal;
mod limits;
mod links;
mod lookups;
mod networks;
mod own;
mod payer;
mod pool;
mod readings;
mod renewal;
mod replays;
mod room;
mod shutdown;
mod strangers;
mod streams;
mod turns;

pub use journal::RelayEvent;
pub use limits::{NetworkLimits, Rate, RelayLimits};
pub(crate) use networks::Networks;
#[cfg(feature = "tor")]
pub(crate) use renewal::TorParts;

use crate::clock::Clock;
use crate::keys::{RelayKeys, Renewal, Words};
use crate::link::{Budget, locked};
use crate::policy::Policy;
use crate::prefix::Prefix;
use crate::relay_list::{ListedRelay, RelayList};
use crate::tls::Connector;
use crate::{Error, files};
use candor_onion::directory::{Consensus, Relay as DirectoryRelay};
use candor_onion::handshake::HandshakeType;
use journal::Journal;
use links::Links;
use lookups::Lookups;
use pool::Pool;
use renewal::Keyring;
use replays::Replays;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use streams::Streams;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;
use turns::Turns;

/// What a relay is to be.
pub struct RelayConfig {
    /// Where to listen; port 0 takes any.
    pub listen: SocketAddr,
    /// The address that others reach it by, if that is another one. If it is public, no circuit is extended to a private address,
    /// wherever the relay listens.
    pub advertise: Option<SocketAddr>,
    /// A name for people.
    pub name: Option<String>,
    /// Where it may connect to as an exit. The default: nowhere.
    pub policy: Policy,
    /// The handshakes that it offers.
    pub handshakes: Vec<HandshakeType>,
    /// Bounds.
    pub limits: RelayLimits,
    /// Networks that [`RelayLimits::network`] is not for.
    pub test_networks: Vec<Prefix>,
    /// A file that always has the relay's current line for a relay list.
    pub entry: Option<PathBuf>,
    /// An HTTP directory of Tor's (its `DirPort`), which C tor's clients want of every guard: what they ask for by BEGIN_DIR is asked for there. Without it the relay has no directory.
    pub tor_directory: Option<SocketAddr>,
    /// How often keys are renewed.
    pub renewal: Renewal,
    /// The time of day.
    pub clock: Clock,
    /// Is told what happens.
    pub log: Arc<dyn Fn(&RelayEvent) + Send + Sync>,
}

impl RelayConfig {
    /// A relay at `listen` that is no exit, offers all handshakes, and says nothing. If it listens on a loopback address, loopback is a
    /// test network: everybody there has the same address.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            advertise: None,
            name: None,
            policy: Policy::default(),
            handshakes: HandshakeType::ALL.to_vec(),
            limits: RelayLimits::default(),
            test_networks: if listen.ip().is_loopback() { Prefix::LOOPBACK.to_vec() } else { Vec::new() },
            entry: None,
            tor_directory: None,
            renewal: Renewal::default(),
            clock: Clock::default(),
            log: Arc::new(|_| {}),
        }
    }
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayCounts {
    /// Handshakes answered.
    pub handshakes: u64,
    /// Of these, those that came alone and were answered by the link's own task, not by a thread of the pool.
    pub handshakes_at_once: u64,
    /// How many batches of one, of two, … handshakes the threads of the pool have done.
    pub handshake_batches: [u64; 8],
    /// Upgrades answered, by threads of the pool. One that can't be read ends its circuit and is not counted.
    pub upgrades: u64,
    /// Handshakes and upgrades refused because too many waited.
    pub refused: u64,
    /// Connections refused because there were too many, from one network or in all.
    pub refused_connections: u64,
    /// Circuits refused because there were too many, from one network or in all.
    pub refused_circuits: u64,
    /// Circuits refused because their onionskin had made one before.
    pub replayed: u64,
    /// Relay cells that were passed on, taken or made.
    pub cells: u64,
    /// Links there are.
    pub links: usize,
    /// Circuits there are.
    pub circuits: usize,
    /// Networks that are remembered because strangers from there hold something, or have a moment ago.
    pub networks: usize,
}

/// What a relay holds at this moment for others. All of it is given back when they are gone, so this is what to watch, and what tests
/// compare before and after an attack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayHeld {
    /// Places for links that are taken: links, incoming connections that have not finished their handshake, links being made.
    pub links: usize,
    /// Incoming connections of strangers that have not finished their handshake.
    pub half_open: usize,
    /// Links that are being made to other relays.
    pub attempts: usize,
    /// Circuit numbers on all links. A circuit that goes on to another relay has two.
    pub circuits: usize,
    /// Connections of the exit, open or being opened, and directory requests.
    pub streams: usize,
    /// Cells queued on links, and pieces of data unread in streams.
    pub cells: usize,
}

/// A running relay. Dropping it stops it at once; [`Relay::shutdown`] lets it finish what is in flight.
pub struct Relay {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

/// Relays of our list.
#[derive(Default)]
struct Known {
    by_identity: HashMap<[u8; 32], SocketAddr>,
    /// The Ed25519 identity of an RSA identity, in networks of C tor's.
    by_rsa: HashMap<[u8; 20], [u8; 32]>,
    addresses: HashSet<IpAddr>,
    /// Where they take links.
    ports: HashSet<SocketAddr>,
}

/// An IPv4 address that is mapped into IPv6 is the same as the IPv4 address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// What all of a relay's tasks share.
struct Shared {
    id: [u8; 32],
    /// What it tells its neighbours.
    addresses: Vec<IpAddr>,
    clock: Clock,
    limits: RelayLimits,
    policy: Policy,
    /// Where what BEGIN_DIR asks for is to be had.
    tor_directory: Option<SocketAddr>,
    journal: Journal,
    keyring: Keyring,
    connector: Connector,
    links: Links,
    networks: Arc<Networks>,
    replays: Replays,
    pool: Pool,
    budget: Arc<Budget>,
    streams: Arc<Streams>,
    directory_streams: Arc<Streams>,
    lookups: Lookups,
    /// For link handshakes with strangers.
    turns: Turns,
    /// For handshakes from the addresses of listed relays.
    unproven: Turns,
    /// Private addresses may be extended to: the relay itself is reached at one.
    may_extend_privately: bool,
    /// A permit for each circuit there may be.
    circuits: Arc<Semaphore>,
    /// Circuits are many, on a link or in all.
    crowded: Notify,
    known: Mutex<Known>,
    /// Addresses of directories.
    directories: Mutex<HashSet<IpAddr>>,
    stopping: watch::Sender<bool>,
    cells: AtomicU64,
    refused_connections: AtomicU64,
    refused_circuits: AtomicU64,
    replayed: AtomicU64,
}

impl Relay {
    /// Starts a relay on the current runtime. It is ready when this returns.
    ///
    /// Raises the process's limit of open files to what the system allows.
    ///
    /// # Errors
    /// [`Error::Listen`]; [`Error::File`] if the key file or the entry can't be written; [`Error::Internal`] if a library fails.
    pub async fn start(keys: &RelayKeys, config: RelayConfig) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Listen { address: config.listen, why: error.to_string() };
        if !config.policy.is_empty() {
            own::can_tell()?;
        }
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let listening = listener.local_addr().map_err(failed)?;
        let address = config.advertise.unwrap_or(listening);
        let (mut limits, at) = (config.limits, config.clock.moment());
        limits.circuit.directory = config.tor_directory.is_some();
        let policy = config.policy.clone();
        let (keyring, onion_keys) =
            Keyring::new(keys, config.name, address, config.handshakes, policy, config.entry, config.renewal, at)?;
        let journal = Journal::new(config.log, limits.log_lines);
        let lookups = if config.policy.is_empty() { 0 } else { lookups::MOST_SOCKETS };
        let needed = [limits.streams, limits.directory_streams, lookups, 64]
            .into_iter()
            .fold(limits.links, usize::saturating_add) as u64;
        if let Some(allowed) = files::raise_limit().filter(|allowed| *allowed < needed) {
            journal.tell(&RelayEvent::FewFiles { allowed, needed });
        }
        let shared = Arc::new(Shared {
            id: *keys.id(),
            addresses: if address.ip().is_unspecified() { Vec::new() } else { vec![address.ip()] },
            clock: config.clock,
            limits,
            policy: config.policy.on([address.ip(), listening.ip()]),
            tor_directory: config.tor_directory,
            journal,
            keyring,
            connector: Connector::new()?,
            links: Links::new(&limits),
            networks: Networks::new(limits.network, limits.networks, config.test_networks),
            replays: Replays::new(limits.onionskins),
            pool: Pool::start(onion_keys, limits.handshake_threads, limits.handshake_queue)?,
            budget: Budget::new(limits.cells),
            streams: Streams::new(limits.streams),
            directory_streams: Streams::with_share(limits.directory_streams, limits.directory_streams_per_payer),
            lookups: Lookups::new(),
            unproven: Turns::one_by_one(),
            turns: Turns::new(tokio::runtime::Handle::current().metrics().num_workers()),
            may_extend_privately: !crate::policy::is_public(address.ip()) && !address.ip().is_unspecified(),
            circuits: Arc::new(Semaphore::new(limits.all_circuits.min(Semaphore::MAX_PERMITS))),
            crowded: Notify::new(),
            known: Mutex::default(),
            directories: Mutex::default(),
            stopping: watch::Sender::new(false),
            cells: AtomicU64::new(0),
            refused_connections: AtomicU64::new(0),
            refused_circuits: AtomicU64::new(0),
            replayed: AtomicU64::new(0),
        });
        let tasks = vec![
            tokio::spawn(links::listen(Arc::clone(&shared), listener)),
            tokio::spawn(shutdown::keep_time(Arc::clone(&shared))),
            tokio::spawn(room::keep(Arc::clone(&shared))),
            tokio::spawn(crowds::keep(Arc::clone(&shared))),
        ];
        Ok(Self { shared, tasks })
    }

    /// Its line for a relay list, with the address that it has and the onion keys of the moment.
    pub fn listed(&self) -> Arc<ListedRelay> {
        self.shared.keyring.listed()
    }

    /// Its signed descriptor for a directory, published at this moment: its line, and `words`.
    ///
    /// # Errors
    /// [`Error::Descriptor`], for instance if its name is not ASCII.
    pub fn descriptor(&self, words: &Words) -> Result<Vec<u8>, Error> {
        self.shared.keyring.descriptor(words, self.shared.clock.now())
    }

    /// Tells it which relays there are. Links that they make from their listed addresses are not counted as strangers', since they carry
    /// many clients; links to them at their listed addresses serve every circuit to them; and no stream of an exit leads to their ports.
    /// Replaces what it was told before: links of relays that are no longer listed are closed. Its own entry is passed over: clients on its
    /// own machine are strangers like others.
    pub fn know(&self, relays: &RelayList) {
        let rsa = |relay: &ListedRelay| relay.rsa_identity().copied();
        self.know_these(relays.relays().iter().map(|relay| (*relay.identity(), relay.address(), rsa(relay))));
    }

    /// The same, from a consensus.
    pub fn know_consensus(&self, consensus: &Consensus) {
        let relays = consensus.relays.iter().map(|listed| &listed.relay);
        let address = |relay: &DirectoryRelay| relay.addresses.first().copied();
        self.know_these(relays.filter_map(|relay| Some((relay.identity, address(relay)?, None))));
    }

    fn know_these(&self, relays: impl Iterator<Item = ([u8; 32], SocketAddr, Option<[u8; 20]>)>) {
        let mut known = Known::default();
        for (identity, address, rsa) in relays.filter(|(identity, ..)| *identity != self.shared.id) {
            known.by_identity.insert(identity, address);
            known.by_rsa.extend(rsa.map(|rsa| (rsa, identity)));
            known.addresses.insert(address.ip().to_canonical());
            known.ports.insert(canonical(address));
        }
        *locked(&self.shared.known) = known;
        self.shared.links.close_delisted(|identity| self.shared.listed_address(identity).is_some());
    }

    /// Tells it from which addresses authorities try whether it is there. Each is counted by itself and not with its network, so that its neighbours
    /// can't use up what the authority needs. Replaces what it was told before.
    pub fn know_directories(&self, addresses: impl IntoIterator<Item = IpAddr>) {
        *locked(&self.shared.directories) = addresses.into_iter().map(|address| address.to_canonical()).collect();
    }

    /// The time of day.
    #[cfg(feature = "tor")]
    pub(crate) fn now(&self) -> u64 {
        self.shared.clock.now()
    }

    /// What it says of itself in Tor's descriptor, with keys of the moment, which hold until then, in seconds since 1970.
    #[cfg(feature = "tor")]
    pub(crate) fn tor_descriptor<T>(&self, until: u64, write: impl FnOnce(&TorParts<'_>) -> T) -> Result<T, Error> {
        self.shared.keyring.tor_descriptor(self.shared.clock.now(), until, self.shared.tor_directory.is_some(), write)
    }

    /// What it has done so far.
    pub fn counts(&self) -> RelayCounts {
        self.shared.counts()
    }

    /// What it holds for others now.
    pub fn held(&self) -> RelayHeld {
        self.shared.held()
    }

    /// Closes all links, with the circuits on them; new ones are made when they are wanted.
    pub fn disconnect(&self) {
        self.shared.close_all(candor_onion::cell::DestroyReason::FINISHED);
    }

    /// Takes nothing new, waits until what is in flight is done, but no longer than `limit`, and destroys the rest.
    pub async fn shutdown(self, limit: Duration) {
        shutdown::run(&self.shared, limit).await;
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop();
        self.tasks.iter().for_each(JoinHandle::abort);
        // Links hold the shared part and their circuits hold the links; closing them lets go.
        self.shared.close_all(candor_onion::cell::DestroyReason::HIBERNATING);
    }
}

impl Shared {
    fn counts(&self) -> RelayCounts {
        let links = self.links.all();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RelayCounts {
            handshakes: self.pool.answered(),
            handshakes_at_once: self.pool.answered_here(),
            handshake_batches: self.pool.batches(),
            upgrades: self.pool.upgraded(),
            refused: self.pool.refused(),
            refused_connections: count(&self.refused_connections),
            refused_circuits: count(&self.refused_circuits),
            replayed: count(&self.replayed),
            cells: count(&self.cells),
            links: links.len(),
            circuits: links.iter().map(|link| link.count()).sum(),
            networks: self.networks.count(),
        }
    }

    fn held(&self) -> RelayHeld {
        RelayHeld {
            links: self.links.taken(),
            half_open: self.networks.half_open(),
            attempts: self.links.attempts(),
            circuits: self.links.all().iter().map(|link| link.count()).sum(),
            streams: self.streams.count() + self.directory_streams.count(),
            cells: self.budget.used(),
        }
    }

    /// Where our list has that relay.
    fn listed_address(&self, identity: &[u8; 32]) -> Option<SocketAddr> {
        locked(&self.known).by_identity.get(identity).copied()
    }

    /// The Ed25519 identity that our list has beside that RSA identity.
    fn identity_of_rsa(&self, rsa: &[u8; 20]) -> Option<[u8; 32]> {
        locked(&self.known).by_rsa.get(rsa).copied()
    }

    /// Whether our list has a relay there.
    fn is_listed_at(&self, address: IpAddr) -> bool {
        locked(&self.known).addresses.contains(&address.to_canonical())
    }

    /// Whether a directory has that address.
    fn is_directorys(&self, address: IpAddr) -> bool {
        locked(&self.directories).contains(&address.to_canonical())
    }

    /// Whether a relay of our list takes links there.
    fn is_listed_port(&self, address: SocketAddr) -> bool {
        locked(&self.known).ports.contains(&canonical(address))
    }

    fn circuits_used(&self) -> usize {
        self.limits.all_circuits.saturating_sub(self.circuits.available_permits())
    }

    fn refused_connection(&self, event: &RelayEvent) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
        self.journal.tell(event);
    }

    /// Nothing new is taken from now on.
    fn stop(&self) {
        self.stopping.send_replace(true);
    }

    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Comes back when the relay stops.
    async fn stopped(&self) {
        // It can't fail: the sender is here.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Relay({})", self.listed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relay behind a NAT is reached at an address that its machine doesn't have.
    #[tokio::test]
    async fn the_address_that_an_exit_advertises_is_its_own() {
        let [outside, other] = ["198.51.100.7", "198.51.100.8"].map(|text| text.parse::<IpAddr>().unwrap());
        let keys = RelayKeys::generate().unwrap();
        for (rules, named) in [("private:9", false), ("private:9 198.51.100.7:9", true)] {
            let mut config = RelayConfig::new(([127, 0, 0, 1], 0).into());
            config.policy = Policy::parse(rules).unwrap();
            config.advertise = Some((outside, 443).into());
            let relay = Relay::start(&keys, config).await.unwrap();
            let permits = |address| relay.shared.policy.permits("host", address, 9);
            assert_eq!((permits(outside), permits(other)), (named, true), "{rules}");
        }
    }
}
