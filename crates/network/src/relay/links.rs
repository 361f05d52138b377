//! A relay's links: those that others make, those that it makes itself, and which of them leads to whom.

use super::circuit::{self, Slot};
use super::{RelayEvent, Shared};
use crate::Error;
use crate::link::{Link, Shaken, accept, connect, drive, locked};
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::Side;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

pub(super) type RelayLink = Link<Slot>;

/// A relay that others are waiting to reach, or have reached.
type Way = Arc<OnceCell<Arc<RelayLink>>>;

pub(super) struct Links {
    most: usize,
    /// A permit for each link there may be, from the first byte on.
    permits: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    all: Vec<Arc<RelayLink>>,
    ways: HashMap<[u8; 32], Way>,
}

impl Links {
    pub(super) fn new(most: usize) -> Self {
        Self { most, permits: Arc::new(Semaphore::new(most)), state: Mutex::default() }
    }

    /// Every link.
    pub(super) fn all(&self) -> Vec<Arc<RelayLink>> {
        locked(&self.state).all.clone()
    }

    /// An open link to that relay.
    pub(super) fn ready(&self, identity: &[u8; 32]) -> Option<Arc<RelayLink>> {
        let state = locked(&self.state);
        let link = state.ways.get(identity)?.get()?;
        (!link.is_closed()).then(|| Arc::clone(link))
    }

    /// Waits until no link is left.
    pub(super) async fn none_left(&self) {
        let _ = self.permits.acquire_many(u32::try_from(self.most).unwrap_or(u32::MAX)).await;
    }

    /// Where links to that relay are kept; a closed one is forgotten.
    fn way(&self, identity: [u8; 32]) -> Way {
        let mut state = locked(&self.state);
        let way = state.ways.entry(identity).or_default();
        if way.get().is_some_and(|link| link.is_closed()) {
            *way = Way::default();
        }
        Arc::clone(way)
    }

    fn add(&self, link: &Arc<RelayLink>) {
        locked(&self.state).all.push(Arc::clone(link));
    }

    fn remove(&self, link: &Arc<RelayLink>) {
        let mut state = locked(&self.state);
        state.all.retain(|other| !Arc::ptr_eq(other, link));
        if let Some(identity) = link.peer
            && state.ways.get(&identity).and_then(|way| way.get()).is_some_and(|kept| Arc::ptr_eq(kept, link))
        {
            state.ways.remove(&identity);
        }
    }
}

/// Takes in connections until the relay stops.
pub(super) async fn listen(relay: Arc<Shared>, listener: TcpListener) {
    loop {
        let (tcp, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, mostly; it would come again at once.
                    relay.log(&RelayEvent::LinkFailed { why: error.to_string() });
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = relay.stopped.notified() => return,
        };
        // Over the limit the connection is closed again, which its other side sees at once.
        if let Ok(permit) = Arc::clone(&relay.links.permits).try_acquire_owned() {
            tokio::spawn(take_in(Arc::clone(&relay), tcp, address, permit));
        }
    }
}

async fn take_in(relay: Arc<Shared>, tcp: TcpStream, address: SocketAddr, permit: OwnedSemaphorePermit) {
    match accept(&relay.acceptor, tcp, address, &relay.identity, relay.limits.link).await {
        Ok(shaken) => {
            let (link, driven) = made(&relay, shaken, Side::Responder, permit);
            if let Some(identity) = link.peer {
                // If somebody is connecting there just now, that link will be used, and this one only for what it brings.
                let _ = relay.links.way(identity).set(Arc::clone(&link));
            }
            driven.await;
        }
        Err(error) => relay.log(&RelayEvent::LinkFailed { why: without_address(error) }),
    }
}

/// A link to that relay: the one that there is, or a new one.
pub(super) async fn reach(
    relay: &Arc<Shared>,
    identity: [u8; 32],
    address: SocketAddr,
) -> Result<Arc<RelayLink>, DestroyReason> {
    let way = relay.links.way(identity);
    let connecting = || async {
        let permit = Arc::clone(&relay.links.permits).try_acquire_owned().map_err(|_| DestroyReason::RESOURCELIMIT)?;
        let us = Some(&relay.identity);
        let shaken = connect(&relay.connector, address, Some(identity), us, relay.limits.link).await;
        let shaken = shaken.map_err(|error| {
            let wrong = matches!(error, Error::Link { source: candor_onion::Error::WrongIdentity, .. });
            relay.log(&RelayEvent::LinkFailed { why: error.to_string() });
            if wrong { DestroyReason::OR_IDENTITY } else { DestroyReason::CONNECTFAILED }
        })?;
        let (link, driven) = made(relay, shaken, Side::Initiator, permit);
        tokio::spawn(driven);
        Ok(link)
    };
    let link = way.get_or_try_init(connecting).await?;
    match relay.is_stopping() {
        true => Err(DestroyReason::HIBERNATING),
        false => Ok(Arc::clone(link)),
    }
}

/// A link that has come about, and the work of driving it until its end.
fn made(
    relay: &Arc<Shared>,
    shaken: Shaken,
    side: Side,
    permit: OwnedSemaphorePermit,
) -> (Arc<RelayLink>, impl Future<Output = ()> + Send + use<>) {
    let (group, is_post_quantum) = &shaken.group;
    if !is_post_quantum {
        relay.log(&RelayEvent::NotPostQuantum { group: group.clone(), relay: shaken.link.peer.is_some() });
    }
    let link = Arc::new(Link::new(&shaken, side, relay.limits.circuits, Arc::clone(&relay.budget)));
    relay.links.add(&link);
    if relay.is_stopping() {
        link.close();
    }
    let (relay, driven) = (Arc::clone(relay), Arc::clone(&link));
    let Shaken { stream, decoder, .. } = shaken;
    let work = async move {
        let _permit = permit;
        // How a link ends is its circuits' business, and they are told.
        let _ = drive(stream, decoder, &driven.outbox, |cell| circuit::on_cell(&relay, &driven, cell)).await;
        relay.links.remove(&driven);
        for slot in driven.close() {
            slot.circuit.link_closed(slot.from_client);
        }
    };
    (link, work)
}

/// A client's address is nobody's business, not even the operator's log's.
fn without_address(error: Error) -> String {
    match error {
        Error::Tls { why, .. } => format!("TLS with who connected: {why}"),
        Error::Link { source, .. } => format!("link with who connected: {source}"),
        Error::Timeout { .. } => "who connected took too long".to_owned(),
        other => other.to_string(),
    }
}
