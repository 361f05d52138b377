//! A relay's links: those that others make, those that it makes itself, and which of them leads to whom.

use super::Shared;
use super::attempts::{Asked, Attempts};
use super::circuit::{self, Slot};
use super::journal::RelayEvent;
use super::limits::RelayLimits;
use super::networks::{self, TooMany};
use super::payer::Asker;
use super::strangers::{Refused, Seated, Strangers};
use crate::link::{Confirmed, Ends, Link, Shaken, Us, Ways, accept, connect, drive, locked};
use crate::prefix::Prefix;
use crate::{Error, files};
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::Side;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) type RelayLink = Link<Slot, Place>;

pub(super) struct Links {
    most: usize,
    /// A permit for each link there may be, from the first byte on.
    permits: Arc<Semaphore>,
    /// Strangers need a place here as well, so that an eighth of all links is left for others.
    strangers: Arc<Strangers>,
    attempts: Arc<Attempts>,
    all: Mutex<Vec<Arc<RelayLink>>>,
    ways: Ways<Slot, DestroyReason, Place>,
}

impl Links {
    pub(super) fn new(limits: &RelayLimits) -> Self {
        let most = limits.links.min(Semaphore::MAX_PERMITS);
        Self {
            most,
            permits: Arc::new(Semaphore::new(most)),
            strangers: Strangers::new((most - most / 8).max(1), limits),
            attempts: Attempts::new(limits),
            all: Mutex::default(),
            ways: Ways::new(),
        }
    }

    /// Every link.
    pub(super) fn all(&self) -> Vec<Arc<RelayLink>> {
        locked(&self.all).clone()
    }

    /// How many places for links are taken, those of connections without a finished handshake included.
    pub(super) fn taken(&self) -> usize {
        self.most - self.permits.available_permits()
    }

    /// How many links are being made to other relays.
    pub(super) fn attempts(&self) -> usize {
        self.attempts.count()
    }

    /// An open link for whoever asks for that relay at that address.
    pub(super) fn ready(&self, identity: &[u8; 32], address: SocketAddr) -> Option<Arc<RelayLink>> {
        self.ways.ready(identity, address)
    }

    /// Closes the links of listed relays that `is_listed` no longer holds for. They may come back as strangers.
    pub(super) fn close_delisted(&self, is_listed: impl Fn(&[u8; 32]) -> bool) {
        for link in self.all() {
            if link.place.is_listed() && !link.peer.as_ref().is_some_and(&is_listed) {
                link.close().into_iter().for_each(|slot| slot.link_closed(&link));
            }
        }
    }

    /// Waits until no link is left.
    pub(super) async fn none_left(&self) {
        let _ = self.permits.acquire_many(u32::try_from(self.most).unwrap_or(u32::MAX)).await;
    }

    fn add(&self, link: &Arc<RelayLink>) {
        locked(&self.all).push(Arc::clone(link));
    }

    fn remove(&self, link: &Arc<RelayLink>) {
        locked(&self.all).retain(|other| !Arc::ptr_eq(other, link));
        self.ways.forget(link);
    }

    /// How many links lead to that listed relay at its listed address, whoever made them.
    fn count_of(&self, identity: &[u8; 32]) -> usize {
        let is_one = |link: &&Arc<RelayLink>| link.place.is_listed() && link.peer.as_ref() == Some(identity);
        locked(&self.all).iter().filter(is_one).count()
    }
}

/// A link's share of the relay.
pub(super) struct Place {
    network: networks::Place,
    seated: Option<Seated>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Deref for Place {
    type Target = networks::Place;

    fn deref(&self) -> &networks::Place {
        &self.network
    }
}

impl Place {
    /// A cell has come.
    pub(super) fn used(&self) {
        if let Some(seated) = &self.seated {
            seated.used();
        }
    }

    /// Whether the link has circuits.
    pub(super) fn set_in_use(&self, in_use: bool) {
        if let Some(seated) = &self.seated {
            seated.set_in_use(in_use);
        }
    }

    /// Comes back when a newcomer gets the place.
    async fn evicted(&self) {
        evicted(self.seated.as_ref()).await;
    }

    /// Gives back the place for a link. Circuits may keep the rest alive a little longer.
    fn leave(&self) {
        if let Some(seated) = &self.seated {
            seated.leave();
        }
        locked(&self.permit).take();
    }
}

async fn evicted(seated: Option<&Seated>) {
    match seated {
        Some(seated) => seated.evicted().await,
        None => std::future::pending().await,
    }
}

/// What a connection holds from its first byte on.
struct Admission {
    permit: OwnedSemaphorePermit,
    seated: Option<Seated>,
    network: networks::Place,
}

fn from_network(too_many: TooMany) -> RelayEvent {
    RelayEvent::TooMany { what: too_many.name(), network: true }
}

fn in_all(refused: Refused) -> RelayEvent {
    let what = match refused {
        Refused::Links => "links",
        Refused::HalfOpen => "connections without a finished handshake",
    };
    RelayEvent::TooMany { what, network: false }
}

impl Admission {
    /// Room for a connection from that address, if there is any; otherwise what is to be told.
    fn new(relay: &Shared, address: SocketAddr) -> Result<Self, RelayEvent> {
        let links = &relay.links;
        let listed = relay.is_listed_at(address.ip());
        let network = match relay.is_directorys(address.ip()) {
            true => relay.networks.admit_directory(address.ip()),
            false => relay.networks.admit(address.ip(), listed),
        };
        let network = network.map_err(from_network)?;
        let seated = match network.network().filter(|_| !listed && !network.is_directorys()) {
            Some(network) => Some(links.strangers.enter(network, true).map_err(in_all)?),
            None => None,
        };
        let permit = Arc::clone(&links.permits).try_acquire_owned().map_err(|_| in_all(Refused::Links))?;
        Ok(Self { permit, seated, network })
    }

    /// What the link holds from now on. `proved`: it is a listed relay's, which carries many clients, so it does not count as one of its
    /// network. Whoever has only come from a listed relay's address is a stranger like any other, who needs a stranger's place. Whoever comes from a
    /// directory's needs none.
    fn after_handshake(self, relay: &Shared, address: SocketAddr, proved: bool) -> Result<Place, RelayEvent> {
        let network = self.network.handshake_done(address.ip(), proved).map_err(from_network)?;
        let seated = match (network.network(), self.seated) {
            (None, _) => None,
            (Some(_), None) if network.is_directorys() => None,
            (Some(_), Some(seated)) => {
                seated.handshake_done();
                Some(seated)
            }
            (Some(network), None) => Some(relay.links.strangers.enter(network, false).map_err(in_all)?),
        };
        Ok(Place { network, seated, permit: Mutex::new(Some(self.permit)) })
    }
}

/// Takes in connections until the relay stops.
pub(super) async fn listen(relay: Arc<Shared>, listener: TcpListener) {
    loop {
        let (tcp, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // It would come again at once.
                    relay.journal.tell(&match files::is_out_of_files(&error) {
                        true => RelayEvent::NoFiles,
                        false => RelayEvent::LinkFailed { why: error.to_string() },
                    });
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = relay.stopped() => return,
        };
        match Admission::new(&relay, address) {
            Ok(admission) => {
                tokio::spawn(take_in(Arc::clone(&relay), tcp, address, admission));
            }
            // The connection is closed at once, which its other side sees.
            Err(event) => relay.refused_connection(&event),
        }
    }
}

async fn take_in(relay: Arc<Shared>, tcp: TcpStream, address: SocketAddr, admission: Admission) {
    let accepting = async {
        let credentials = relay.credentials()?;
        let us = Us { identity: &credentials.identity, addresses: &relay.addresses };
        let accepting = accept(&credentials.acceptor, tcp, address, us, relay.clock.now(), relay.limits.link);
        match (&admission.seated, admission.network.network()) {
            (Some(_), _) => relay.turns.run(accepting).await,
            // From a listed relay's address: it doesn't wait behind strangers.
            (None, Some(_)) => relay.unproven.run(accepting).await,
            (None, None) => accepting.await,
        }
    };
    let accepted = tokio::select! {
        accepted = accepting => accepted,
        () = relay.stopped() => return,
        () = evicted(admission.seated.as_ref()) => return,
    };
    match accepted {
        Ok(shaken) => {
            let proved = shaken.link.peer.is_some_and(|identity| {
                let listed = relay.listed_address(&identity).map(|listed| listed.ip().to_canonical());
                listed == Some(address.ip().to_canonical())
                    && relay.links.count_of(&identity) < relay.limits.links_per_relay
            });
            let place = match admission.after_handshake(&relay, address, proved) {
                Ok(place) => place,
                Err(event) => return relay.refused_connection(&event),
            };
            let (link, driven) = made(&relay, shaken, Side::Responder, place);
            if let Some(identity) = link.peer.filter(|_| link.confirmed != Confirmed::No) {
                relay.links.ways.keep(identity, &link);
            }
            driven.await;
        }
        Err(error) => {
            relay.journal.tell(&RelayEvent::LinkFailed { why: without_address(error, "an incoming connection") });
        }
    }
}

/// A link to that relay at that address, for a circuit that came over `from`: the one that there is, or a new one.
pub(super) async fn reach(
    relay: &Arc<Shared>,
    from: &Arc<RelayLink>,
    identity: [u8; 32],
    address: SocketAddr,
) -> Result<Arc<RelayLink>, DestroyReason> {
    let listed = relay.listed_address(&identity) == Some(address);
    let connecting = || async {
        let unlimited = listed || relay.networks.is_exempt(address.ip());
        let target = (!unlimited).then(|| Prefix::around(address.ip()));
        let asked = Asked { asker: Asker::of(from), target };
        let _attempt = relay.links.attempts.take(&asked).ok_or(DestroyReason::RESOURCELIMIT)?;
        let dial = |target| relay.links.strangers.dial(asked.asker, target);
        let seated = target.map(dial).transpose().map_err(|_| DestroyReason::RESOURCELIMIT)?;
        let permit = Arc::clone(&relay.links.permits).try_acquire_owned().map_err(|_| DestroyReason::RESOURCELIMIT)?;
        let connecting = async {
            let credentials = relay.credentials()?;
            let us = Us { identity: &credentials.identity, addresses: &relay.addresses };
            let (now, limit) = (relay.clock.now(), relay.limits.link);
            let connecting = connect(&relay.connector, None, address, Some(identity), Some(us), now, limit);
            match target {
                Some(_) => relay.turns.run(connecting).await,
                None => connecting.await,
            }
        };
        let connected = tokio::select! {
            connected = connecting => connected,
            () = relay.stopped() => return Err(DestroyReason::HIBERNATING),
        };
        let shaken = connected.map_err(|error| {
            let wrong = matches!(error, Error::Link { source: candor_onion::Error::WrongIdentity, .. });
            if error == Error::NoFiles {
                relay.journal.tell(&RelayEvent::NoFiles);
                return DestroyReason::RESOURCELIMIT;
            }
            relay.journal.tell(&RelayEvent::LinkFailed { why: without_address(error, "another relay") });
            if wrong { DestroyReason::OR_IDENTITY } else { DestroyReason::CONNECTFAILED }
        })?;
        let network = if listed { networks::Place::Listed } else { relay.networks.dialled(address.ip()) };
        let place = Place { network, seated, permit: Mutex::new(Some(permit)) };
        let (link, driven) = made(relay, shaken, Side::Initiator, place);
        tokio::spawn(driven);
        Ok(link)
    };
    let link = relay.links.ways.reach(identity, address, connecting).await?;
    match relay.is_stopping() {
        true => Err(DestroyReason::HIBERNATING),
        false => Ok(link),
    }
}

/// A link that has come about, and the work of driving it until its end.
fn made(
    relay: &Arc<Shared>,
    shaken: Shaken,
    side: Side,
    place: Place,
) -> (Arc<RelayLink>, impl Future<Output = ()> + Send + use<>) {
    let (group, is_post_quantum) = &shaken.group;
    let peer = shaken.link.peer;
    if !is_post_quantum {
        relay.journal.tell(&RelayEvent::NotPostQuantum { group: group.clone(), relay: peer.is_some() });
    }
    let ours: Vec<_> = relay.addresses.iter().copied().chain([shaken.local]).collect();
    let ends = Ends {
        remote: shaken.remote,
        dialled: side == Side::Initiator,
        listed: peer.and_then(|identity| relay.listed_address(&identity)),
        peer_says: &shaken.link.peer_addresses,
        sees_us_at: shaken.link.our_address,
        ours: &ours,
    };
    let budget = Arc::clone(&relay.budget);
    let link = Arc::new(Link::new(&shaken, ends.confirmed(), side, relay.limits.circuits, budget, place));
    relay.links.add(&link);
    if relay.is_stopping() {
        link.close();
    }
    let (relay, driven) = (Arc::clone(relay), Arc::clone(&link));
    let Shaken { stream, decoder, .. } = shaken;
    let work = async move {
        // The circuits are told how the link ends; nobody else needs to know.
        let mut batch = circuit::Batch::new();
        let on_cell = |came| batch.take(&relay, &driven, came);
        tokio::select! {
            _ = drive(stream, decoder, &driven.outbox, relay.limits.stuck, on_cell) => {}
            // The connection is closed at once, since somebody else has its place.
            () = driven.place.evicted() => {}
        }
        relay.links.remove(&driven);
        for slot in driven.close() {
            slot.link_closed(&driven);
        }
        driven.place.leave();
    };
    (link, work)
}

/// Addresses stay out of the log: a client's is nobody's business, and those that a client asked for are its own words.
fn without_address(error: Error, whom: &str) -> String {
    match error {
        Error::Connect { why, .. } => format!("can't connect to {whom}: {why}"),
        Error::Tls { why, .. } => format!("TLS with {whom}: {why}"),
        Error::Link { source, .. } => format!("link handshake with {whom}: {source}"),
        Error::Timeout { .. } => format!("link handshake with {whom} timed out"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_gets_into_the_log() {
        let address = "192.0.2.77:4242".parse().unwrap();
        let why = || "refused".to_owned();
        let source = candor_onion::Error::WrongIdentity;
        for error in [
            Error::Connect { address, why: why() },
            Error::Tls { address, why: why() },
            Error::Link { address, source },
            Error::Timeout { what: format!("making a link with {address}"), after: Duration::from_secs(1) },
        ] {
            let line = without_address(error, "another relay");
            assert!(line.contains("another relay") && !line.contains("192.0.2"), "{line}");
        }
    }
}
