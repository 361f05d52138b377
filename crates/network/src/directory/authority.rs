//! An authority: takes descriptors, agrees with the others, serves the consensus.

use super::names::Names;
use super::readings::Counters;
use super::registry::{Refused, Registry, RegistryLimits, Stored};
use super::seats::Seats;
use super::served::{Document, Served};
use super::{AuthorityKeys, Directories, DirectoryAddress, ReachLimits, probes, rounds, served};
use crate::clock::{Clock, Steadfast, instant};
use crate::http::Url;
use crate::link::locked;
use crate::prefix::Prefix;
use crate::relay::{NetworkLimits, Networks, Rate};
use crate::tls::Connector;
use crate::{Error, files};
use candor_onion::directory::{Authorities, Consensus, MOST_CONSENSUS, MOST_DESCRIPTOR};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What an authority is to be.
pub struct AuthorityConfig {
    /// Where to listen; port 0 takes any.
    pub listen: SocketAddr,
    /// The other authorities.
    pub peers: Vec<DirectoryAddress>,
    /// How many authorities must sign; defaults to the smallest majority.
    pub threshold: Option<usize>,
    /// From one consensus to the next, in whole seconds. All authorities must have the same. A sole authority also makes a consensus whenever its
    /// relays change, but no more than one a second, and one in so many seconds as it has hundreds of relays.
    pub interval: Duration,
    /// For how many intervals a consensus is valid.
    pub intervals_valid: u64,
    /// A folder for what must outlast a restart: the consensus, the descriptors, which round was signed last. Without it, nothing does.
    pub state: Option<PathBuf>,
    /// Bounds on what is registered.
    pub registry: RegistryLimits,
    /// How it finds out whether relays are where they say.
    pub reach: ReachLimits,
    /// Whether it has a way to public addresses of IPv6 at this moment. Without one it tries and counts only the first address of a relay that has two of
    /// which the second is there. Asks the system by default.
    pub ipv6: Arc<dyn Fn() -> bool + Send + Sync>,
    /// What one /24 of IPv4 or /48 of IPv6 may take; `circuits` and `creations` bound registrations. Relays of the consensus and the
    /// other authorities are counted by their own addresses.
    pub network: NetworkLimits,
    /// Connections at a time. An eighth of them is kept for the other authorities and relays of the consensus. When strangers have taken the rest,
    /// the oldest without a request, of the network with the most, yields to a newcomer.
    pub connections: usize,
    /// Networks without limits, in which relays may have private addresses.
    pub test_networks: Vec<Prefix>,
    /// More networks in which relays may have private addresses; limits hold there.
    pub private_networks: Vec<Prefix>,
    /// The time of day.
    pub clock: Clock,
    /// Is told what happens.
    pub log: Arc<dyn Fn(&AuthorityEvent) + Send + Sync>,
}

impl AuthorityConfig {
    /// A sole authority at `listen` with a consensus an hour, valid for three. If it listens on a loopback address, loopback is a test network.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            peers: Vec::new(),
            threshold: None,
            interval: Duration::from_secs(3600),
            intervals_valid: 3,
            state: None,
            registry: RegistryLimits::default(),
            reach: ReachLimits::default(),
            ipv6: Arc::new(probes::has_ipv6),
            network: NetworkLimits {
                connections: 32,
                half_open: 32,
                connects: Rate { burst: 128, per_second: 8 },
                circuits: 8,
                creations: Rate { burst: 32, per_second: 1 },
                unproven: 8,
                dialled: 1,
                asked: 1,
            },
            connections: 1024,
            test_networks: if listen.ip().is_loopback() { Prefix::LOOPBACK.to_vec() } else { Vec::new() },
            private_networks: Vec::new(),
            clock: Clock::default(),
            log: Arc::new(|_| {}),
        }
    }
}

/// What an authority has to tell its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorityEvent {
    /// There is a new consensus.
    Consensus {
        /// Its number: the beginning of its round.
        number: u64,
        /// How many relays it lists.
        relays: usize,
        /// How many authorities have signed it.
        signers: usize,
    },
    /// A round has come to nothing; the last consensus is served until it ends.
    NoConsensus {
        /// The beginning of the round.
        number: u64,
        /// Why.
        why: String,
    },
    /// Another authority did not answer, or not as it should.
    Peer {
        /// Its URL.
        url: String,
        /// What was wrong.
        why: String,
    },
    /// Somebody was refused, or has lost a place to somebody else, for taking more than a share.
    TooMany {
        /// What there were too many of.
        what: &'static str,
        /// Whether one network had too many; otherwise the authority as a whole.
        network: bool,
    },
    /// A relay is listed no longer, or was not listed in the first place: it does not answer where it says it is, or its network has too many.
    /// A minute has 20 such at most.
    NotListed {
        /// Its name, the beginning of its identity, and its addresses, as it says.
        relay: String,
        /// Why.
        why: String,
    },
    /// The system allows fewer open files than the authority's limits need.
    FewFiles {
        /// How many it allows.
        allowed: u64,
        /// How many all connections and probes need.
        needed: u64,
    },
    /// There is a new signing key.
    KeysRenewed,
    /// Something could not be written, or what was written before can't be used; the authority goes on without.
    State {
        /// What went wrong.
        why: String,
    },
}

impl fmt::Display for AuthorityEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Consensus { number, relays, signers } => {
                write!(f, "consensus {number}: {relays} relays, signed by {signers}")
            }
            Self::NoConsensus { number, why } => write!(f, "no consensus {number}: {why}"),
            Self::Peer { url, why } => write!(f, "authority {url}: {why}"),
            Self::TooMany { what, network: true } => write!(f, "refused: too many {what} from one network"),
            Self::TooMany { what, network: false } => write!(f, "refused: too many {what}"),
            Self::NotListed { relay, why } => write!(f, "not listed: {relay}: {why}"),
            Self::FewFiles { allowed, needed } => {
                write!(
                    f,
                    "the system allows {allowed} open files, expected {needed} or more; raise the limit (ulimit -n)"
                )
            }
            Self::KeysRenewed => f.write_str("a new signing key is in use"),
            Self::State { why } => f.write_str(why),
        }
    }
}

/// What an authority holds for others at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthorityHeld {
    /// Relays that are listed.
    pub relays: usize,
    /// Relays that have registered and not been reached yet.
    pub waiting: usize,
    /// Connections.
    pub connections: usize,
    /// Networks that are remembered.
    pub networks: usize,
}

/// A running authority. Dropping it stops it.
pub struct Authority {
    shared: Arc<Shared>,
    address: SocketAddr,
    tasks: [JoinHandle<()>; 3],
}

/// What all tasks of an authority share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    steadfast: Mutex<Steadfast>,
    pub(super) authorities: Authorities,
    pub(super) peers: Vec<DirectoryAddress>,
    pub(super) interval: u64,
    pub(super) intervals_valid: u64,
    pub(super) keys: Mutex<AuthorityKeys>,
    pub(super) registry: Mutex<Registry>,
    pub(super) reach: ReachLimits,
    pub(super) ipv6: Arc<dyn Fn() -> bool + Send + Sync>,
    /// A relay has registered.
    pub(super) registered: Notify,
    pub(super) networks: Arc<Networks>,
    pub(super) seats: Arc<Seats>,
    pub(super) counters: Counters,
    fingerprint: String,
    state: Option<PathBuf>,
    served: Mutex<Served>,
    listed: Mutex<HashSet<IpAddr>>,
    last_signed: Mutex<u64>,
    peer_addresses: Mutex<HashSet<IpAddr>>,
    /// Held while they are looked up.
    peer_names: tokio::sync::Mutex<Names>,
    log: Arc<dyn Fn(&AuthorityEvent) + Send + Sync>,
}

impl Authority {
    /// Starts an authority on the current runtime. It takes descriptors when this returns.
    ///
    /// # Errors
    /// [`Error::Listen`]; [`Error::DirectoryAddress`] if the peers and the threshold don't make a majority; [`Error::File`] if the folder for
    /// its state can't be made; [`Error::Internal`] if TLS can't be set up.
    pub async fn start(keys: AuthorityKeys, config: AuthorityConfig) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Listen { address: config.listen, why: error.to_string() };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let own = DirectoryAddress::new(url_of(address)?, *keys.fingerprint());
        let all = config.peers.iter().cloned().chain([own]).collect();
        let Directories { authorities, .. } = Directories::new(all, config.threshold)?;
        if let Some(folder) = &config.state {
            std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, &error))?;
        }
        let connector = Connector::new()?;
        // Each connection is a file, as is each probe of three kinds of relays, and the state wants some.
        let needed =
            config.connections.saturating_add(config.reach.at_once.saturating_mul(3)).saturating_add(64) as u64;
        let shared = Arc::new(Shared {
            authorities,
            // One that is given all authorities doesn't ask itself.
            peers: config.peers.into_iter().filter(|peer| peer.fingerprint() != Some(keys.fingerprint())).collect(),
            interval: config.interval.as_secs().max(1),
            intervals_valid: config.intervals_valid.max(1),
            fingerprint: base16ct::lower::encode_string(keys.fingerprint()),
            keys: Mutex::new(keys),
            registry: Mutex::new(Registry::new(
                config.registry,
                config.reach,
                config.test_networks.clone(),
                config.private_networks,
                instant(),
            )),
            reach: config.reach,
            ipv6: config.ipv6,
            registered: Notify::new(),
            networks: Networks::new(config.network, 1 << 16, config.test_networks),
            seats: Seats::new(config.connections),
            counters: Counters::default(),
            state: config.state,
            served: Mutex::default(),
            listed: Mutex::default(),
            peer_addresses: Mutex::default(),
            peer_names: tokio::sync::Mutex::default(),
            last_signed: Mutex::new(0),
            steadfast: Mutex::new(Steadfast::new(config.clock.moment())),
            clock: config.clock,
            log: config.log,
        });
        if let Some(allowed) = files::raise_limit().filter(|allowed| *allowed < needed) {
            shared.tell(&AuthorityEvent::FewFiles { allowed, needed });
        }
        shared.restore();
        let tasks = [
            tokio::spawn(served::listen(Arc::clone(&shared), listener)),
            tokio::spawn(rounds::keep(Arc::clone(&shared))),
            tokio::spawn(probes::keep(Arc::clone(&shared), connector)),
        ];
        Ok(Self { shared, address, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL and fingerprint, for `--directory`.
    ///
    /// # Errors
    /// [`Error::Url`] if the address is none that a URL can have.
    pub fn directory(&self) -> Result<DirectoryAddress, Error> {
        Ok(DirectoryAddress::new(url_of(self.address)?, *locked(&self.shared.keys).fingerprint()))
    }

    /// What it holds for others now.
    pub fn held(&self) -> AuthorityHeld {
        self.shared.held()
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authority({} at {})", self.shared.fingerprint, self.address)
    }
}

fn url_of(address: SocketAddr) -> Result<Url, Error> {
    Url::parse(&format!("http://{address}/"))
}

impl Shared {
    pub(super) fn held(&self) -> AuthorityHeld {
        let (relays, waiting) = {
            let registry = locked(&self.registry);
            (registry.count(), registry.waiting())
        };
        AuthorityHeld { relays, waiting, connections: self.seats.count(), networks: self.networks.count() }
    }

    pub(super) fn tell(&self, event: &AuthorityEvent) {
        self.counters.count(event);
        (self.log)(event);
    }

    /// The seconds by which the clock has jumped, if it can't be believed now.
    pub(super) fn doubt(&self) -> Option<u64> {
        locked(&self.steadfast).doubt(self.clock.moment())
    }

    /// Others say that the clock is right.
    pub(super) fn vouched(&self) {
        locked(&self.steadfast).vouched(self.clock.moment());
    }

    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    pub(super) fn served(&self) -> Served {
        locked(&self.served).clone()
    }

    pub(super) fn serve(&self, change: impl FnOnce(&mut Served)) {
        change(&mut locked(&self.served));
    }

    /// Whether a relay of the consensus or another authority has this address.
    pub(super) fn is_known(&self, address: IpAddr) -> bool {
        locked(&self.listed).contains(&address) || locked(&self.peer_addresses).contains(&address)
    }

    /// Looks up where the other authorities are.
    pub(super) async fn find_peers(&self) {
        let mut names = self.peer_names.lock().await;
        names.look_up(self.peers.iter()).await;
        *locked(&self.peer_addresses) = names.addresses().map(|address| address.to_canonical()).collect();
    }

    pub(super) fn register(&self, bytes: Vec<u8>, from: IpAddr, now: u64) -> Result<(), Refused> {
        // Whoever sends many signatures to be verified holds up nobody else's.
        let stored = Stored::read(bytes)?;
        let course = locked(&self.steadfast).course(self.clock.moment());
        locked(&self.registry).register(stored, from, [now, course], instant())?;
        self.registered.notify_one();
        Ok(())
    }

    pub(super) fn last_signed(&self) -> u64 {
        *locked(&self.last_signed)
    }

    /// Remembers, on disk as well, that a consensus of this number is about to be signed, so that no second one is.
    pub(super) fn will_sign(&self, number: u64) -> Result<(), Error> {
        let mut last = locked(&self.last_signed);
        if number <= *last {
            return Err(Error::Internal(format!("a consensus of number {last} has been signed already")));
        }
        if let Some(folder) = &self.state {
            files::replace(&folder.join("signed"), format!("{number}\n"), 0o644)?;
        }
        *last = number;
        Ok(())
    }

    /// Serves a consensus that the others have signed as well, with the KEM keys of its relays, and writes it down. `viewed`: what this authority's
    /// view was made of.
    pub(super) fn publish(&self, bytes: Vec<u8>, consensus: &Consensus, viewed: &[Arc<Stored>]) {
        let kems = [0, 1, 2].map(|kem| {
            let keys = locked(&self.registry).kem_keys(viewed, consensus, kem);
            // With the registry free: it hashes megabytes.
            Some(Document::new(keys))
        });
        *locked(&self.listed) =
            consensus.relays.iter().flat_map(|listed| &listed.relay.addresses).map(|address| address.ip()).collect();
        let listed: HashMap<_, _> =
            consensus.relays.iter().map(|listed| (listed.relay.identity, listed.relay.fingerprint)).collect();
        locked(&self.registry).forget_ended(self.clock.now(), &listed);
        if let Some(folder) = &self.state {
            let written = files::replace(&folder.join("consensus"), &bytes, 0o644)
                .and_then(|()| files::replace(&folder.join("descriptors"), self.descriptors(), 0o644));
            if let Err(error) = written {
                self.tell(&AuthorityEvent::State { why: format!("a restart would not know this consensus: {error}") });
            }
        }
        self.serve(|served| {
            served.consensus = Some(Document::new(bytes));
            served.kems = kems;
        });
    }

    /// LENGTH 4, and the descriptor, each.
    fn descriptors(&self) -> Vec<u8> {
        let stored = locked(&self.registry).stored();
        let mut out = Vec::new();
        for stored in stored {
            out.extend_from_slice(&(stored.bytes.len() as u32).to_be_bytes());
            out.extend_from_slice(&stored.bytes);
        }
        out
    }

    /// Goes on where the authority stopped. What can't be used is left aside, and told.
    fn restore(&self) {
        let Some(folder) = &self.state else { return };
        let read = |name: &str, most: usize| {
            let path = folder.join(name);
            match files::read_bounded(&path, most) {
                Ok(bytes) => Some(bytes),
                Err(_) if !path.exists() => None,
                Err(error) => {
                    self.tell(&AuthorityEvent::State { why: error.to_string() });
                    None
                }
            }
        };
        let damaged = |name: &str, why: &dyn fmt::Display| {
            let path = folder.join(name);
            self.tell(&AuthorityEvent::State { why: format!("{} can't be used: {why}", path.display()) });
        };
        if let Some(bytes) = read("signed", 32) {
            match str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok()) {
                Some(number) => *locked(&self.last_signed) = number,
                None => damaged("signed", &"expected a number"),
            }
        }
        let most = self.registry_bytes();
        let mut rest = read("descriptors", most).unwrap_or_default();
        let mut bytes = rest.as_mut_slice();
        while let Some((length, after)) = bytes.split_first_chunk_mut() {
            let length = u32::from_be_bytes(*length) as usize;
            let Some((descriptor, after)) = after.split_at_mut_checked(length) else {
                damaged("descriptors", &"it is cut short");
                break;
            };
            let restored = Stored::read(descriptor.to_vec())
                .and_then(|stored| locked(&self.registry).restore(stored, self.clock.now(), instant()));
            if let Err(refused) = restored {
                damaged("descriptors", &refused);
            }
            bytes = after;
        }
        if let Some(bytes) = read("consensus", MOST_CONSENSUS) {
            match Consensus::verify(&bytes, &self.authorities) {
                Ok(consensus) => {
                    let mut last = locked(&self.last_signed);
                    *last = consensus.number().max(*last);
                    drop(last);
                    if self.clock.now() < consensus.times.valid_until {
                        self.publish(bytes, &consensus, &[]);
                    }
                }
                Err(error) => damaged("consensus", &error),
            }
        }
    }

    fn registry_bytes(&self) -> usize {
        candor_onion::directory::MOST_RELAYS * (MOST_DESCRIPTOR + 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Relay, RelayConfig, RelayKeys, Words};
    use std::sync::mpsc;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn other_authorities_are_known_by_the_addresses_of_their_names() {
        let keys = AuthorityKeys::generate(Clock::default().now()).unwrap();
        let mut config = AuthorityConfig::new(([127, 0, 0, 1], 0).into());
        config.peers = vec![format!("http://localhost:9#{}", "a".repeat(64)).parse().unwrap()];
        let authority = Authority::start(keys, config).await.unwrap();
        authority.shared().find_peers().await;
        let [peer, other] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        assert!(authority.shared().is_known(peer) && !authority.shared().is_known(other));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn signatures_are_verified_while_others_use_the_registry() {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let keys = AuthorityKeys::generate(Clock::default().now()).unwrap();
        let authority = Authority::start(keys, AuthorityConfig::new(local)).await.unwrap();
        let relay = Relay::start(&RelayKeys::generate().unwrap(), RelayConfig::new(local)).await.unwrap();
        let good = relay.descriptor(&Words::default()).unwrap();
        let mut forged = good.clone();
        *forged.last_mut().unwrap() ^= 1;
        let (say, said) = mpsc::channel();
        let registering = |bytes: Vec<u8>| {
            let (shared, say) = (Arc::clone(authority.shared()), say.clone());
            std::thread::spawn(move || {
                let now = shared.clock.now();
                let _ = say.send(shared.register(bytes, local.ip(), now));
            })
        };
        let patience = Duration::from_secs(30);
        let held = locked(&authority.shared().registry);
        let forger = registering(forged);
        let refused = said.recv_timeout(patience).expect("it waits for nobody");
        assert!(matches!(refused, Err(Refused::Invalid(_))), "{refused:?}");
        // The twin has to wait for its place.
        let twin = registering(good);
        assert!(said.recv_timeout(Duration::from_millis(50)).is_err());
        drop(held);
        assert_eq!(said.recv_timeout(patience), Ok(Ok(())));
        [forger, twin].into_iter().for_each(|thread| thread.join().unwrap());
    }
}
