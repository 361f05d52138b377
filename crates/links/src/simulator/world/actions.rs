//! What the machines of a circuit ask for, carried out.

use super::{Event, PAGE, REQUEST, SHORT, World};
use crate::costs::Step as Work;
use crate::simulator::circuit::{Circuit, Relay};
use crate::simulator::connection::{Connection, Item};
use crate::simulator::{Start, setup};
use candor_onion::circuit::{Cause, ClientAction, Failure, RelayAction};
use candor_onion::relay::message::{Begin, Connected};
use std::time::Duration;

/// The target's host; nobody looks it up.
const TARGET: &str = "target.test";

impl World {
    fn is_blocked(&self, circuit: u32, hop: usize, end: usize) -> bool {
        let connection = self.circuits[circuit as usize].connections[hop];
        connection.is_some_and(|index| self.connections[index as usize].ends[end].unsent() >= SHORT)
    }

    /// Carries out what the client wants.
    pub(super) fn drain_client(&mut self, circuit: u32) {
        let blocked = self.is_blocked(circuit, 0, 0);
        self.circuits[circuit as usize].client.set_blocked(blocked);
        let mut cells = Vec::new();
        while let Some(action) = self.circuits[circuit as usize].client.poll() {
            match action {
                ClientAction::Send(message) => cells.push(message),
                ClientAction::Extended { hop } => self.extended(circuit, hop),
                ClientAction::Answered { .. } => {
                    let hosts = self.costs.exchange_of_a_cell(self.handshake, 3, &mut self.random);
                    self.round_trip_or_built(circuit, hosts);
                }
                ClientAction::Connected { .. } => {
                    let hosts = self.costs.exchange_of_a_cell(self.handshake, 3, &mut self.random);
                    self.circuits[circuit as usize].is_connected = true;
                    self.schedule(self.now + hosts, Event::Request { circuit });
                }
                ClientAction::Data { stream, bytes } => {
                    let (now, page) = (self.now, self.fetch.unwrap_or_default());
                    let Circuit { client, outcome, fetch_began, page_hosts, done, .. } =
                        &mut self.circuits[circuit as usize];
                    client.consumed(stream, bytes.len());
                    if outcome.first_byte.is_none() {
                        *page_hosts = self.costs.exchange_of_a_cell(self.handshake, 3, &mut self.random);
                        outcome.first_byte = Some(now + *page_hosts - *fetch_began);
                    }
                    outcome.fetched += bytes.len() as u64;
                    if outcome.fetched >= page {
                        outcome.last_byte = Some(now + *page_hosts - *fetch_began);
                        *done = true;
                    }
                }
                ClientAction::Closed(failure) => self.fail(circuit, failure),
                _ => {}
            }
        }
        if !cells.is_empty() {
            self.send(circuit, 0, 0, cells);
        }
    }

    pub(super) fn fail(&mut self, circuit: u32, failure: Failure) {
        let Circuit { outcome, done, .. } = &mut self.circuits[circuit as usize];
        (outcome.failure, outcome.failed_at) = (Some(failure), Some(self.now));
        *done = true;
    }

    /// A connection of a circuit has been given up. The real machines would close theirs by DESTROY and TRUNCATED; here the circuit is over.
    pub(super) fn lost_connection(&mut self, circuit: u32, hop: usize) {
        if !self.circuits[circuit as usize].done {
            self.fail(circuit, Failure { hop: Some(hop.min(2) + 1), cause: Cause::LinkClosed });
        }
    }

    /// A hop has answered; its reply is still to be checked. What the hosts on the way took to pass the cells on is charged here as well, all of it, since
    /// nothing else of the circuit goes on meanwhile.
    fn extended(&mut self, circuit: u32, hop: usize) {
        let finish = self.costs.draw(self.handshake, Work::Finish, &mut self.random)
            + self.costs.exchange(self.handshake, hop, &mut self.random);
        let Circuit { outcome, step_began, .. } = &mut self.circuits[circuit as usize];
        outcome.hops.push(self.now + finish - *step_began);
        *step_began = self.now + finish;
        match hop {
            3 => self.round_trip_or_built(circuit, finish),
            _ => self.compute_onionskin(circuit, finish),
        }
    }

    /// After the last hop: one round trip more, or the circuit is built, once `after` has passed.
    fn round_trip_or_built(&mut self, circuit: u32, after: Duration) {
        let Circuit { round_trips, outcome, connections, .. } = &mut self.circuits[circuit as usize];
        if let Some(left) = round_trips.checked_sub(1) {
            *round_trips = left;
            self.schedule(self.now + after, Event::Probe { circuit });
            return;
        }
        outcome.built = Some(self.now + after - outcome.began);
        for (bytes, connection) in outcome.bytes.iter_mut().zip(*connections) {
            *bytes = connection.map_or([0; 2], |index| self.connections[index as usize].written);
        }
        if self.fetch.is_none() {
            self.circuits[circuit as usize].done = true;
            return;
        }
        let circuit_ = &mut self.circuits[circuit as usize];
        // From here on time runs from when the reply came; what its check takes is counted in the build.
        circuit_.fetch_began = self.now;
        let opened = Begin::new(TARGET, 80).and_then(|target| circuit_.client.begin(&target));
        match opened {
            Ok(stream) => {
                circuit_.stream = Some(stream);
                self.schedule(self.now + setup::STREAM, Event::Impatient { circuit, is_exit: false });
            }
            Err(error) => self.fail(circuit, Failure { hop: Some(3), cause: Cause::Protocol(error) }),
        }
    }

    /// A further round trip begins.
    pub(super) fn probe(&mut self, circuit: u32) {
        let Circuit { client, done, .. } = &mut self.circuits[circuit as usize];
        if *done {
            return;
        }
        if let Err(error) = client.probe(3) {
            self.fail(circuit, Failure { hop: Some(3), cause: Cause::Protocol(error) });
        }
        self.drain_client(circuit);
    }

    /// The client asks for the page.
    pub(super) fn request(&mut self, circuit: u32) {
        let now = self.instant();
        let Circuit { client, stream, .. } = &mut self.circuits[circuit as usize];
        if let Some(stream) = *stream {
            // A hundred bytes fit every window.
            let _ = client.send(stream, &PAGE[..REQUEST as usize], now);
        }
        self.drain_client(circuit);
    }

    /// Whoever has waited so long for the stream gives it up. The real machines would close it by END and keep the circuit; here the circuit is over.
    pub(super) fn impatient(&mut self, circuit: u32, is_exit: bool) {
        let Circuit { connections, is_connected, done, .. } = &self.circuits[circuit as usize];
        let target = connections[3].map(|index| &self.connections[index as usize]);
        let is_open = if is_exit { target.is_some_and(|target| target.announced) } else { *is_connected };
        if !done && !is_open {
            self.fail(circuit, Failure { hop: Some(3), cause: Cause::Timeout });
        }
    }

    /// Carries out what a relay wants.
    pub(super) fn drain_relay(&mut self, circuit: u32, relay: usize) {
        let blocked = self.is_blocked(circuit, relay, 1);
        let (mut inbound, mut outbound) = (Vec::new(), Vec::new());
        loop {
            let Some(Relay { machine, stream, .. }) = &mut self.circuits[circuit as usize].relays[relay] else {
                return;
            };
            machine.set_blocked(blocked);
            match machine.poll() {
                None => break,
                Some(RelayAction::ToClient(message)) => inbound.push(message),
                Some(RelayAction::ToNext(message)) => outbound.push(message),
                Some(RelayAction::Extend(_)) => {
                    if self.start == Start::Warm {
                        machine.next_ready(true);
                    }
                    self.connect(circuit, relay + 1);
                }
                Some(RelayAction::Begin { stream: asked, .. }) if relay == 2 => {
                    *stream = Some(asked);
                    self.connect(circuit, 3);
                    self.schedule(self.now + setup::CONNECT, Event::Impatient { circuit, is_exit: true });
                }
                // BEGIN_DIR of a probe, which no directory answers.
                Some(RelayAction::Data { stream, bytes }) => {
                    machine.consumed(stream, bytes.len());
                    if let Some(index) = self.circuits[circuit as usize].connections[3] {
                        let bytes = bytes.len() as u64;
                        self.connections[index as usize].write(0, Item::Request, bytes, self.now);
                        self.flush(index, 0);
                    }
                }
                Some(RelayAction::Writable { .. }) => {
                    if let Some(index) = self.circuits[circuit as usize].connections[3] {
                        self.carry(index);
                    }
                }
                Some(_) => {}
            }
        }
        if !inbound.is_empty() {
            self.send(circuit, relay, 1, inbound);
        }
        if !outbound.is_empty() {
            self.send(circuit, relay + 1, 0, outbound);
        }
    }

    /// Something has come from the target to the exit: it is there, or a part of the page.
    pub(super) fn on_target(&mut self, connection: u32) {
        let Connection { circuit, ends, announced, .. } = &mut self.connections[connection as usize];
        let circuit = *circuit;
        let Some(Relay { machine, stream: Some(stream), .. }) = &mut self.circuits[circuit as usize].relays[2] else {
            return;
        };
        if ends[0].is_open() && !*announced {
            *announced = true;
            // The client may have given the stream up.
            let _ = machine.connected(*stream, Connected { address: Some([10, 0, 0, 4].into()) });
        }
        self.carry(connection);
        self.drain_relay(circuit, 2);
    }

    /// Puts what has come of the page into the circuit, as much as its window allows.
    fn carry(&mut self, connection: u32) {
        let now = self.instant();
        let Connection { circuit, ends, taken, .. } = &mut self.connections[connection as usize];
        let Some(Relay { machine, stream: Some(stream), .. }) = &mut self.circuits[*circuit as usize].relays[2] else {
            return;
        };
        while *taken < ends[0].received() {
            let chunk = (ends[0].received() - *taken).min(PAGE.len() as u64) as usize;
            match machine.send(*stream, &PAGE[..chunk], now) {
                Ok(accepted) if accepted > 0 => *taken += accepted as u64,
                _ => break,
            }
        }
    }
}
