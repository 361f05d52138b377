//! What planted mistakes do.

use super::World;
use super::relays::{Held, Place};
use crate::faults::fault::What;
use crate::faults::judge::{DOWN, UP};
use crate::faults::plant::{End, Hurt, Kept, Plant, Work};
use crate::faults::wire::{MOST_CIRCUITS, Node};
use crate::faults::{PATIENCE, STALL};
use candor_onion::cell::{DestroyReason, Message, PAYLOAD};
use candor_onion::circuit::{ClientAction, RelayAction};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Cells in place of one, for [`Plant::Pile`].
const PILE: usize = 64;

/// Circuits that a link may have.
pub(super) fn most_circuits(plant: Option<Plant>) -> usize {
    if plant == Some(Plant::ManyCircuits) { usize::MAX } else { MOST_CIRCUITS }
}

impl World<'_> {
    pub(super) fn is_planted(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    /// What an end makes of a stream's bytes that have come to it; nothing if it loses them.
    pub(super) fn spoilt(&mut self, end: End, client: usize, index: usize, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let pieces = &mut self.pieces[end as usize];
        *pieces += 1;
        let Some(plant) = self.plant.filter(|_| *pieces == 2) else { return Some(bytes) };
        let way = if end == End::Client { DOWN } else { UP };
        match plant {
            Plant::Lose(of) if of == end => return None,
            Plant::Repeat(of) if of == end => self.judge.got(client, index, way, &bytes),
            Plant::Alter(of) if of == end => bytes[0] ^= 1,
            Plant::Forge(of) if of == end => {
                let from = self.judge.arrived(client, index, way);
                bytes = self.judge.bytes(client, index, way)[from..].to_vec();
            }
            Plant::Drift if end == End::Client => {
                static RUNS: AtomicU32 = AtomicU32::new(0);
                let run = RUNS.fetch_add(1, Ordering::Relaxed);
                self.note(format_args!("run {run}"));
            }
            _ => {}
        }
        Some(bytes)
    }

    /// A stream's bytes, as they are, on a link.
    pub(super) fn leak(&mut self, client: usize, index: usize, way: usize, place: Place) {
        let mut payload = Box::new([0; PAYLOAD]);
        let bytes = self.judge.bytes(client, index, way);
        let length = bytes.len().min(PAYLOAD);
        payload[..length].copy_from_slice(&bytes[..length]);
        let _ = self.wires[place.wire].sides[place.end].outbox.push(place.number, Message::Relay(payload));
    }

    /// How long a client sees no progress before it asks its hops, and how long it waits for their answers.
    pub(super) fn waits(&self) -> (Duration, Duration) {
        match self.plant {
            Some(Plant::GiveUpLate) => (STALL, 3 * PATIENCE),
            Some(Plant::Hurt(Hurt::Outage)) => (STALL / 10, PATIENCE / 10),
            _ => (STALL, PATIENCE),
        }
    }

    /// What a client's circuit wants next.
    pub(super) fn client_wants(&mut self, client: usize) -> Option<ClientAction> {
        let churns = self.is_planted(Plant::Churn(Work::Client));
        let client = &mut self.clients[client];
        let churned = || client.streams.keys().next().map(|stream| ClientAction::Writable { stream: *stream });
        client.machine.poll().or_else(|| churned().filter(|_| churns))
    }

    /// What a relay's circuit wants next.
    pub(super) fn relay_wants(&mut self, relay: usize, circuit: u32) -> Option<RelayAction> {
        let churns = self.is_planted(Plant::Churn(Work::Relay));
        let held = self.relays[relay].circuits.get_mut(&circuit)?;
        let churned = || held.streams.keys().next().map(|stream| RelayAction::Writable { stream: *stream });
        held.machine.poll().or_else(|| churned().filter(|_| churns))
    }

    /// Whether what has come to an end of a link is not looked at.
    pub(super) fn leaves_unfinished(&self, wire: usize, end: usize) -> bool {
        let is_open =
            matches!(self.wires[wire].sides[end].node, Node::Client(client) if self.clients[client].is_streaming);
        is_open && self.is_planted(Plant::Unfinished)
    }

    /// An end of a link has sent what it had.
    pub(super) fn pumped(&mut self, wire: usize, end: usize) {
        if self.is_planted(Plant::Churn(Work::Links)) {
            self.dirty.insert((wire, end));
        }
    }

    /// Queues a cell again and again.
    pub(super) fn pile(&mut self, place: Place, message: &Message) {
        if self.is_planted(Plant::Pile) && matches!(message, Message::Relay(_)) {
            let outbox = &mut self.wires[place.wire].sides[place.end].outbox;
            (1..PILE).for_each(|_| drop(outbox.push(place.number, message.clone())));
        }
    }

    /// Whether a relay keeps a circuit that is over.
    pub(super) fn keeps(&self, held: &Held) -> bool {
        match self.plant {
            Some(Plant::Forget(Kept::Circuits)) => true,
            Some(Plant::Forget(Kept::Streams)) => !held.streams.is_empty(),
            _ => false,
        }
    }

    /// Closes circuits at a relay for nothing: those of clients that `whose` picks.
    pub(super) fn close_circuits(&mut self, relay: usize, whose: impl Fn(usize) -> bool) {
        let those = self.relays[relay].circuits.iter().filter(|(_, held)| held.owner.is_some_and(&whose));
        for circuit in those.map(|(circuit, _)| *circuit).collect::<Vec<_>>() {
            self.with(relay, circuit, |held, _| held.machine.close(DestroyReason::PROTOCOL));
        }
    }

    /// Something happens at a relay that must hurt nobody.
    pub(super) fn hurts(&mut self, relay: usize, hurt: Hurt) {
        if self.is_planted(Plant::Hurt(hurt)) {
            self.close_circuits(relay, |owner| owner == 0);
        }
    }

    /// A fault is over.
    pub(super) fn hurts_after(&mut self, what: What) {
        match what {
            What::ClientStops { .. } => self.hurts(0, Hurt::ClientReads),
            What::TargetStops { .. } => self.hurts(2, Hurt::TargetReads),
            _ => {}
        }
    }
}
