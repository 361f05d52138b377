//! A relay: links from clients and relays, circuits over them, extensions to other relays, and, if its policy lists anything, an
//! exit.
//!
//! | who | does |
//! |---|---|
//! | a task for each link | reads cells, takes off or adds a layer, queues what comes of it on the same or another link |
//! | the threads of the handshake [`pool`] | answer creations, but for those that come alone: the link's task does that |
//! | a task for each exit stream | a TCP connection |
//! | a task for each new link to another relay | connects once for all circuits that want it |
//!
//! Every queue is bounded, and nobody waits in front of one with cells in hand: over a bound, the circuit is destroyed with
//! RESOURCELIMIT. What a hostile neighbour can make a relay keep is therefore [`RelayLimits`], whatever it sends.

mod circuit;
mod creation;
mod exit;
mod extension;
mod fair;
mod links;
mod lookups;
mod pool;
mod room;
mod shutdown;
mod streams;

use crate::keys::RelayKeys;
use crate::link::Budget;
use crate::policy::Policy;
use crate::relay_list::ListedRelay;
use crate::tls::{Acceptor, Connector};
use crate::{Error, clock};
use candor_onion::circuit::Limits;
use candor_onion::handshake::HandshakeType;
use candor_onion::link::RelayIdentity;
use links::Links;
use lookups::Lookups;
use pool::Pool;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use streams::Streams;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

/// What a relay is to be.
pub struct RelayConfig {
    /// Where to listen; port 0 takes any.
    pub listen: SocketAddr,
    /// The address that others reach it by, if that is another one.
    pub advertise: Option<SocketAddr>,
    /// A name for people.
    pub name: Option<String>,
    /// Where it may connect to as an exit. The default: nowhere.
    pub policy: Policy,
    /// The handshakes that it offers.
    pub handshakes: Vec<HandshakeType>,
    /// Bounds.
    pub limits: RelayLimits,
    /// Is told what happens.
    pub log: Arc<dyn Fn(&RelayEvent) + Send + Sync>,
}

impl RelayConfig {
    /// A relay at `listen` that is no exit, offers all handshakes, and says nothing.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            advertise: None,
            name: None,
            policy: Policy::default(),
            handshakes: HandshakeType::ALL.to_vec(),
            limits: RelayLimits::default(),
            log: Arc::new(|_| {}),
        }
    }
}

/// Bounds on what others may make a relay do and keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayLimits {
    /// Threads for handshakes.
    pub handshake_threads: usize,
    /// Handshakes that may wait; what comes on top is refused with RESOURCELIMIT, from the link that has most waiting.
    pub handshake_queue: usize,
    /// Links, in and out.
    pub links: usize,
    /// Circuits on one link.
    pub circuits: usize,
    /// Circuits on all links.
    pub all_circuits: usize,
    /// Connections of the exit at a time. When there are so many, the link and the circuit with the most make room for others.
    pub streams: usize,
    /// Cells in all queues and unread in all streams together; 100,000 are 50 MB.
    pub cells: usize,
    /// How long a link may take to come about.
    pub link: Duration,
    /// How long a neighbour may take nothing of what is queued for it, before its link is closed. A second is enough if three quarters of
    /// [`cells`](Self::cells) are used up.
    pub stuck: Duration,
    /// How long an exit's connection may take to come about.
    pub connect: Duration,
    /// How long an exit's connection may carry nothing.
    pub idle_stream: Duration,
    /// A circuit's own bounds.
    pub circuit: Limits,
}

impl Default for RelayLimits {
    fn default() -> Self {
        Self {
            handshake_threads: std::thread::available_parallelism().map_or(1, usize::from),
            handshake_queue: 256,
            links: 4096,
            circuits: 8192,
            all_circuits: 1 << 18,
            streams: 4096,
            cells: 400_000,
            link: Duration::from_secs(10),
            stuck: Duration::from_secs(60),
            connect: Duration::from_secs(15),
            idle_stream: Duration::from_secs(30 * 60),
            circuit: Limits::default(),
        }
    }
}

/// What a relay has to tell its operator. No client's addresses, no targets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayEvent {
    /// A link was made without a post-quantum key exchange: what it carries is as safe as its circuits.
    NotPostQuantum {
        /// What was used.
        group: String,
        /// Whether the other side is a relay.
        relay: bool,
    },
    /// A link from or to another relay or client did not come about.
    LinkFailed {
        /// Why.
        why: String,
    },
    /// Handshakes come faster than they can be answered. Said at the first that is refused, and whenever their number has doubled.
    Overloaded {
        /// How many have been refused so far.
        refused: u64,
    },
}

impl fmt::Display for RelayEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPostQuantum { group, relay } => {
                let who = if *relay { "a relay" } else { "a client" };
                write!(f, "a link with {who} has no post-quantum key exchange ({group})")
            }
            Self::LinkFailed { why } => write!(f, "a link failed: {why}"),
            Self::Overloaded { refused } => {
                write!(f, "more handshakes than can be answered: {refused} refused so far; see --handshake-threads")
            }
        }
    }
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// Handshakes answered.
    pub handshakes: u64,
    /// Of these, those that came alone and were answered by the link's own task, not by a thread of the pool.
    pub handshakes_at_once: u64,
    /// Handshakes refused because too many waited.
    pub refused: u64,
    /// Relay cells that were passed on or taken.
    pub cells: u64,
    /// Links there are.
    pub links: usize,
    /// Circuits there are.
    pub circuits: usize,
}

/// What a relay holds at this moment for others. All of it is given back when they are gone, so this is what to watch, and what tests
/// compare before and after an attack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayHeld {
    /// Links, from the end of their handshake on.
    pub links: usize,
    /// Circuit numbers on all links. A circuit that goes on to another relay has two.
    pub circuits: usize,
    /// Connections of the exit, open or being opened.
    pub streams: usize,
    /// Cells queued on links, and pieces of data unread in streams.
    pub cells: usize,
}

/// A running relay. Dropping it stops it at once; [`Relay::shutdown`] lets it finish what is in flight.
pub struct Relay {
    shared: Arc<Shared>,
    listed: ListedRelay,
    tasks: Vec<JoinHandle<()>>,
}

/// What all of a relay's tasks share.
struct Shared {
    identity: RelayIdentity,
    limits: RelayLimits,
    policy: Policy,
    log: Arc<dyn Fn(&RelayEvent) + Send + Sync>,
    acceptor: Acceptor,
    connector: Connector,
    links: Links,
    pool: Pool,
    budget: Arc<Budget>,
    streams: Arc<Streams>,
    lookups: Lookups,
    /// Private addresses may be extended to: the relay itself has one.
    may_extend_privately: bool,
    /// A permit for each circuit there may be.
    circuits: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
    cells: AtomicU64,
}

impl Relay {
    /// Starts a relay on the current runtime. It is ready when this returns.
    ///
    /// # Errors
    /// [`Error::Listen`]; [`Error::Internal`] if a library fails.
    pub async fn start(keys: &RelayKeys, config: RelayConfig) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Listen { address: config.listen, why: error.to_string() };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let listed = keys.listed(config.name, config.advertise.unwrap_or(address), &config.handshakes)?;
        let onion_keys = keys.onion_keys(&config.handshakes)?;
        let limits = config.limits;
        let shared = Arc::new(Shared {
            identity: keys.link_identity(clock::now())?,
            limits,
            policy: config.policy.on([listed.address().ip(), address.ip()]),
            log: config.log,
            acceptor: Acceptor::new()?,
            connector: Connector::new()?,
            links: Links::new(limits.links),
            pool: Pool::start(onion_keys, limits.handshake_threads, limits.handshake_queue)?,
            budget: Budget::new(limits.cells),
            streams: Streams::new(limits.streams),
            lookups: Lookups::new(),
            may_extend_privately: !crate::policy::is_public(address.ip()) && !address.ip().is_unspecified(),
            circuits: Arc::new(Semaphore::new(limits.all_circuits.min(Semaphore::MAX_PERMITS))),
            stopping: watch::Sender::new(false),
            cells: AtomicU64::new(0),
        });
        let tasks = vec![
            tokio::spawn(links::listen(Arc::clone(&shared), listener)),
            tokio::spawn(shutdown::keep_time(Arc::clone(&shared))),
            tokio::spawn(room::keep(Arc::clone(&shared))),
        ];
        Ok(Self { shared, listed, tasks })
    }

    /// Its line for a relay list, with the address that it has.
    pub fn listed(&self) -> &ListedRelay {
        &self.listed
    }

    /// What it has done so far.
    pub fn counts(&self) -> RelayCounts {
        let links = self.shared.links.all();
        RelayCounts {
            handshakes: self.shared.pool.answered(),
            handshakes_at_once: self.shared.pool.answered_here(),
            refused: self.shared.pool.refused(),
            cells: self.shared.cells.load(Ordering::Relaxed),
            links: links.len(),
            circuits: links.iter().map(|link| link.count()).sum(),
        }
    }

    /// What it holds for others now.
    pub fn held(&self) -> RelayHeld {
        let links = self.shared.links.all();
        RelayHeld {
            links: links.len(),
            circuits: links.iter().map(|link| link.count()).sum(),
            streams: self.shared.streams.count(),
            cells: self.shared.budget.used(),
        }
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
    fn log(&self, event: &RelayEvent) {
        (self.log)(event);
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
        write!(f, "Relay({})", self.listed)
    }
}
