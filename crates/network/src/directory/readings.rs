//! An authority's numbers, for Prometheus.

use super::authority::{Authority, AuthorityEvent, Shared};
use crate::metrics::{Exposition, Readings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has happened so far.
#[derive(Default)]
pub(super) struct Counters {
    consensuses: AtomicU64,
    failed: AtomicU64,
    peers: AtomicU64,
    refused: AtomicU64,
    state: AtomicU64,
    not_listed: AtomicU64,
    number: AtomicU64,
    relays: AtomicU64,
    signers: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, event: &AuthorityEvent) {
        let counter = match event {
            AuthorityEvent::Consensus { number, relays, signers } => {
                self.number.store(*number, Ordering::Relaxed);
                self.relays.store(*relays as u64, Ordering::Relaxed);
                self.signers.store(*signers as u64, Ordering::Relaxed);
                &self.consensuses
            }
            AuthorityEvent::NoConsensus { .. } => &self.failed,
            AuthorityEvent::Peer { .. } => &self.peers,
            AuthorityEvent::TooMany { .. } => &self.refused,
            AuthorityEvent::State { .. } => &self.state,
            AuthorityEvent::NotListed { .. } => &self.not_listed,
            AuthorityEvent::KeysRenewed | AuthorityEvent::FewFiles { .. } => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Authority {
    /// What writes its numbers of the moment; nothing once the authority is gone.
    pub fn readings(&self) -> Readings {
        let shared = Arc::downgrade(self.shared());
        Arc::new(move |out| {
            if let Some(shared) = shared.upgrade() {
                write(out, &shared);
            }
        })
    }
}

fn write(out: &mut Exposition, shared: &Shared) {
    let counters = &shared.counters;
    let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    out.counter("candor_directory_consensuses_total", "Consensuses that were made.", &[], now(&counters.consensuses));
    let name = "candor_directory_errors_total";
    let help = "What went wrong: rounds without a consensus, answers of other authorities, requests that were too many, relays that don't answer, writing.";
    out.counter(name, help, &[("what", "round")], now(&counters.failed));
    out.counter(name, help, &[("what", "peer")], now(&counters.peers));
    out.counter(name, help, &[("what", "refused")], now(&counters.refused));
    out.counter(name, help, &[("what", "state")], now(&counters.state));
    out.counter(name, help, &[("what", "relay")], now(&counters.not_listed));
    let held = shared.held();
    for (name, help, value) in [
        (
            "candor_directory_consensus_number",
            "The latest consensus: its beginning, since 1970.",
            now(&counters.number),
        ),
        ("candor_directory_consensus_relays", "Relays of the latest consensus.", now(&counters.relays)),
        ("candor_directory_consensus_signers", "Authorities that signed it.", now(&counters.signers)),
        ("candor_directory_registered_relays", "Relays that have registered and answered.", held.relays as u64),
        ("candor_directory_waiting_relays", "Relays that have registered and not answered yet.", held.waiting as u64),
        ("candor_directory_connections", "Connections.", held.connections as u64),
    ] {
        out.gauge(name, help, &[], value as f64);
    }
}
