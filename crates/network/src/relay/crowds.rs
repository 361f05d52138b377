//! Room for circuits, on one link and in all: when it runs short, whoever has most gives some up.
//!
//! Circuits are counted here by who asks for them: a network of strangers, or a listed relay's link. When seven eighths are in use of the
//! circuits that a link of ours may have, or of all, the asker with the most loses those that have been idle longest, until a quarter is
//! free. New ones find the last eighth meanwhile. Without this, a few networks could fill the link between two relays with circuits that
//! carry one cell an hour, and nobody else's circuit could go on there. Circuits that came over the link count too, as its relay's: a
//! neighbour that fills a link pays before those who only use it.

use super::Shared;
use super::circuit::{Circuit, Slot};
use super::payer::Asker;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The time between two looks at all circuits.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes room whenever it is short, as long as the relay runs.
pub(super) async fn keep(relay: Arc<Shared>) {
    loop {
        relay.crowded.notified().await;
        let links = relay.links.all();
        let most = relay.limits.circuits;
        for link in links.iter().filter(|link| is_crowded(link.count(), most)) {
            thin(link.all().into_iter(), link.count(), most);
        }
        let (used, most) = (relay.circuits_used(), relay.limits.all_circuits);
        if is_crowded(used, most) {
            thin(links.iter().flat_map(|link| link.all()).filter(|slot| slot.from_client), used, most);
        }
        sleep(PAUSE).await;
    }
}

/// Whether so many circuits are more than seven eighths of `most`.
pub(super) fn is_crowded(used: usize, most: usize) -> bool {
    used > most - most / 8
}

/// Ends circuits until no more than three quarters of `most` are used.
fn thin(slots: impl Iterator<Item = Slot>, used: usize, most: usize) {
    let mut askers: HashMap<Asker, Vec<(Instant, Arc<Circuit>)>> = HashMap::new();
    for Slot { circuit, .. } in slots {
        askers.entry(circuit.asker()).or_default().push((circuit.last_cell(), circuit));
    }
    // The idlest last.
    askers.values_mut().for_each(|circuits| circuits.sort_by_key(|(last_cell, _)| Reverse(*last_cell)));
    for _ in most - most / 4..used {
        let largest = askers.values_mut().max_by_key(|circuits| circuits.len());
        let Some((_, circuit)) = largest.and_then(Vec::pop) else { return };
        circuit.overflow();
    }
}
