//! A relay's numbers, for Prometheus.

use super::{Relay, RelayCounts, RelayHeld, Shared};
use crate::metrics::{Exposition, Readings};
use std::sync::Arc;

impl Relay {
    /// What writes its numbers of the moment; nothing once the relay is gone.
    pub fn readings(&self) -> Readings {
        let shared = Arc::downgrade(&self.shared);
        Arc::new(move |out| {
            if let Some(shared) = shared.upgrade() {
                write(out, &shared);
            }
        })
    }
}

/// Sizes of batches.
const SIZES: [&str; 8] = ["1", "2", "3", "4", "5", "6", "7", "8"];

fn write(out: &mut Exposition, shared: &Shared) {
    let (counts, held): (RelayCounts, RelayHeld) = (shared.counts(), shared.held());
    let is_exit = if shared.policy.is_empty() { 0.0 } else { 1.0 };
    out.gauge("candor_relay_exit", "1 if the relay is an exit to anywhere.", &[], is_exit);
    out.counter("candor_relay_cells_total", "Relay cells that were passed on, taken or made.", &[], counts.cells);
    let name = "candor_relay_handshakes_total";
    let help = "Circuit handshakes answered, by the link's own task or by a thread of the pool.";
    out.counter(name, help, &[("by", "link")], counts.handshakes_at_once);
    out.counter(name, help, &[("by", "pool")], counts.handshakes - counts.handshakes_at_once);
    let name = "candor_relay_handshake_batches_total";
    let help = "Handshakes that a thread of the pool did as one batch, by how many they were.";
    for (size, count) in SIZES.into_iter().zip(counts.handshake_batches) {
        out.counter(name, help, &[("size", size)], count);
    }
    let name = "candor_relay_upgrades_total";
    out.counter(name, "In-circuit upgrades answered.", &[], counts.upgrades);
    let name = "candor_relay_refused_total";
    let help = "What was refused: connections and circuits that were too many, handshakes and upgrades for which there was no time, replays.";
    out.counter(name, help, &[("what", "connection")], counts.refused_connections);
    out.counter(name, help, &[("what", "circuit")], counts.refused_circuits);
    out.counter(name, help, &[("what", "handshake")], counts.refused);
    out.counter(name, help, &[("what", "replay")], counts.replayed);
    for (name, help, value) in [
        ("candor_relay_links", "Links that are open.", counts.links),
        ("candor_relay_half_open", "Incoming connections that have not finished their handshake.", held.half_open),
        ("candor_relay_attempts", "Links that are being made to other relays.", held.attempts),
        ("candor_relay_circuits", "Circuit numbers on all links; a circuit that goes on has two.", held.circuits),
        ("candor_relay_streams", "Connections of the exit, open or being opened.", held.streams),
        ("candor_relay_queued_cells", "Cells queued on links, and pieces of data unread in streams.", held.cells),
        ("candor_relay_networks", "Networks of strangers that are remembered.", counts.networks),
    ] {
        out.gauge(name, help, &[], value as f64);
    }
}
