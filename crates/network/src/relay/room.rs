//! Room for cells: when it runs short, the largest holder pays, not the next that has something to send.
//!
//! A circuit holds the cells that it has queued in both directions and the bytes that its streams have not written on. Its
//! [payer](Payer) pays for them: a stranger's network, or the circuit itself behind a listed relay. Of the payer [that pays](Bill), the
//! circuits that hold most are destroyed, until a quarter of all room is free. Cells that come meanwhile find a reserve.
//!
//! A link holds a batch that is on its way. If its other side has taken next to nothing of it for a second, a stranger's network pays for that, too,
//! and once none of its circuits holds anything, with such links. So nobody loses a link because its host was busy for a second, unless it holds most.

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
    /// With what each should have been rid of.
    links: Vec<(usize, Arc<RelayLink>)>,
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
        let overdue = link.outbox.overdue();
        if let Some(payer) = Payer::of_link(&link).filter(|_| overdue > 0) {
            let holder = holders.entry(payer).or_default();
            holder.total += overdue;
            holder.links.push((overdue, link));
        }
    }
    holders.values_mut().for_each(|holder| holder.circuits.sort_by_key(|(held, _)| *held));
    let held = holders.iter().map(|(payer, holder)| (*payer, holder.total)).collect();
    let mut bill = Bill::new(held, relay.limits.cells);
    while relay.budget.is_short() {
        let Some(payer) = bill.next() else { return };
        let Some(holder) = holders.get_mut(&payer) else { return };
        if let Some((held, circuit)) = holder.circuits.pop_if(|(held, _)| *held > 0) {
            circuit.overflow();
            bill.paid(payer, held);
        } else if let Some((overdue, link)) = holder.links.pop() {
            link.outbox.give_up();
            bill.paid(payer, overdue);
        } else {
            // What is queued belongs to circuits that are gone; their links' drivers get rid of it.
            return;
        }
    }
}
