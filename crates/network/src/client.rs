//! A client: circuits through relays of a list, and streams through circuits.
//!
//! ```no_run
//! # async fn example() -> Result<(), candor_network::Error> {
//! use candor_network::{Client, ClientOptions, HandshakeType, RelayList};
//! let list = RelayList::load("relays.jsonl".as_ref())?;
//! let path = list.path(3, HandshakeType::Hybrid768, "127.0.0.1", 8000)?;
//! let client = Client::new(ClientOptions::default())?;
//! let circuit = client.circuit(&path, HandshakeType::Hybrid768).await?;
//! let stream = circuit.open("127.0.0.1", 8000).await?; // tokio's AsyncRead and AsyncWrite
//! # Ok(()) }
//! ```

mod circuit;
mod path;
#[cfg(test)]
pub(crate) mod scripted;

pub use circuit::Circuit;

use crate::Error;
use crate::clock::Clock;
use crate::link::{Budget, Came, Confirmed, Link, Recent, Ways, connect, drive};
use crate::relay_list::ListedRelay;
use crate::tls::Connector;
use candor_onion::cell::Message;
use candor_onion::circuit::{Cause, Failure, Limits, Side};
use candor_onion::handshake::HandshakeType;
use candor_onion::layer::Crypto;
use circuit::State;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A client's bounds and choices.
#[derive(Clone)]
pub struct ClientOptions {
    /// The layers' cryptography. [`HandshakeType::Ntor`] has no room to ask for it and comes to tor1 always.
    pub crypto: Crypto,
    /// The address of this machine that links are made from. The system chooses one by default.
    pub from: Option<IpAddr>,
    /// How long a link may take to come about.
    pub link: Duration,
    /// How long a stream may take to be opened by the exit.
    pub stream: Duration,
    /// A circuit's bounds, among them how long a hop may take.
    pub limits: Limits,
    /// The time of day, by which relays' certificates are checked.
    pub clock: Clock,
    /// Is told of each link without a post-quantum key exchange: the relay, and what was used.
    pub not_post_quantum: Arc<Listener>,
}

/// Hears of a relay and a key exchange.
type Listener = dyn Fn(&str, &str) + Send + Sync;

impl Default for ClientOptions {
    /// CGO, ten seconds for links and hops and twenty for streams, and nobody is told.
    fn default() -> Self {
        Self {
            crypto: Crypto::Cgo,
            from: None,
            link: Duration::from_secs(10),
            stream: Duration::from_secs(20),
            limits: Limits::default(),
            clock: Clock::default(),
            not_post_quantum: Arc::new(|_, _| {}),
        }
    }
}

/// A client. Its circuits to the same first relay share one link; links stay as long as the client and the relay do.
pub struct Client {
    options: ClientOptions,
    connector: Connector,
    ways: Ways<Arc<State>, Error>,
    budget: Arc<Budget>,
}

type ClientLink = Link<Arc<State>>;

/// Cells that all of a client's links may have queued and its streams unread; a client only queues what it makes, and waits in front of
/// long queues.
const CELLS: usize = 1 << 20;
/// How long a relay may take nothing of what is queued for it, before its link is closed.
const STUCK: Duration = Duration::from_secs(60);
/// Circuits on one link.
const CIRCUITS: usize = 1 << 16;

impl Client {
    /// A client without links. The first in a process takes some tens of milliseconds, in which AWS-LC gathers entropy, so that no link
    /// and no circuit has to wait for that.
    ///
    /// # Errors
    /// [`Error::Internal`] if TLS can't be set up.
    pub fn new(options: ClientOptions) -> Result<Self, Error> {
        Ok(Self::with(Connector::new()?, options))
    }

    /// The same, with a connector that is there.
    pub(crate) fn with(connector: Connector, options: ClientOptions) -> Self {
        Self { options, connector, ways: Ways::new(), budget: Budget::new(CELLS) }
    }

    /// Builds a circuit through `path`, the first relay first, with the same handshake at each.
    ///
    /// # Errors
    /// [`Error::Handshake`] if a relay does not offer the handshake; [`Error::FirstHop`], [`Error::Circuit`], which name the hop and
    /// the cause.
    pub async fn circuit(&self, path: &[&ListedRelay], handshake: HandshakeType) -> Result<Circuit, Error> {
        let Some((first, rest)) = path.split_first() else {
            return Err(Error::Handshake("a circuit needs a relay".to_owned()));
        };
        for relay in path {
            relay.offer(handshake)?;
        }
        let mut circuit = self.first_hop(first, handshake).await?;
        for relay in rest {
            circuit.extend(relay, handshake).await?;
        }
        Ok(circuit)
    }

    /// A circuit of one hop, to be [extended](Circuit::extend).
    ///
    /// A link over which nothing comes while an answer is waited for takes no circuits any more: the next one is made over a new link.
    ///
    /// # Errors
    /// As for [`Self::circuit`]; [`Error::Silent`] if nothing at all came over the link in time.
    pub async fn first_hop(&self, relay: &ListedRelay, handshake: HandshakeType) -> Result<Circuit, Error> {
        let offer = relay.offer(handshake)?;
        let link = self.link(relay).await?;
        let heard = link.heard();
        let state = State::new(Arc::clone(&link), &self.options, &self.budget)
            .map_err(|source| Error::FirstHop { relay: relay.to_string(), source: Box::new(source) })?;
        let mut circuit = Circuit::new(state);
        const LATE: Failure = Failure { hop: Some(1), cause: Cause::Timeout };
        match circuit.create(relay, offer).await {
            Err(Error::Circuit { failure: LATE, .. }) if link.heard() == heard => {
                link.retire();
                Err(Error::Silent { hop: 1, relay: relay.to_string(), after: self.options.limits.build })
            }
            made => made.map(|()| circuit),
        }
    }

    /// Makes the link to a relay, if there is none.
    ///
    /// # Errors
    /// [`Error::FirstHop`].
    pub async fn connect(&self, relay: &ListedRelay) -> Result<(), Error> {
        self.link(relay).await.map(|_| ())
    }

    /// Closes all links, with the circuits on them.
    pub fn disconnect(&self) {
        for link in self.ways.drain() {
            link.close().into_iter().for_each(|state| state.link_closed());
        }
    }

    async fn link(&self, relay: &ListedRelay) -> Result<Arc<ClientLink>, Error> {
        let connecting = || async {
            let expect = Some(*relay.identity());
            let ClientOptions { from, link, clock, .. } = &self.options;
            let shaken = connect(&self.connector, *from, relay.address(), expect, None, clock.now(), *link).await?;
            let (group, is_post_quantum) = &shaken.group;
            if !is_post_quantum {
                (self.options.not_post_quantum)(&relay.to_string(), group);
            }
            // Good for the address in the list that it was asked for by, and for no other.
            let budget = Arc::clone(&self.budget);
            let link: Arc<ClientLink> =
                Arc::new(Link::new(&shaken, Confirmed::No, Side::Initiator, CIRCUITS, budget, ()));
            let driven = Arc::clone(&link);
            tokio::spawn(async move {
                let mut recent = Recent::none();
                let on_cell = |came| {
                    let Came::Cell(cell, _) = came else { return recent.forget() };
                    driven.hear();
                    let over = matches!(cell.message, Message::Destroy(_));
                    if let Some(state) = driven.circuit_of(cell.circuit, &mut recent) {
                        state.receive(cell.message);
                        if over {
                            driven.forget(cell.circuit);
                            driven.outbox.clear(cell.circuit);
                        }
                    }
                    if over {
                        recent.forget();
                    }
                };
                let _ = drive(shaken.stream, shaken.decoder, &driven.outbox, STUCK, on_cell).await;
                driven.close().into_iter().for_each(|state| state.link_closed());
            });
            Ok(link)
        };
        let made = self.ways.reach(*relay.identity(), relay.address(), connecting).await;
        made.map_err(|source| Error::FirstHop { relay: relay.to_string(), source: Box::new(source) })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.disconnect();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({} links)", self.ways.count())
    }
}

#[cfg(test)]
mod tests {
    use super::scripted::{Script, Scripted};
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_link_that_is_given_up_without_a_circuit_is_closed() {
        let mute = Scripted::start(Script::Mute).await;
        let mut options = ClientOptions::default();
        options.limits.build = Duration::from_millis(50);
        let client = Client::new(options).unwrap();
        for links in 1..=6 {
            let error = client.first_hop(&mute.listed, HandshakeType::NtorV3).await.unwrap_err();
            assert!(matches!(error, Error::Silent { hop: 1, .. }), "{error}");
            assert_eq!(mute.links(), links, "a new one each time");
        }
        let closed = async {
            while mute.open() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let patience = Duration::from_secs(30);
        tokio::time::timeout(patience, closed).await.expect("its end sees each of them close, while the client lives");
        // The twin: a link that answers stays without a circuit, and one that is retired stays with one.
        let honest = Scripted::start(Script::Honest).await;
        let client = Client::new(ClientOptions::default()).unwrap();
        for _ in 0..2 {
            drop(client.first_hop(&honest.listed, HandshakeType::NtorV3).await.unwrap());
        }
        assert_eq!((honest.links(), honest.open()), (1, 1));
        let link = client.link(&honest.listed).await.unwrap();
        let circuit = client.first_hop(&honest.listed, HandshakeType::NtorV3).await.unwrap();
        link.retire();
        assert!(circuit.silent_hop(patience).await.is_none(), "it goes on");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn padding_is_a_sign_of_life_and_no_answer() {
        let second = Duration::from_secs(1);
        for (script, answers) in [(Script::Pads, false), (Script::Honest, true)] {
            let relay = Scripted::start(script).await;
            let client = Client::new(ClientOptions::default()).unwrap();
            let circuit = client.first_hop(&relay.listed, HandshakeType::NtorV3).await.unwrap();
            let patience = if answers { 30 * second } else { second };
            let stuck = circuit.silent_hop(patience).await;
            assert!(if answers { stuck.is_none() } else { matches!(stuck, Some(Error::Late { .. })) }, "{stuck:?}");
            assert!(!circuit.is_retired(), "{script:?} lives");
        }
    }
}
