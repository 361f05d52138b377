//! A proxy for programs that know nothing of circuits: SOCKS 5, 4 and 4a, and HTTP CONNECT, on the same ports.
//!
//! - **Paths** are chosen by [`paths`](crate::paths), with a guard that lasts.
//! - **Isolation**, as Tor's default has it: two streams share a circuit only if they came to the same listening address, from the same client
//!   address, with the same credentials. Those are user name and password of SOCKS 5, the user id of SOCKS 4, and `Proxy-Authorization` and
//!   `X-Tor-Stream-Isolation` of HTTP; any will do, and none proves anything.
//! - **Circuits are built ahead** for the ports that were asked for in the last hour, or are expected. A circuit takes new streams for
//!   [`ProxyConfig::reuse`] after its first, and ends with its last.
//! - **Another path is tried** if a circuit or an exit fails before the stream is open; once the client has been told that it is, never.
//!   When a circuit breaks later, the connection is reset, so that no client takes a part for the whole.
//! - **Names are looked up by the exit**, never here.
//! - **Its log names no target** and no client.
//!
//! Tor's RESOLVE and RESOLVE_PTR are answered by an exit: one that leads to the port that was asked for last. Outside a test network, private addresses
//! in its answer are left out.
//!
//! As with Tor there is no half of a stream: a client that closes its sending side ends the stream.

mod carry;
mod http;
mod metrics;
mod pool;
mod readings;
mod seats;
mod serve;
pub mod socks;
mod trouble;

pub use http::connect_target;
pub use metrics::{ProxyMetrics, Stage};
pub use readings::CircuitReading;

use crate::client::{Client, ClientOptions};
use crate::link::locked;
use crate::paths::{GuardRules, Guards};
use crate::relay_list::RelayList;
use crate::{Error, files};
use candor_onion::handshake::HandshakeType;
use metrics::Counters;
use pool::Pool;
use seats::{Entry, Seats};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// How a proxy works. Change what [`ProxyConfig::new`] gives.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProxyConfig {
    /// Where to listen; port 0 takes any. Streams of different ones share no circuit.
    pub listen: Vec<SocketAddr>,
    /// Relays on a path: 3, or up to 8.
    pub hops: usize,
    /// The handshake with each.
    pub handshake: HandshakeType,
    /// Experimental: whether the layer of each exit gets an in-circuit upgrade ([`Circuit::extend_and_upgrade`](crate::Circuit::extend_and_upgrade)).
    pub upgrade: ExitUpgrade,
    /// The client's own choices.
    pub client: ClientOptions,
    /// Relays on a path may share a /16 (IPv6: /32), as they do where all are on one machine.
    pub test_network: bool,
    /// The file that keeps the guards. Without one they are new at each start.
    pub state: Option<PathBuf>,
    /// How many guards, and for how long.
    pub guards: GuardRules,
    /// Relays to begin circuits at, by name or by the beginning of their identity; any if there are none.
    pub entries: Vec<String>,
    /// For how long after its first stream a circuit takes new ones.
    pub reuse: Duration,
    /// Unused circuits to have ready for each port that was asked for in the last hour.
    pub spare: usize,
    /// Ports to have circuits ready for from the start.
    pub expected: Vec<u16>,
    /// The most circuits.
    pub circuits: usize,
    /// The most connections of clients, and of clients at one address.
    pub connections: usize,
    /// The most connections of clients at one address.
    pub connections_per_address: usize,
    /// How long a client may take to say what it wants.
    pub greeting: Duration,
    /// How long opening a stream may take, with all circuits that are tried.
    pub patience: Duration,
    /// How long a client may leave untaken what has come for it.
    pub stuck: Duration,
    /// How long a stream may carry nothing.
    pub idle: Duration,
    /// Hears what happens.
    pub log: Arc<dyn Fn(&ProxyEvent) + Send + Sync>,
}

impl ProxyConfig {
    /// For those addresses.
    pub fn new(listen: Vec<SocketAddr>) -> Self {
        Self {
            listen,
            hops: 3,
            handshake: HandshakeType::Hybrid768,
            upgrade: ExitUpgrade::Never,
            client: ClientOptions::default(),
            test_network: false,
            state: None,
            guards: GuardRules::default(),
            entries: Vec::new(),
            reuse: Duration::from_secs(600),
            spare: 2,
            expected: vec![80, 443],
            circuits: 256,
            connections: 2048,
            connections_per_address: 1024,
            greeting: Duration::from_secs(10),
            patience: Duration::from_secs(60),
            stuck: Duration::from_secs(300),
            idle: Duration::from_secs(3600),
            log: Arc::new(|_| {}),
        }
    }
}

/// What a proxy asks of its exits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitUpgrade {
    /// No upgrade.
    #[default]
    Never,
    /// One, and it goes on without if the exit has none. Whoever ends circuits while they are upgraded, as a guard can, brings the proxy to such an exit in the end.
    IfOffered,
    /// One, and no exit that has none is used. Not after `ntor`, and not with one hop: nothing could be asked.
    Always,
}

/// What happens at a proxy. Prints without targets and clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ProxyEvent {
    /// A request failed.
    Failed {
        /// Why, without where to.
        why: String,
    },
    /// A connection was neither SOCKS nor HTTP.
    Garbage {
        /// What was wrong with it.
        why: &'static str,
    },
    /// Circuits can't be built ahead.
    NoCircuits {
        /// Why.
        error: Error,
    },
    /// The guards can't be kept.
    GuardsNotSaved {
        /// Why.
        error: Error,
    },
    /// No place for a connection.
    TurnedAway,
}

impl fmt::Display for ProxyEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { why } => write!(f, "stream failed: {why}"),
            Self::Garbage { why } => write!(f, "refused a connection: {why}"),
            Self::NoCircuits { error } => write!(f, "can't build circuits ahead: {error}"),
            Self::GuardsNotSaved { error } => {
                write!(f, "can't keep the guards, and will draw others at the next start: {error}")
            }
            Self::TurnedAway => f.write_str("turned a connection away: all places are taken"),
        }
    }
}

/// A running proxy. Dropping it ends all its streams and circuits.
pub struct Proxy {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

/// What all of a proxy's tasks share.
struct Shared {
    config: ProxyConfig,
    pool: Arc<Pool>,
    seats: Arc<Seats>,
    counters: Arc<Counters>,
    journal: Arc<Journal>,
}

impl Proxy {
    /// Starts on the current runtime, with these relays.
    ///
    /// # Errors
    /// [`Error::Listen`]; [`Error::File`] if the guards can't be read; [`Error::Internal`] if TLS can't be set up.
    pub async fn start(config: ProxyConfig, relays: RelayList) -> Result<Self, Error> {
        let guards = match &config.state {
            Some(path) => Guards::load(path, config.guards)?,
            None => Guards::forgetful(config.guards),
        };
        files::raise_limit();
        let mut listeners = Vec::new();
        for address in &config.listen {
            let failed = |error: io::Error| Error::Listen { address: *address, why: error.to_string() };
            listeners.push(TcpListener::bind(address).await.map_err(failed)?);
        }
        let addresses = listeners.iter().zip(&config.listen);
        let addresses = addresses.map(|(listener, asked)| listener.local_addr().unwrap_or(*asked)).collect();
        let counters = Arc::<Counters>::default();
        let journal = Arc::new(Journal::new(Arc::clone(&config.log)));
        let client = Client::new(config.client.clone())?;
        let pool = Pool::new(client, &config, guards, relays, Arc::clone(&counters), Arc::clone(&journal));
        let seats = Seats::new(config.connections, config.connections_per_address);
        let shared = Arc::new(Shared { config, pool, seats, counters, journal });
        let mut tasks = vec![tokio::spawn(pool::keep_ready(Arc::clone(&shared.pool)))];
        for (number, listener) in listeners.into_iter().enumerate() {
            tasks.push(tokio::spawn(accept(Arc::clone(&shared), listener, number)));
        }
        Ok(Self { addresses, shared, tasks })
    }

    /// Where it listens, in the order of [`ProxyConfig::listen`].
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Gives it the relays of the moment. Circuits that are there stay.
    pub fn know(&self, relays: RelayList) {
        self.shared.pool.know(relays);
    }

    /// Its numbers at this moment.
    pub fn metrics(&self) -> ProxyMetrics {
        self.shared.metrics()
    }
}

impl Shared {
    fn metrics(&self) -> ProxyMetrics {
        let (connections, half_open) = self.seats.count();
        self.counters.snapshot(connections, half_open)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.shared.pool.end();
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

/// Takes connections as long as the proxy runs. They end with this task.
async fn accept(shared: Arc<Shared>, listener: TcpListener, number: usize) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((tcp, from)) => take(&shared, &mut connections, tcp, from, number),
            // Too many open files, most likely; others will close.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

fn take(shared: &Arc<Shared>, connections: &mut JoinSet<()>, tcp: TcpStream, from: SocketAddr, listener: usize) {
    let Some((seat, entry)) = shared.seats.enter(from.ip()) else {
        shared.counters.turned_away.add(1);
        shared.journal.say(ProxyEvent::TurnedAway);
        return;
    };
    if entry == Entry::Displaced {
        shared.counters.displaced.add(1);
    }
    let number = seat.number();
    let task = connections.spawn(serve::serve(Arc::clone(shared), tcp, from.ip(), listener, seat));
    shared.seats.set_abort(number, task);
}

/// The log, which strangers can't flood: a second has at most [`LINES`] lines.
struct Journal {
    log: Arc<dyn Fn(&ProxyEvent) + Send + Sync>,
    second: Mutex<(Instant, usize)>,
}

/// Lines of a second.
const LINES: usize = 10;

impl Journal {
    fn new(log: Arc<dyn Fn(&ProxyEvent) + Send + Sync>) -> Self {
        Self { log, second: Mutex::new((crate::clock::instant(), 0)) }
    }

    fn say(&self, event: ProxyEvent) {
        let now = crate::clock::instant();
        let mut second = locked(&self.second);
        if now.duration_since(second.0) >= Duration::from_secs(1) {
            *second = (now, 0);
        }
        second.1 += 1;
        let is_heard = second.1 <= LINES;
        drop(second);
        if is_heard {
            (self.log)(&event);
        }
    }
}
