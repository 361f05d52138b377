//! A relay's links: those that others make, those that it makes itself, and which of them leads to whom.

use super::circuit::{self, Slot};
use super::{RelayEvent, Shared};
use crate::Error;
use crate::link::{Link, Shaken, Ways, accept, connect, drive, locked};
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::Side;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) type RelayLink = Link<Slot>;

pub(super) struct Links {
    most: usize,
    /// A permit for each link there may be, from the first byte on.
    permits: Arc<Semaphore>,
    /// A permit for each link that is being made to another relay: an eighth of all, since clients say where to.
    attempts: Semaphore,
    all: Mutex<Vec<Arc<RelayLink>>>,
    ways: Ways<Slot, DestroyReason>,
}

impl Links {
    pub(super) fn new(most: usize) -> Self {
        let attempts = Semaphore::new(most.div_ceil(8));
        Self { most, permits: Arc::new(Semaphore::new(most)), attempts, all: Mutex::default(), ways: Ways::new() }
    }

    /// Every link.
    pub(super) fn all(&self) -> Vec<Arc<RelayLink>> {
        locked(&self.all).clone()
    }

    /// An open link to that relay.
    pub(super) fn ready(&self, identity: &[u8; 32]) -> Option<Arc<RelayLink>> {
        self.ways.ready(identity)
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
            () = relay.stopped() => return,
        };
        // Over the limit the connection is closed again, which its other side sees at once.
        if let Ok(permit) = Arc::clone(&relay.links.permits).try_acquire_owned() {
            tokio::spawn(take_in(Arc::clone(&relay), tcp, address, permit));
        }
    }
}

async fn take_in(relay: Arc<Shared>, tcp: TcpStream, address: SocketAddr, permit: OwnedSemaphorePermit) {
    let accepted = tokio::select! {
        accepted = accept(&relay.acceptor, tcp, address, &relay.identity, relay.limits.link) => accepted,
        () = relay.stopped() => return,
    };
    match accepted {
        Ok(shaken) => {
            let (link, driven) = made(&relay, shaken, Side::Responder, permit);
            if let Some(identity) = link.peer {
                relay.links.ways.keep(identity, &link);
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
    let connecting = || async {
        let full = |_| DestroyReason::RESOURCELIMIT;
        let _attempt = relay.links.attempts.try_acquire().map_err(full)?;
        let permit = Arc::clone(&relay.links.permits).try_acquire_owned().map_err(full)?;
        let us = Some(&relay.identity);
        let connected = tokio::select! {
            connected = connect(&relay.connector, address, Some(identity), us, relay.limits.link) => connected,
            () = relay.stopped() => return Err(DestroyReason::HIBERNATING),
        };
        let shaken = connected.map_err(|error| {
            let wrong = matches!(error, Error::Link { source: candor_onion::Error::WrongIdentity, .. });
            relay.log(&RelayEvent::LinkFailed { why: error.to_string() });
            if wrong { DestroyReason::OR_IDENTITY } else { DestroyReason::CONNECTFAILED }
        })?;
        let (link, driven) = made(relay, shaken, Side::Initiator, permit);
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
        let on_cell = |cell, last| circuit::on_cell(&relay, &driven, cell, last);
        let _ = drive(stream, decoder, &driven.outbox, relay.limits.stuck, on_cell).await;
        relay.links.remove(&driven);
        for slot in driven.close() {
            slot.link_closed(&driven);
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
