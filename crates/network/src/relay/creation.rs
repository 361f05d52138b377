//! Creations: which circuits a relay takes in.

use super::circuit::{Circuit, Slot};
use super::links::RelayLink;
use super::{RelayEvent, Shared};
use crate::link::refuse;
use candor_onion::cell::{DestroyReason, Message};
use candor_onion::circuit::RelayCircuit;
use std::sync::Arc;

/// Takes in a circuit that CREATE2 or CREATE2V asks for, or refuses it; `last` if nothing has come behind the cell so far.
pub(super) fn create(relay: &Arc<Shared>, link: &Arc<RelayLink>, number: u32, message: Message, last: bool) {
    if relay.is_stopping() {
        return refuse(link, number, DestroyReason::HIBERNATING);
    }
    if let Some(slot) = link.circuit(number).filter(|slot| slot.from_client) {
        return slot.circuit.with(|inner| inner.machine.close(DestroyReason::PROTOCOL));
    }
    let Ok(permit) = Arc::clone(&relay.circuits).try_acquire_owned() else {
        return refuse(link, number, DestroyReason::RESOURCELIMIT);
    };
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
    if let Some(circuit) = relay.pool.submit(job, &circuit, last) {
        circuit.with(|inner| inner.machine.close(DestroyReason::RESOURCELIMIT));
        let refused = relay.pool.refused();
        if refused.is_power_of_two() {
            relay.log(&RelayEvent::Overloaded { refused });
        }
    }
}
