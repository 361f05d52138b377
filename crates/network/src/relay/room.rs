//! Room for cells: when it runs short, the largest holder pays, not the next that has something to send.
//!
//! A circuit holds the cells that it has queued in both directions and the bytes that its streams have not written on. They count for
//! the link that the circuit came over. From the link that holds most, the circuits that hold most are destroyed, until a quarter of all
//! room is free. Cells that come meanwhile find a reserve.

use super::Shared;
use super::circuit::Circuit;
use std::sync::Arc;

/// Makes room whenever it is short, as long as the relay runs.
pub(super) async fn keep(relay: Arc<Shared>) {
    loop {
        relay.budget.short().await;
        make(&relay);
    }
}

/// What came over one link.
struct Holder {
    total: usize,
    /// With what each holds, the largest last.
    circuits: Vec<(usize, Arc<Circuit>)>,
}

fn make(relay: &Shared) {
    let holder = |circuits: Vec<Arc<Circuit>>| {
        let mut circuits: Vec<_> = circuits.into_iter().map(|circuit| (circuit.held(), circuit)).collect();
        circuits.sort_by_key(|(held, _)| *held);
        Holder { total: circuits.iter().map(|(held, _)| held).sum(), circuits }
    };
    let of_link = |link: &Arc<super::links::RelayLink>| {
        link.all().into_iter().filter(|slot| slot.from_client).map(|slot| slot.circuit).collect()
    };
    let mut holders: Vec<Holder> = relay.links.all().iter().map(of_link).map(holder).collect();
    while relay.budget.is_short() {
        let Some(holder) = holders.iter_mut().max_by_key(|holder| holder.total) else { return };
        match holder.circuits.pop() {
            Some((held, circuit)) if held > 0 => {
                circuit.overflow();
                holder.total -= held;
            }
            // What is queued belongs to circuits that are gone; their links' drivers get rid of it.
            _ => return,
        }
    }
}
