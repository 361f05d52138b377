//! Room for cells: when it runs short, the largest holder pays, not the next that has something to send.
//!
//! A circuit holds the cells that it has queued in both directions and the bytes that its streams have not written on. Its
//! [payer](Payer) pays for them: a stranger's network, or the circuit itself behind a listed relay. Of the payer [that pays](Bill), the
//! circuits that hold most are destroyed, until a quarter of all room is free. Cells that come meanwhile find a reserve.

use super::Shared;
use super::circuit::Circuit;
use super::payer::{Bill, Payer};
use std::collections::HashMap;
use std::sync::Arc;

/// Makes room whenever it is short, as long as the relay runs.
pub(super) async fn keep(relay: Arc<Shared>) {
    loop {
        relay.budget.short().await;
        make(&relay);
    }
}

/// What one payer holds.
#[derive(Default)]
struct Holder {
    total: usize,
    /// With what each holds, the largest last.
    circuits: Vec<(usize, Arc<Circuit>)>,
}

fn make(relay: &Shared) {
    let mut holders: HashMap<Payer, Holder> = HashMap::new();
    let slots = relay.links.all().into_iter().flat_map(|link| link.all());
    for circuit in slots.filter(|slot| slot.from_client).map(|slot| slot.circuit) {
        let held = circuit.held();
        let holder = holders.entry(circuit.payer()).or_default();
        holder.total += held;
        holder.circuits.push((held, circuit));
    }
    holders.values_mut().for_each(|holder| holder.circuits.sort_by_key(|(held, _)| *held));
    let held = holders.iter().map(|(payer, holder)| (*payer, holder.total)).collect();
    let mut bill = Bill::new(held, relay.limits.cells);
    while relay.budget.is_short() {
        let Some(payer) = bill.next() else { return };
        match holders.get_mut(&payer).and_then(|holder| holder.circuits.pop()) {
            Some((held, circuit)) if held > 0 => {
                circuit.overflow();
                bill.paid(payer, held);
            }
            // What is queued belongs to circuits that are gone; their links' drivers get rid of it.
            _ => return,
        }
    }
}
