//! Packets, bytes and cells between neighbours.

use super::{Event, World};
use crate::faults::outbox::SHORT;
use crate::faults::plant::{Kept, Plant};
use crate::faults::wire::{Node, Wire};
use crate::model::Fate;
use crate::transport::Segment;
use candor_onion::cell::{CELL, Cell, MOST_CELL};
use std::time::Duration;

/// Bytes that a socket takes before whoever writes must wait.
const SOCKET: u64 = 64 << 10;
/// Cells that are written at a time: as many as fit a TLS record.
const BATCH: usize = 31;
/// How long a neighbour may take nothing: `RelayLimits::stuck` of `candor-network`.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a link may take to come about, in seconds: `RelayLimits::link` of `candor-network`.
const LINK: u32 = 10;

/// Names of links, for those who look at them.
pub(super) fn name(wire: usize) -> &'static str {
    ["client-guard", "guard-middle", "middle-exit", "bystander-guard"].get(wire).copied().unwrap_or("flooder's link")
}

impl World<'_> {
    pub(super) fn packet(&mut self, wire: usize, to: usize, segment: &Segment) {
        let Wire { ends, sides, cuts, line, .. } = &mut self.wires[wire];
        if sides[to].dead {
            if *cuts == 0 && segment.length > 0 {
                let delay = line.delay;
                self.after(delay, Event::Reset { wire, end: 1 - to });
            }
            return;
        }
        ends[to].receive(segment, self.now);
        self.arrived(wire, to);
        self.flush(wire, to);
    }

    pub(super) fn timer(&mut self, wire: usize, end: usize) {
        let Wire { ends, timers, sides, .. } = &mut self.wires[wire];
        if timers[end] != Some(self.now) || sides[end].dead {
            return;
        }
        timers[end] = None;
        if ends[end].deadline().is_some_and(|deadline| deadline <= self.now) {
            ends[end].tick(self.now);
        }
        if ends[end].has_given_up() {
            self.lost(wire, end, "nothing was acknowledged");
        }
        self.dirty.insert((wire, end));
    }

    /// Sends the segments of an end.
    fn flush(&mut self, wire: usize, end: usize) {
        let Wire { ends, ways, timers, cuts, .. } = &mut self.wires[wire];
        while let Some(segment) = ends[end].poll() {
            if *cuts == 0
                && let Fate::Arrives(at) = ways[end].enqueue(self.now, segment.bytes())
            {
                self.agenda.add(at, Event::Packet { wire, to: 1 - end, segment });
            }
        }
        if let Some(deadline) = ends[end].deadline().map(|deadline| deadline.max(self.now))
            && timers[end].is_none_or(|known| deadline < known)
        {
            timers[end] = Some(deadline);
            self.agenda.add(deadline, Event::Timer { wire, end });
        }
    }

    /// Gives a node what has arrived, unless it stands still.
    pub(super) fn arrived(&mut self, wire: usize, end: usize) {
        if !self.wires[wire].sides[end].open || self.is_frozen(wire, end) {
            return;
        }
        let (bytes, ended) = self.wires[wire].read(end);
        if self.leaves_unfinished(wire, end) {
            self.wires[wire].sides[end].decoder.receive(&bytes);
        } else if !self.cells(wire, end, &bytes) {
            return;
        }
        let held = self.wires[wire].sides[end].decoder.held();
        self.judge.bounded("bytes of an unfinished cell", held, MOST_CELL + CELL);
        if ended {
            self.lost(wire, end, "closed by the other side");
        }
    }

    /// Gives a node the cells that end in these bytes. Whether the link is still open then.
    fn cells(&mut self, wire: usize, end: usize, bytes: &[u8]) -> bool {
        let mut input = bytes;
        while self.wires[wire].sides[end].open {
            match self.wires[wire].sides[end].decoder.next_of(&mut input) {
                Ok(Some(cell)) => self.cell(wire, end, cell),
                Ok(None) => return true,
                Err(error) => {
                    self.note(format_args!("{}, end {end}: {error}", name(wire)));
                    self.lost(wire, end, "what came is no cell");
                }
            }
        }
        false
    }

    fn is_frozen(&self, wire: usize, end: usize) -> bool {
        matches!(self.wires[wire].sides[end].node, Node::Relay(relay) if self.relays[relay].frozen)
    }

    fn cell(&mut self, wire: usize, end: usize, cell: Cell) {
        let Cell { circuit, message } = cell;
        let node = self.wires[wire].sides[end].node;
        if !matches!(node, Node::Flooder) {
            self.note(format_args!("{}, end {end}: {:?} of circuit {circuit:#x}", name(wire), message.command()));
        }
        match node {
            Node::Client(client) => self.client_receives(client, circuit, message),
            Node::Relay(relay) => self.relay_receives(relay, wire, end, circuit, message),
            Node::Flooder => {}
        }
    }

    /// Writes what waits at an end, as much as its socket takes.
    pub(super) fn pump(&mut self, wire: usize, end: usize) {
        while self.wires[wire].sides[end].open && !self.is_frozen(wire, end) {
            let now = self.now;
            if self.wires[wire].ends[end].unsent() >= SOCKET {
                let stuck = &mut self.wires[wire].sides[end].stuck;
                if stuck.is_none() {
                    *stuck = Some(now);
                    self.after(PATIENCE, Event::Stuck { wire, end, since: now });
                }
                break;
            }
            self.wires[wire].sides[end].stuck = None;
            let mut bytes = Vec::new();
            let mut cells = 0;
            while cells < BATCH
                && self.dying.is_none()
                && let Some((circuit, message)) = self.wires[wire].sides[end].outbox.pop()
            {
                cells += 1;
                self.leaves(wire, end, &Cell { circuit, message }, &mut bytes);
            }
            if cells == 0 {
                break;
            }
            self.judge.on_link(name(wire), &bytes);
            self.wires[wire].write(end, &bytes, now);
            if let Some(relay) = self.dying.take() {
                self.flush(wire, end);
                self.kill(relay);
            }
        }
        self.flush(wire, end);
        let side = &self.wires[wire].sides[end];
        if side.open && side.closing && side.outbox.is_empty() {
            self.hang_up(wire, end);
        }
        self.room(wire, end);
    }

    /// Whoever waited for a short queue may go on.
    fn room(&mut self, wire: usize, end: usize) {
        let side = &self.wires[wire].sides[end];
        match side.node {
            Node::Client(client) => {
                let is_short = side.outbox.queued(self.clients[client].number) < SHORT;
                if is_short && std::mem::take(&mut self.clients[client].waits_for_room) {
                    self.upload(client);
                }
            }
            Node::Relay(relay) => self.relay_has_room(relay, wire, end),
            Node::Flooder => {}
        }
    }

    /// A circuit's cells wait in an end's queue, and one more than before.
    pub(super) fn queued(&mut self, wire: usize, end: usize, number: u32, owner: Option<usize>) {
        if let Some(owner) = owner {
            let cells = self.wires[wire].sides[end].outbox.queued(number);
            self.judge.queued(owner, cells);
        }
        self.dirty.insert((wire, end));
    }

    /// This end leaves the link: what was written arrives, and behind it the end.
    pub(super) fn hang_up(&mut self, wire: usize, end: usize) {
        let now = self.now;
        let side = &mut self.wires[wire].sides[end];
        if !side.open {
            return;
        }
        side.open = false;
        if self.plant != Some(Plant::Forget(Kept::Cells)) {
            side.outbox.drop_all();
        }
        self.wires[wire].finish(end, now);
        self.flush(wire, end);
    }

    /// The link is over for this end.
    pub(super) fn lost(&mut self, wire: usize, end: usize, why: &str) {
        if !self.wires[wire].sides[end].open {
            return;
        }
        self.note(format_args!("{}, end {end}: link lost: {why}", name(wire)));
        let side = &mut self.wires[wire].sides[end];
        // In no particular order; this is one that follows from the seed.
        let mut slots: Vec<_> = side.circuits.drain().collect();
        slots.sort_by_key(|(number, _)| *number);
        let node = side.node;
        self.hang_up(wire, end);
        match node {
            Node::Client(client) => self.client_loses_link(client),
            Node::Relay(relay) => self.relay_loses_link(relay, wire, slots),
            Node::Flooder => {}
        }
    }

    pub(super) fn reset(&mut self, wire: usize, end: usize) {
        if self.wires[wire].cuts == 0 && !self.wires[wire].sides[end].dead {
            self.lost(wire, end, "reset");
            // The kernel forgets the connection.
            self.wires[wire].sides[end].dead = true;
        }
    }

    pub(super) fn stuck(&mut self, wire: usize, end: usize, since: Duration) {
        if self.wires[wire].sides[end].stuck == Some(since) {
            self.lost(wire, end, "the other side takes nothing");
        }
    }

    /// A link between relays is being made: is it there?
    pub(super) fn link_up(&mut self, wire: usize, tries: u32) {
        let Wire { sides, cuts, .. } = &self.wires[wire];
        let [Node::Relay(from), Node::Relay(to)] = [sides[0].node, sides[1].node] else { return };
        let is_there = *cuts == 0 && self.relays[to].alive && !self.relays[to].frozen;
        if !self.relays[from].alive {
            return;
        }
        // Where nobody listens, the host says so at once.
        if !is_there && self.relays[to].alive && tries < LINK {
            return self.after(Duration::from_secs(1), Event::LinkUp { wire, tries: tries + 1 });
        }
        self.note(format_args!("{}: link {}", name(wire), if is_there { "is there" } else { "is given up" }));
        let made = &mut self.wires[wire];
        if is_there {
            made.up = true;
            made.sides.iter_mut().for_each(|side| side.open = true);
        }
        for circuit in made.waiting.take().unwrap_or_default() {
            self.linked(from, circuit, wire, is_there);
        }
    }
}
