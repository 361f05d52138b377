//! Creations: which circuits a relay takes in.

use super::circuit::{Circuit, Slot};
use super::journal::RelayEvent;
use super::links::RelayLink;
use super::networks::CircuitPlace;
use super::pool::Work;
use super::{Shared, crowds};
use crate::link::refuse;
use candor_onion::cell::{DestroyReason, Message};
use candor_onion::circuit::RelayCircuit;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::OwnedSemaphorePermit;

/// A circuit's share of the relay. Dropping it gives the share back.
pub(super) struct CircuitPermit {
    _all: OwnedSemaphorePermit,
    _place: CircuitPlace,
}

/// Takes in a circuit that CREATE2 or CREATE2V asks for, or refuses it; `last` if nothing is behind the cell in its record.
pub(super) fn create(relay: &Arc<Shared>, link: &Arc<RelayLink>, number: u32, message: Message, last: bool) {
    let (Message::Create2(create) | Message::Create2v(create)) = &message else { return };
    if relay.is_stopping() {
        return refuse(link, number, DestroyReason::HIBERNATING);
    }
    if let Some(slot) = link.circuit(number).filter(|slot| slot.from_client) {
        return slot.circuit.with(|inner| inner.machine.close(DestroyReason::PROTOCOL));
    }
    let permit = match permit(relay, link) {
        Ok(permit) => permit,
        Err(event) => {
            relay.refused_circuits.fetch_add(1, Ordering::Relaxed);
            relay.journal.tell(&event);
            return refuse(link, number, DestroyReason::RESOURCELIMIT);
        }
    };
    if !relay.replays.is_new(create.kind(), create.onionskin()) {
        relay.replayed.fetch_add(1, Ordering::Relaxed);
        return refuse(link, number, DestroyReason::PROTOCOL);
    }
    let limits = relay.limits.circuit;
    let (machine, job) = match message {
        Message::Create2v(create) => RelayCircuit::create_wide(create, limits),
        Message::Create2(create) => RelayCircuit::create(create, limits),
        _ => return,
    };
    let circuit = Arc::new(Circuit::new(relay, link, number, machine, permit));
    if let Err(reason) = link.accept(number, Slot { circuit: Arc::clone(&circuit), from_client: true }) {
        return refuse(link, number, reason);
    }
    submit(relay, Work::Create(job), &circuit, last);
}

/// Has the pool do it. If too much waits, a circuit ends: this one, or one of somebody who has more of them waiting.
pub(super) fn submit(relay: &Arc<Shared>, work: Work, circuit: &Arc<Circuit>, alone: bool) {
    if let Some(circuit) = relay.pool.submit(work, circuit, alone) {
        circuit.with(|inner| inner.machine.close(DestroyReason::RESOURCELIMIT));
        let refused = relay.pool.refused();
        if refused.is_power_of_two() {
            relay.journal.tell(&RelayEvent::Overloaded { refused });
        }
    }
}

fn permit(relay: &Shared, link: &RelayLink) -> Result<CircuitPermit, RelayEvent> {
    let over = |what, network| RelayEvent::TooMany { what, network };
    let place = link.place.circuit().map_err(|too_many| over(too_many.name(), true))?;
    let all = Arc::clone(&relay.circuits).try_acquire_owned().map_err(|_| over("circuits", false))?;
    if crowds::is_crowded(relay.circuits_used(), relay.limits.all_circuits) {
        relay.crowded.notify_one();
    }
    Ok(CircuitPermit { _all: all, _place: place })
}
