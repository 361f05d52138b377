//! A circuit of the world: its state machines, and where its measurement stands.

use super::Outcome;
use candor_onion::circuit::{ClientCircuit, HandshakeJob, Limits, RelayCircuit, StreamId};
use std::sync::Arc;
use std::time::Duration;

/// A relay's end of a circuit, from its creation.
pub(super) struct Relay {
    pub(super) machine: Box<RelayCircuit>,
    /// The handshake, until its time has passed.
    pub(super) job: Option<HandshakeJob>,
    /// The stream of the page, at the exit.
    pub(super) stream: Option<StreamId>,
}

pub(super) struct Circuit {
    pub(super) client: Box<ClientCircuit>,
    pub(super) relays: [Option<Relay>; 3],
    /// Indices of its connections, as far as they are there.
    pub(super) connections: [Option<u32>; 4],
    /// The client's link is there.
    pub(super) is_linked: bool,
    /// When the step that is under way began.
    pub(super) step_began: Duration,
    /// Further round trips that are still to be made.
    pub(super) round_trips: u32,
    pub(super) stream: Option<StreamId>,
    pub(super) fetch_began: Duration,
    /// The client has had CONNECTED.
    pub(super) is_connected: bool,
    /// What hosts take to pass on the request and a piece of the page.
    pub(super) page_hosts: Duration,
    /// There is an event for its deadline, or for an earlier one.
    pub(super) is_watched: bool,
    pub(super) done: bool,
    /// The world knows that it is done.
    pub(super) counted: bool,
    pub(super) outcome: Outcome,
}

impl Circuit {
    pub(super) fn new(limits: &Arc<Limits>, round_trips: u32, now: Duration) -> Self {
        Self {
            client: Box::new(ClientCircuit::new(Arc::clone(limits), true)),
            relays: [None, None, None],
            connections: [None; 4],
            is_linked: false,
            step_began: now,
            round_trips,
            stream: None,
            fetch_began: Duration::ZERO,
            is_connected: false,
            page_hosts: Duration::ZERO,
            is_watched: false,
            done: false,
            counted: false,
            outcome: Outcome { began: now, ..Outcome::default() },
        }
    }
}
