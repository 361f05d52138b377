//! The exit's streams, and the target behind them.

use super::{Event, World};
use crate::faults::judge::{DOWN, UP};
use crate::faults::outbox::SHORT;
use crate::faults::plant::{End, Hurt, Plant};
use candor_onion::cell::PAYLOAD;
use candor_onion::circuit::StreamId;
use candor_onion::relay::message::{Connected, EndReason};
use std::time::Duration;

/// How long the exit's connection to the target takes, and until it takes bytes that have come for it.
pub(super) const TARGET: Duration = Duration::from_millis(5);
/// Bytes of the target that go into a circuit at a time.
const PIECE: usize = 16 << 10;

/// A stream at the exit.
pub(super) struct Stream {
    /// Its place among the client's.
    index: usize,
    is_connected: bool,
    /// Bytes for the target that it has not taken.
    pub(super) unread: usize,
    /// Waits until the circuit takes more.
    waits: bool,
    is_scheduled: bool,
    pub(super) last: Duration,
}

impl Stream {
    pub(super) fn new(index: usize, now: Duration) -> Self {
        Self { index, is_connected: false, unread: 0, waits: false, is_scheduled: false, last: now }
    }
}

impl World<'_> {
    /// Bytes for the target have come to the exit.
    pub(super) fn exit_receives(&mut self, circuit: u32, stream: StreamId, bytes: Vec<u8>) {
        let Some(held) = self.relays[2].circuits.get_mut(&circuit) else { return };
        let Some(owner) = held.owner else { return };
        let Some(of_exit) = held.streams.get_mut(&stream) else {
            held.machine.consumed(stream, bytes.len());
            return;
        };
        of_exit.unread += bytes.len();
        of_exit.last = self.now;
        let index = of_exit.index;
        if self.plant == Some(Plant::Hoard(End::Exit)) && self.target_stopped {
            held.machine.consumed(stream, bytes.len());
        }
        let unread = held.streams.values().map(|stream| stream.unread).sum();
        if let Some(bytes) = self.spoilt(End::Exit, owner, index, bytes) {
            self.judge.got(owner, index, UP, &bytes);
        }
        self.judge.unread(owner, 0, unread, self.limits.circuit_unread);
        self.schedule_target(circuit, stream, TARGET);
    }

    /// The target is looked at soon.
    pub(super) fn schedule_target(&mut self, circuit: u32, stream: StreamId, after: Duration) {
        let Some(held) = self.relays[2].circuits.get_mut(&circuit) else { return };
        let Some(of_exit) = held.streams.get_mut(&stream) else { return };
        if !std::mem::replace(&mut of_exit.is_scheduled, true) {
            self.after(after, Event::Target { circuit, stream });
        }
    }

    fn stream_at_exit(&mut self, circuit: u32, stream: StreamId) -> Option<&mut Stream> {
        self.relays[2].circuits.get_mut(&circuit)?.streams.get_mut(&stream)
    }

    /// Every target of the exit is looked at soon.
    pub(super) fn wake_targets(&mut self) {
        let streams =
            self.relays[2].circuits.iter().flat_map(|(circuit, held)| held.streams.keys().map(|id| (*circuit, *id)));
        for (circuit, stream) in streams.collect::<Vec<_>>() {
            self.schedule_target(circuit, stream, Duration::ZERO);
        }
    }

    /// The target takes what there is for it, and gives what the circuit takes.
    pub(super) fn target(&mut self, circuit: u32, stream: StreamId) {
        let (now, instant) = (self.now, self.instant());
        if self.relays[2].frozen {
            if let Some(stream) = self.stream_at_exit(circuit, stream) {
                stream.is_scheduled = false;
            }
            return;
        }
        if self.is_planted(Plant::Spin) {
            self.after(Duration::ZERO, Event::Target { circuit, stream });
        }
        let Some(held) = self.relays[2].circuits.get_mut(&circuit) else { return };
        let (Some(owner), Some(of_exit)) = (held.owner, held.streams.get_mut(&stream)) else { return };
        of_exit.is_scheduled = false;
        if self.target_stopped {
            return;
        }
        of_exit.last = now;
        let index = of_exit.index;
        if !std::mem::replace(&mut of_exit.is_connected, true) {
            // The client may have given the stream up.
            let _ = held.machine.connected(stream, Connected { address: Some([10, 0, 0, 4].into()) });
        }
        held.machine.consumed(stream, std::mem::take(&mut of_exit.unread));
        of_exit.waits = false;
        let previous = held.previous;
        let mut room =
            SHORT.saturating_sub(self.wires[previous.wire].sides[previous.end].outbox.queued(previous.number));
        while !self.judge.is_sent(owner, index, DOWN) {
            if room == 0 {
                of_exit.waits = true;
                self.relays[2].waiting.insert(circuit);
                break;
            }
            let bytes = self.judge.unsent(owner, index, DOWN);
            let piece = &bytes[..bytes.len().min(PIECE)];
            let accepted = held.machine.send(stream, piece, instant).unwrap_or(0);
            room = room.saturating_sub(accepted.div_ceil(PAYLOAD));
            self.judge.sent(owner, index, DOWN, accepted);
            if accepted == 0 {
                break;
            }
        }
        let is_sent = self.judge.is_sent(owner, index, DOWN) || self.plant == Some(Plant::EndEarly(End::Client));
        let is_there = self.judge.is_complete(owner, index, UP) || self.plant == Some(Plant::EndEarly(End::Exit));
        if is_sent && is_there {
            held.streams.remove(&stream);
            let _ = held.machine.end_stream(stream, EndReason::DONE);
        }
        if self.is_planted(Plant::Plaintext(End::Exit)) {
            self.leak(owner, index, DOWN, previous);
        }
        self.act(2, circuit);
        self.hurts(2, Hurt::Nothing);
    }

    /// Queues at this end have become shorter.
    pub(super) fn relay_has_room(&mut self, relay: usize, wire: usize, end: usize) {
        if relay != 2 {
            return;
        }
        let outbox = &self.wires[wire].sides[end].outbox;
        let circuits = &self.relays[2].circuits;
        let is_short = |circuit: &&u32| {
            circuits
                .get(circuit)
                .is_none_or(|held| held.previous.wire == wire && outbox.queued(held.previous.number) < SHORT)
        };
        let ready: Vec<u32> = self.relays[2].waiting.iter().filter(is_short).copied().collect();
        for circuit in ready {
            self.relays[2].waiting.remove(&circuit);
            let Some(held) = self.relays[2].circuits.get(&circuit) else { continue };
            let waits: Vec<_> = held.streams.iter().filter(|(_, stream)| stream.waits).map(|(id, _)| *id).collect();
            waits.into_iter().for_each(|stream| self.schedule_target(circuit, stream, Duration::ZERO));
        }
    }
}
