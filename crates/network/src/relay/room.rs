//! Room for cells: when it runs short, the largest holder pays, not the next that has something to send.
//!
//! A circuit holds the cells that it has queued in both directions and the bytes that its streams have not written on. Its
//! [payer](Payer) pays for them: a stranger's network, or the circuit itself behind a listed relay. Of the payer [that pays](Bill), the
//! circuits that hold most are destroyed, until a quarter of all room is free. Cells that come meanwhile find a reserve.
//!
//! A link holds a batch that is on its way. While its other side doesn't take it, a stranger's network pays for that, too, and once none of its circuits
//! holds anything, with such links: those that have taken next to nothing for a second, or any if the network holds more than a quarter of all room. So
//! nobody loses a link because its host was busy for a second, unless it holds most.

use super::Shared;
use super::circuit::Circuit;
use super::links::RelayLink;
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
    /// With whether each has been stuck for some time, and what it should be rid of; those that have, last.
    links: Vec<(bool, usize, Arc<RelayLink>)>,
}

fn make(relay: &Shared) {
    let mut holders: HashMap<Payer, Holder> = HashMap::new();
    for link in relay.links.all() {
        for circuit in link.all().into_iter().filter(|slot| slot.from_client).map(|slot| slot.circuit) {
            let held = circuit.held();
            let holder = holders.entry(circuit.payer()).or_default();
            holder.total += held;
            holder.circuits.push((held, circuit));
        }
        let stuck = link.outbox.stuck();
        if let Some(payer) = Payer::of_link(&link).filter(|_| stuck > 0) {
            let holder = holders.entry(payer).or_default();
            holder.total += stuck;
            holder.links.push((link.outbox.overdue() > 0, stuck, link));
        }
    }
    for holder in holders.values_mut() {
        holder.circuits.sort_by_key(|(held, _)| *held);
        holder.links.sort_by_key(|(is_overdue, stuck, _)| (*is_overdue, *stuck));
    }
    let held = holders.iter().map(|(payer, holder)| (*payer, holder.total)).collect();
    let mut bill = Bill::new(held, relay.limits.cells);
    while relay.budget.is_short() {
        let Some(payer) = bill.next() else { return };
        let Some(holder) = holders.get_mut(&payer) else { return };
        if let Some((held, circuit)) = holder.circuits.pop_if(|(held, _)| *held > 0) {
            circuit.overflow();
            bill.paid(payer, held);
        } else if let Some((is_overdue, stuck, link)) = holder.links.pop() {
            if is_overdue || holder.total > relay.limits.cells / 4 {
                link.outbox.give_up();
            }
            bill.paid(payer, stuck);
        } else {
            // What is queued belongs to circuits that are gone; their links' drivers get rid of it.
            return;
        }
    }
}
