//! Clients: each builds a circuit, carries streams over it, and gives up when nothing comes of it.

use super::relays::Place;
use super::{Event, World};
use crate::faults::judge::{DOWN, UP};
use crate::faults::outbox::SHORT;
use crate::faults::plant::{End, Plant};
use crate::faults::scenario::{Sizes, Upgrade};
use crate::faults::wire::Slot;
use crate::faults::{Outcome, Why};
use candor_onion::cell::{Message, PAYLOAD};
use candor_onion::circuit::{Cause, ClientAction, ClientCircuit, Failure, Limits, StreamId};
use candor_onion::relay::message::{Begin, EndReason};
use candor_primitives::kem::ml_kem::MlKem768;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The target's host; nobody looks it up.
const TARGET: &str = "target.test";
/// Bytes of an upload that go into the circuit at a time.
const PIECE: usize = 16 << 10;

pub(super) struct Client {
    wire: usize,
    /// The circuit's number on its link.
    pub(super) number: u32,
    pub(super) machine: Box<ClientCircuit>,
    /// What it wants is being carried out.
    is_draining: bool,
    sizes: Vec<Sizes>,
    /// Places of open streams.
    pub(super) streams: BTreeMap<StreamId, usize>,
    /// The circuit is built.
    pub(super) is_streaming: bool,
    progress: Duration,
    /// Since when hops are asked for a sign of life, and which have answered.
    asked: Option<(Duration, [bool; 3])>,
    /// When it looks at its deadlines next.
    watch: Option<Duration>,
    /// Whether more can be sent once the queue is short.
    pub(super) waits_for_room: bool,
    /// The application reads nothing until then.
    stopped: Option<Duration>,
    /// Bytes that the application has not read.
    unread: BTreeMap<StreamId, usize>,
    pub(super) outcome: Option<Outcome>,
}

impl Client {
    pub(super) fn new(wire: usize, limits: &Arc<Limits>, sizes: Vec<Sizes>) -> Self {
        Self {
            wire,
            number: 0,
            is_draining: false,
            machine: Box::new(ClientCircuit::new(Arc::clone(limits), true)),
            sizes,
            streams: BTreeMap::new(),
            is_streaming: false,
            progress: Duration::ZERO,
            asked: None,
            watch: None,
            waits_for_room: false,
            stopped: None,
            unread: BTreeMap::new(),
            outcome: None,
        }
    }
}

impl World<'_> {
    pub(super) fn begin(&mut self, client: usize) {
        let wire = self.clients[client].wire;
        let opened = self.wires[wire].sides[0].circuits.open(Slot { circuit: 0, from_client: false });
        self.clients[client].number = opened.expect("the link is new");
        self.extend_client(client);
    }

    fn extend_client(&mut self, client: usize) {
        let (instant, options) = (self.instant(), self.options);
        let Client { machine, .. } = &mut self.clients[client];
        let hop = machine.hops();
        if let Err(error) = self.suite.begin(machine, hop, options, instant) {
            self.end(client, Outcome::ended(Failure { hop: Some(hop + 1), cause: Cause::Handshake(error) }, false));
        }
        self.drain(client);
    }

    /// A cell has come to a client.
    pub(super) fn client_receives(&mut self, client: usize, number: u32, message: Message) {
        let instant = self.instant();
        let Client { machine, number: own, .. } = &mut self.clients[client];
        // What names no circuit of this link is dropped.
        let is_of_circuit = matches!(
            message,
            Message::Relay(_)
                | Message::RelayEarly(_)
                | Message::Created2(_)
                | Message::Created2v(_)
                | Message::Destroy(_)
                | Message::Create2(_)
                | Message::Create2v(_)
        );
        if number == *own && is_of_circuit {
            machine.receive(message, instant);
            self.drain(client);
        }
    }

    pub(super) fn client_loses_link(&mut self, client: usize) {
        self.clients[client].machine.link_closed();
        self.drain(client);
    }

    /// Carries out what a client wants.
    fn drain(&mut self, client: usize) {
        if std::mem::replace(&mut self.clients[client].is_draining, true) {
            // Whoever drains already goes on with what has been added.
            return;
        }
        while self.judge.goes_on()
            && let Some(action) = self.client_wants(client)
        {
            self.carry_out_for_client(client, action);
        }
        self.clients[client].is_draining = false;
        let window = self.clients[client].machine.window();
        self.judge.window(client, 0, window);
        self.watch_client(client);
    }

    fn carry_out_for_client(&mut self, client: usize, action: ClientAction) {
        let Client { wire, number, machine, .. } = &mut self.clients[client];
        let (wire, number) = (*wire, *number);
        match action {
            ClientAction::Send(message) => {
                let Ok(queued) = self.wires[wire].sides[0].outbox.push(number, message) else {
                    self.wires[wire].sides[0].outbox.clear(number);
                    return machine.overflow();
                };
                machine.set_blocked(queued >= SHORT);
                self.queued(wire, 0, number, Some(client));
            }
            ClientAction::Extended { hop } => {
                self.note(format_args!("client {client}: hop {hop} is there"));
                self.progress(client);
                match (hop, self.scenario.upgrade) {
                    (3, None) => self.open_streams(client),
                    (3, Some(Upgrade::First)) => self.upgrade(client),
                    (3, Some(Upgrade::Beside)) => {
                        self.upgrade(client);
                        self.open_streams(client);
                    }
                    _ => self.extend_client(client),
                }
            }
            ClientAction::Upgraded { hop } => {
                self.note(format_args!("client {client}: hop {hop} is upgraded"));
                self.progress(client);
                if self.scenario.upgrade == Some(Upgrade::First) {
                    self.open_streams(client);
                }
            }
            ClientAction::Connected { stream, .. } => {
                self.note(format_args!("client {client}: {stream} is open"));
                self.progress(client);
                self.upload(client);
            }
            ClientAction::Data { stream, bytes } => self.downloaded(client, stream, bytes),
            ClientAction::Writable { .. } => {
                self.progress(client);
                self.upload(client);
            }
            ClientAction::Answered { hop } => {
                self.note(format_args!("client {client}: hop {hop} gives a sign of life"));
                if let Some((_, answered)) = &mut self.clients[client].asked {
                    answered[hop - 1] = true;
                }
            }
            ClientAction::Ended { stream, reason } => self.stream_ended(client, stream, reason),
            ClientAction::Closed(failure) => {
                self.wires[wire].sides[0].circuits.remove(number);
                let is_built = self.clients[client].is_streaming;
                self.end(client, Outcome::ended(failure, is_built));
            }
            // Clients here look nothing up.
            _ => {}
        }
    }

    fn upgrade(&mut self, client: usize) {
        let instant = self.instant();
        if let Err(error) = self.clients[client].machine.upgrade(&MlKem768::new(), instant) {
            self.end(client, Outcome::ended(Failure { hop: Some(3), cause: Cause::Handshake(error) }, false));
        }
    }

    fn open_streams(&mut self, client: usize) {
        let Client { machine, sizes, streams, is_streaming, .. } = &mut self.clients[client];
        *is_streaming = true;
        let mut failed = None;
        for index in 0..sizes.len() {
            // The port says which stream it is.
            match Begin::new(TARGET, index as u16 + 1).and_then(|target| machine.begin(&target)) {
                Ok(stream) => drop(streams.insert(stream, index)),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            self.end(client, Outcome::ended(Failure { hop: Some(3), cause: Cause::Protocol(error) }, true));
        }
    }

    /// Puts what there is to send into the circuit, as much as it takes.
    pub(super) fn upload(&mut self, client: usize) {
        let instant = self.instant();
        let Client { wire, number, machine, streams, outcome, waits_for_room, .. } = &mut self.clients[client];
        if outcome.is_some() {
            return;
        }
        let outbox = &self.wires[*wire].sides[0].outbox;
        let mut room = SHORT.saturating_sub(outbox.queued(*number));
        let mut any = false;
        for (stream, index) in streams.iter() {
            while !self.judge.is_sent(client, *index, UP) {
                if room == 0 {
                    *waits_for_room = true;
                    break;
                }
                let bytes = self.judge.unsent(client, *index, UP);
                let accepted = machine.send(*stream, &bytes[..bytes.len().min(PIECE)], instant).unwrap_or(0);
                room = room.saturating_sub(accepted.div_ceil(PAYLOAD));
                self.judge.sent(client, *index, UP, accepted);
                if accepted == 0 {
                    break;
                }
                any = true;
            }
        }
        if any {
            self.progress(client);
        }
        if self.is_planted(Plant::Plaintext(End::Client)) {
            let Client { wire, number, ref streams, .. } = self.clients[client];
            if let Some(index) = streams.values().next().copied() {
                self.leak(client, index, UP, Place { wire, end: 0, number });
            }
        }
        self.drain(client);
    }

    fn downloaded(&mut self, client: usize, stream: StreamId, bytes: Vec<u8>) {
        let Some(index) = self.clients[client].streams.get(&stream).copied() else {
            return self.clients[client].machine.consumed(stream, bytes.len());
        };
        self.progress(client);
        let Some(bytes) = self.spoilt(End::Client, client, index, bytes) else { return };
        self.judge.got(client, index, DOWN, &bytes);
        let held = self.clients[client].unread.entry(stream).or_default();
        *held += bytes.len();
        let unread = self.clients[client].unread.values().sum();
        self.judge.unread(client, 1, unread, self.limits.circuit_unread);
        if self.clients[client].stopped.is_none() {
            self.read(client);
        } else if self.is_planted(Plant::Hoard(End::Client)) {
            self.clients[client].machine.consumed(stream, bytes.len());
        }
    }

    /// The application reads what there is.
    fn read(&mut self, client: usize) {
        let Client { machine, unread, .. } = &mut self.clients[client];
        for (stream, bytes) in std::mem::take(unread) {
            machine.consumed(stream, bytes);
        }
    }

    fn stream_ended(&mut self, client: usize, stream: StreamId, reason: EndReason) {
        self.note(format_args!("client {client}: {stream} ended: {reason}"));
        let Some(index) = self.clients[client].streams.remove(&stream) else { return };
        self.progress(client);
        match reason {
            EndReason::DONE => {
                self.judge.ended(client, index);
                if self.clients[client].streams.is_empty() {
                    self.end(client, Outcome::Delivered);
                }
            }
            _ => {
                let (hop, why) = (Some(3), Why::Stream(reason));
                self.end(client, Outcome::Ended { hop, why, is_built: true });
            }
        }
    }

    /// The application reads nothing for a time.
    pub(super) fn stop_client(&mut self, client: usize, time: Duration) {
        self.clients[client].stopped = Some(self.now + time);
    }

    pub(super) fn resume_client(&mut self, client: usize) {
        self.clients[client].stopped = None;
        self.read(client);
        self.progress(client);
        self.drain(client);
    }

    pub(super) fn progress(&mut self, client: usize) {
        self.clients[client].progress = self.now;
        self.clients[client].asked = None;
        self.judge.progress(client, self.now);
    }

    /// When the client must look whether it has waited long enough.
    fn watch_client(&mut self, client: usize) {
        let (base, now) = (self.base, self.now);
        let (stall, patience) = self.waits();
        let Client { machine, asked, progress, is_streaming, outcome, watch, .. } = &mut self.clients[client];
        if outcome.is_some() || self.plant == Some(Plant::WaitForever) {
            return;
        }
        let stalls = match asked {
            Some((since, _)) => *since + patience,
            None => *progress + stall,
        };
        let hops = machine.deadline().map(|deadline| deadline - base);
        let next = hops.into_iter().chain(is_streaming.then_some(stalls)).min();
        if let Some(next) = next.map(|next| next.max(now))
            && watch.is_none_or(|known| next < known || known < now)
        {
            *watch = Some(next);
            self.at(next, Event::Client { client });
        }
    }

    pub(super) fn look_at_client(&mut self, client: usize) {
        let (now, instant) = (self.now, self.instant());
        let (stall, patience) = self.waits();
        let Client { machine, asked, progress, is_streaming, outcome, watch, stopped, .. } = &mut self.clients[client];
        if *watch != Some(now) || outcome.is_some() {
            return;
        }
        *watch = None;
        machine.tick(instant);
        if *is_streaming && stopped.is_none() {
            match *asked {
                Some((since, answered)) if now >= since + patience => {
                    let silent = answered.iter().position(|answered| !answered);
                    let why = if silent.is_some() { Why::Silent } else { Why::Stalled };
                    let hop = Some(silent.map_or(3, |hop| hop + 1));
                    self.end(client, Outcome::Ended { hop, why, is_built: true });
                }
                None if now >= *progress + stall => {
                    let answered = [1, 2, 3].map(|hop| machine.probe(hop).is_err());
                    *asked = Some((now, answered));
                    self.note(format_args!("client {client}: nothing comes; asks its hops"));
                }
                _ => {}
            }
        } else if stopped.is_some() {
            // It is the application that nothing comes through.
            self.progress(client);
        }
        self.drain(client);
    }

    /// The client has an outcome: its circuit ends, and its link.
    fn end(&mut self, client: usize, mut outcome: Outcome) {
        if self.clients[client].outcome.is_some() {
            return;
        }
        if let Outcome::Ended { hop, .. } = &mut outcome {
            match self.plant {
                Some(Plant::Nameless) => *hop = None,
                Some(Plant::Misname) => *hop = hop.map(|hop| hop % 3 + 1),
                _ => {}
            }
        }
        self.note(format_args!("client {client}: {outcome}"));
        self.named(client, &outcome);
        self.time = self.now;
        self.judge.done(client);
        let Client { machine, wire, outcome: of_client, .. } = &mut self.clients[client];
        let wire = *wire;
        *of_client = Some(outcome);
        machine.close();
        self.wires[wire].sides[0].closing = true;
        self.dirty.insert((wire, 0));
        self.drain(client);
    }
}
