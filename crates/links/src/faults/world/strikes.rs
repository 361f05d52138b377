//! How faults strike, and end.

use super::plants::most_circuits;
use super::{Event, World};
use crate::faults::fault::{Fault, FloodKind, Garbage, What};
use crate::faults::judge::Violation;
use crate::faults::plant::Plant;
use crate::faults::scenario::Line;
use crate::faults::wire::{Node, Wire};
use crate::faults::{Outcome, Why};
use candor_onion::cell::payload::Create2;
use candor_onion::cell::{CELL, Cell, Command, DestroyReason, MOST_VARIABLE, Message};
use candor_onion::circuit::{Cause, ClientAction, ClientCircuit};
use std::sync::Arc;
use std::time::Duration;

/// The flooder's link, over which a cell comes each millisecond, and how long it stays. A good creation of a hybrid handshake has several cells.
const FLOOD: Line = Line { delay: Duration::from_millis(2), rate: 4_000_000 };
const FLOOD_STAYS: Duration = Duration::from_secs(5);
/// Bytes of a cell before the payload.
const HEADER: usize = 5;

impl World<'_> {
    /// A cell leaves an end: what is written in its place, behind `bytes`.
    pub(super) fn leaves(&mut self, wire: usize, end: usize, cell: &Cell, bytes: &mut Vec<u8>) {
        let encoded = encoded(cell);
        self.wires[wire].sides[end].cells += 1;
        let count = self.wires[wire].sides[end].cells;
        if wire > 2 {
            return bytes.extend(encoded);
        }
        let is_first = self.owner_at(wire, end, cell.circuit) == Some(0);
        // One that begins with this cell concerns those behind it.
        let is_noise = self.wires[wire].sides[end].hostile.noise;
        let mut written = None;
        for index in 0..self.scenario.faults.len() {
            let fault = self.scenario.faults[index];
            let is_here = fault.spot.link == wire && (fault.spot.outward == (end == 0));
            if self.struck[index] || !is_here || count < fault.cell {
                continue;
            }
            match fault.what {
                // Meant for the circuit: the next of its cells.
                What::Garbage(_) if !is_first || written.is_some() => continue,
                What::Garbage(garbage) => {
                    let Some(garbled) = self.garble(wire, end, cell, &encoded, garbage) else { continue };
                    written = Some(garbled);
                }
                What::Kill { relay, bytes: out } => {
                    let mut cut = written.take().unwrap_or_else(|| encoded.clone());
                    cut.truncate(out);
                    written = Some(cut);
                    self.dying = Some(relay);
                }
                _ => self.strike(index, wire),
            }
            self.struck[index] = true;
            self.note(format_args!("STRIKES: {fault}"));
            self.were_open = self.clients.iter().map(|client| client.is_streaming).collect();
            let in_relay_cell = matches!(cell.message, Message::Relay(_) | Message::RelayEarly(_));
            self.judge.others_suffer |= !fault.what.spares_others(in_relay_cell);
            if let (true, Some(relay)) = (self.is_planted(Plant::Neighbours), fault.spot.sender()) {
                self.close_circuits(relay, |owner| owner != 0);
            }
        }
        let hostile = &mut self.wires[wire].sides[end].hostile;
        let mut written = written.unwrap_or_else(|| encoded.clone());
        if is_first {
            if hostile.first.is_none() {
                hostile.first = Some(encoded.clone());
            }
            // One that has been held back comes behind the next that is not held itself.
            if !written.is_empty()
                && let Some(held) = hostile.held.take()
            {
                written.extend(held);
            }
            hostile.last = Some(encoded);
        }
        if is_noise {
            written.iter_mut().for_each(|byte| *byte = self.random.bits() as u8);
        }
        bytes.extend(written);
    }

    /// What a hostile sender writes in place of a cell; `None` if this one is not what it waits for.
    fn garble(&mut self, wire: usize, end: usize, cell: &Cell, bytes: &[u8], garbage: Garbage) -> Option<Vec<u8>> {
        let mut out = bytes.to_vec();
        let is_relay = matches!(cell.message, Message::Relay(_) | Message::RelayEarly(_));
        let header = if cell.message.command().is_variable() { HEADER + 2 } else { HEADER };
        let numbered = |number: u32, mut bytes: Vec<u8>| {
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            bytes
        };
        let plain = |message| encoded(&Cell { circuit: cell.circuit, message });
        let added = |first: Vec<u8>, second: &[u8]| [&first[..], second].concat();
        match garbage {
            Garbage::Flip { bit } => {
                let bit = bit % (8 * (bytes.len() - header));
                out[header + bit / 8] ^= 1 << (bit % 8);
            }
            Garbage::Number { bit } => out = numbered(cell.circuit ^ 1 << bit, out),
            Garbage::Neighbour => {
                let side = &mut self.wires[wire].sides[end];
                let other = (1..10).map(|step| cell.circuit + step).chain((1..10).map(|step| cell.circuit - step));
                let other = other.into_iter().find(|number| side.circuits.get_mut(*number).is_some());
                out = numbered(other.unwrap_or(cell.circuit ^ 0x55), out);
            }
            Garbage::Command { command } => out = self.with_command(cell.circuit, command),
            Garbage::Twice => out.extend_from_slice(bytes),
            Garbage::Swapped => self.wires[wire].sides[end].hostile.held = Some(std::mem::take(&mut out)),
            Garbage::Dropped => out.clear(),
            Garbage::Zeroed { from } => out.iter_mut().skip(header + from).for_each(|byte| *byte = 0),
            Garbage::Cut { after } => {
                out.truncate(after.max(1).min(bytes.len() - 1));
                // What was cut off is noise as well, or a quiet link would never show it.
                out.extend((0..2 * CELL).map(|_| self.random.bits() as u8));
                self.wires[wire].sides[end].hostile.noise = true;
            }
            Garbage::Noise => {
                let payload = std::array::from_fn(|_| self.random.bits() as u8);
                out = added(plain(Message::Relay(Box::new(payload))), bytes);
            }
            Garbage::Early => match &cell.message {
                Message::Relay(payload) => out = plain(Message::RelayEarly(payload.clone())),
                _ => return None,
            },
            Garbage::Destroy { reason } => out = added(plain(Message::Destroy(DestroyReason(reason))), bytes),
            Garbage::Replay { fresh } => {
                let first = self.wires[wire].sides[end].hostile.first.clone()?;
                let number = if fresh { cell.circuit.wrapping_add(0x1000) } else { cell.circuit };
                out.extend(numbered(number, first));
            }
            Garbage::Stale => out.extend(self.wires[wire].sides[end].hostile.last.clone()?),
            Garbage::Padding { cells } => {
                out = (0..cells).flat_map(|_| encoded(&Cell::on_link(Message::Padding))).collect();
                out.extend_from_slice(bytes);
            }
            Garbage::Giant => {
                out = cell.circuit.to_be_bytes().to_vec();
                out.push(Command::VPADDING.0);
                out.extend((MOST_VARIABLE as u16 + 1).to_be_bytes());
            }
        }
        if is_relay || matches!(garbage, Garbage::Noise | Garbage::Twice | Garbage::Stale) {
            self.judge.added += 2;
        }
        Some(out)
    }

    /// A cell with another command, and a payload of random bytes.
    fn with_command(&mut self, circuit: u32, command: u8) -> Vec<u8> {
        let command = Command(command);
        let mut out = circuit.to_be_bytes().to_vec();
        out.push(command.0);
        let length = match command.is_variable() {
            true => {
                let length = self.random.below(MOST_VARIABLE / 4);
                out.extend((length as u16).to_be_bytes());
                length
            }
            false => CELL - HEADER,
        };
        out.extend((0..length).map(|_| self.random.bits() as u8));
        out
    }

    fn strike(&mut self, index: usize, wire: usize) {
        let Fault { what, .. } = self.scenario.faults[index];
        match what {
            What::Silence { relay, .. } => self.each_wire_of(relay, |wire| wire.cuts += 1),
            What::Freeze { relay, .. } => self.relays[relay].frozen = true,
            What::Partition { .. } => self.wires[wire].cuts += 1,
            What::Slow { rate, delay, .. } => {
                let line = self.wires[wire].line;
                self.wires[wire].set(Line { delay: line.delay + delay, rate: rate.min(line.rate) }, 0.0);
            }
            What::Loss { percent, .. } => {
                let line = self.wires[wire].line;
                self.wires[wire].set(line, f64::from(percent) / 100.0);
            }
            What::Flood { relay, creations, kind } => self.flood(relay, creations, kind),
            What::ClientStops { time } => self.stop_client(0, time),
            What::TargetStops { .. } => self.target_stopped = true,
            What::Room { relay, cells } => self.each_side_of(relay, cells),
            What::Kill { .. } | What::Garbage(_) => {}
        }
        if let Some(time) = what.lasts() {
            self.after(time, Event::Over { fault: index });
        }
    }

    pub(super) fn over(&mut self, index: usize) {
        let Fault { what, spot, .. } = self.scenario.faults[index];
        self.note(format_args!("OVER: {what}"));
        self.hurts_after(what);
        match what {
            What::Silence { relay, .. } => self.each_wire_of(relay, |wire| wire.cuts -= 1),
            What::Freeze { relay, .. } => self.thaw(relay),
            What::Partition { .. } => self.wires[spot.link].cuts -= 1,
            What::Slow { .. } | What::Loss { .. } => {
                let line = self.wires[spot.link].line;
                self.wires[spot.link].set(line, 0.0);
            }
            What::ClientStops { .. } => self.resume_client(0),
            What::TargetStops { .. } => {
                self.target_stopped = false;
                self.wake_targets();
            }
            _ => {}
        }
    }

    fn each_wire_of(&mut self, relay: usize, change: impl Fn(&mut Wire)) {
        let of = |wire: &&mut Wire| wire.sides.iter().any(|side| side.node == Node::Relay(relay));
        self.wires.iter_mut().filter(of).for_each(change);
    }

    fn each_side_of(&mut self, relay: usize, cells: usize) {
        let sides = self.wires.iter_mut().flat_map(|wire| &mut wire.sides);
        sides.filter(|side| side.node == Node::Relay(relay)).for_each(|side| side.outbox.narrow(cells));
    }

    /// A relay's process dies.
    pub(super) fn kill(&mut self, relay: usize) {
        self.relays[relay].alive = false;
        self.relays[relay].circuits.clear();
        for index in 0..self.wires.len() {
            let Wire { sides, line, cuts, up, .. } = &mut self.wires[index];
            let Some(end) = sides.iter().position(|side| side.node == Node::Relay(relay)) else { continue };
            let was_open = sides[end].open;
            sides[end].open = false;
            sides[end].dead = true;
            let is_heard = *cuts == 0 && *up && was_open;
            let delay = line.delay;
            if is_heard {
                self.after(delay, Event::Reset { wire: index, end: 1 - end });
            }
        }
    }

    /// Somebody makes a link to a relay and asks for many circuits.
    fn flood(&mut self, relay: usize, creations: u32, kind: FloodKind) {
        let wire = self.wires.len();
        let (seed, most) = (self.scenario.number ^ 0xF100D, most_circuits(self.plant));
        self.wires.push(Wire::new([Node::Flooder, Node::Relay(relay)], FLOOD, true, seed, most));
        let mut replayed = None;
        for number in 1..=creations {
            let message = match kind {
                FloodKind::Noise => {
                    let length = 1 + self.random.below(Create2::MOST_FIXED);
                    let onionskin = (0..length).map(|_| self.random.bits() as u8).collect();
                    Create2::new(self.random.below(4) as u16, onionskin).ok().map(Message::Create2)
                }
                FloodKind::Good => self.good_creation(relay),
                FloodKind::Replayed => {
                    if replayed.is_none() {
                        replayed = self.good_creation(relay);
                    }
                    replayed.clone()
                }
            };
            if let Some(message) = message {
                let _ = self.wires[wire].sides[0].outbox.push(1 << 31 | number, message);
            }
        }
        self.dirty.insert((wire, 0));
        self.after(FLOOD_STAYS, Event::Leave { wire });
    }

    fn good_creation(&mut self, relay: usize) -> Option<Message> {
        let mut machine = ClientCircuit::new(Arc::clone(&self.limits), true);
        self.suite.create(&mut machine, relay, self.options, self.base + self.now).ok()?;
        match machine.poll() {
            Some(ClientAction::Send(message)) => Some(message),
            _ => None,
        }
    }

    /// An error must name a hop. Where one relay was killed and nothing else went wrong, it is that relay, or the one that the client waited for.
    pub(super) fn named(&mut self, client: usize, outcome: &Outcome) {
        let Outcome::Ended { hop, why, .. } = outcome else { return };
        let may_be_nobodys = matches!(why, Why::Circuit(Cause::Unrecognized));
        let expected = match self.scenario.faults.as_slice() {
            [Fault { what: What::Kill { relay, .. }, .. }] if self.struck[0] => Some(relay + 1),
            _ => None,
        };
        let is_wrong = match (hop, expected) {
            (Some(hop), Some(expected)) => *hop != expected,
            (Some(hop), None) => !(1..=3).contains(hop),
            (None, _) => !may_be_nobodys,
        };
        if is_wrong {
            let expected = expected.map_or("a hop from 1 to 3".to_owned(), |hop| format!("hop {hop}"));
            self.judge.violated(Violation::Unnamed { client, error: outcome.to_string(), expected });
        }
    }
}

/// A cell as it goes over a link.
fn encoded(cell: &Cell) -> Vec<u8> {
    let mut bytes = Vec::new();
    cell.encode(&mut bytes);
    bytes
}
