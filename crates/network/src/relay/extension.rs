//! Extensions: from a circuit to the next relay.

use super::circuit::{Circuit, Inner, Slot};
use super::crowds;
use super::links::{self, RelayLink};
use candor_onion::cell::DestroyReason;
use candor_onion::relay::message::NextRelay;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// An extension that waits for its link. The client may give it up at any time, and even ask for another one, before the link is there;
/// a link that comes for an extension that is over must not be used for the next one.
pub(super) struct Linking {
    generation: u64,
    task: AbortHandle,
}

impl Inner {
    /// The circuit no longer goes on: frees its number at the next relay, or stops getting a link.
    pub(super) fn next_gone(&mut self) {
        if let Some(linking) = self.linking.take() {
            linking.task.abort();
        }
        if let Some((link, number)) = self.next.take() {
            link.forget(number);
        }
    }
}

impl Circuit {
    /// Starts an extension. Called with the circuit locked.
    pub(super) fn extend(self: &Arc<Self>, inner: &mut Inner, next: &NextRelay) {
        let (identity, address) = match self.way_to(next) {
            Ok(way) => way,
            Err(reason) => return inner.machine.next_failed(reason),
        };
        if let Some(link) = self.relay.links.ready(&identity, address) {
            return self.next_link(inner, Ok(link));
        }
        inner.extensions += 1;
        let generation = inner.extensions;
        let circuit = Arc::clone(self);
        // It can't come to an end before this function does, since the circuit is locked.
        let task = tokio::spawn(async move {
            let link = links::reach(&circuit.relay, &circuit.previous, identity, address).await;
            circuit.with(|inner| {
                if inner.linking.take_if(|linking| linking.generation == generation).is_some() {
                    circuit.next_link(inner, link);
                }
            });
        });
        inner.linking = Some(Linking { generation, task: task.abort_handle() });
    }

    /// Which relay is next, and where.
    fn way_to(&self, next: &NextRelay) -> Result<([u8; 32], SocketAddr), DestroyReason> {
        // Whom we trust to answer is an Ed25519 identity. C tor's clients may name a relay by its RSA identity alone: then it is the relay that our list has by that name.
        let by_rsa = || next.rsa.as_ref().and_then(|rsa| self.relay.identity_of_rsa(rsa));
        let identity = next.ed25519.or_else(by_rsa).ok_or(DestroyReason::PROTOCOL)?;
        if identity == self.relay.id || Some(identity) == self.previous.peer {
            return Err(DestroyReason::PROTOCOL);
        }
        let may = |address: &&SocketAddr| {
            address.port() != 0 && (self.relay.may_extend_privately || crate::policy::is_public(address.ip()))
        };
        let address = next.addresses.iter().find(may).ok_or(DestroyReason::CONNECTFAILED)?;
        Ok((identity, *address))
    }

    /// Goes on with an extension, now that there is a link or the reason why there is none.
    fn next_link(self: &Arc<Self>, inner: &mut Inner, link: Result<Arc<RelayLink>, DestroyReason>) {
        if inner.machine.is_closed() {
            return;
        }
        let opened = link.and_then(|link| {
            let number = link.open(Slot { circuit: Arc::clone(self), from_client: false });
            if crowds::is_crowded(link.count(), self.relay.limits.circuits) {
                self.relay.crowded.notify_one();
            }
            Ok((link, number?))
        });
        match opened {
            Ok((link, number)) => {
                let wide = link.wide;
                inner.next = Some((link, number));
                inner.machine.next_ready(wide);
            }
            // Our own fault: the circuit ends here, and not behind us, so that its client blames the right hop.
            Err(reason @ (DestroyReason::RESOURCELIMIT | DestroyReason::HIBERNATING)) => inner.machine.close(reason),
            Err(reason) => inner.machine.next_failed(reason),
        }
    }
}
