//! Relays: the state machines of `onion`, and what `candor-network` does around them, as far as it concerns a circuit.

use super::exit::{Stream, TARGET};
use super::wires::name;
use super::{Event, World};
use crate::faults::judge::HANDSHAKES;
use crate::faults::outbox::{Full, SHORT};
use crate::faults::plant::{Hurt, Kept, Plant};
use crate::faults::wire::{MOST_CIRCUITS, Node, Slot};
use candor_onion::cell::{Command, DestroyReason, Message};
use candor_onion::circuit::{HandshakeJob, RelayAction, RelayCircuit, StreamId};
use candor_onion::relay::message::{EndReason, NextRelay};
use candor_primitives::kem::ml_kem::MlKem768;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a handshake costs a relay: twice what a flood takes to ask for one, so that its queue is full for a while.
const HANDSHAKE: Duration = Duration::from_millis(2);
/// Between two looks for circuits that carry nothing.
const SWEEP: Duration = Duration::from_secs(600);
/// How long a circuit without streams may carry nothing, and a stream: `RelayLimits::{idle_circuit, idle_stream}` of `candor-network`.
const IDLE_CIRCUIT: Duration = Duration::from_secs(3600);
const IDLE_STREAM: Duration = Duration::from_secs(30 * 60);

/// An end of a link, and the circuit's number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) wire: usize,
    pub(super) end: usize,
    pub(super) number: u32,
}

/// A circuit at a relay.
pub(super) struct Held {
    pub(super) machine: RelayCircuit,
    /// The client whose circuit it is, if it is no flooder's.
    pub(super) owner: Option<usize>,
    pub(super) previous: Place,
    next: Option<Place>,
    pub(super) streams: BTreeMap<StreamId, Stream>,
    last: Duration,
    overflowed: bool,
    is_ticking: bool,
    /// What it wants is being carried out.
    is_acting: bool,
}

#[derive(Default)]
pub(super) struct Jobs {
    queues: BTreeMap<usize, VecDeque<(u32, HandshakeJob)>>,
    turns: VecDeque<usize>,
}

impl Jobs {
    pub(super) fn len(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }

    /// Queues a handshake that came over a link. If there are too many, the link with the most loses its last: whose circuit that is.
    fn push(&mut self, wire: usize, circuit: u32, job: HandshakeJob, most: usize) -> Option<u32> {
        let queue = self.queues.entry(wire).or_default();
        if queue.is_empty() {
            self.turns.push_back(wire);
        }
        queue.push_back((circuit, job));
        if self.len() <= most {
            return None;
        }
        let longest = self.queues.values_mut().max_by_key(|queue| queue.len())?;
        longest.pop_back().map(|(circuit, _)| circuit)
    }

    /// The next handshake; links take turns.
    fn pop(&mut self) -> Option<(u32, HandshakeJob)> {
        while let Some(wire) = self.turns.pop_front() {
            let queue = self.queues.get_mut(&wire)?;
            let job = queue.pop_front();
            if !queue.is_empty() {
                self.turns.push_back(wire);
            }
            if job.is_some() {
                return job;
            }
        }
        None
    }
}

pub(super) struct Relay {
    pub(super) alive: bool,
    pub(super) frozen: bool,
    pub(super) circuits: BTreeMap<u32, Held>,
    /// Circuits so far: the key of the next.
    made: u32,
    pub(super) jobs: Jobs,
    is_busy: bool,
    is_sweeping: bool,
    /// Circuits whose target waits for a short queue.
    pub(super) waiting: BTreeSet<u32>,
}

impl Default for Relay {
    fn default() -> Self {
        Self {
            alive: true,
            frozen: false,
            circuits: BTreeMap::new(),
            made: 0,
            jobs: Jobs::default(),
            is_busy: false,
            is_sweeping: false,
            waiting: BTreeSet::new(),
        }
    }
}

impl World<'_> {
    /// A cell has come to a relay.
    pub(super) fn relay_receives(&mut self, relay: usize, wire: usize, end: usize, number: u32, message: Message) {
        if self.is_planted(Plant::Panic) && message.command() == Command::RELAY {
            panic!("as planted");
        }
        match message {
            Message::Create2(_) | Message::Create2v(_) => self.create(relay, Place { wire, end, number }, message),
            Message::Relay(_) | Message::RelayEarly(_) | Message::Created2(_) | Message::Created2v(_) => {
                self.give(relay, Place { wire, end, number }, message);
            }
            Message::Destroy(_) => {
                self.give(relay, Place { wire, end, number }, message);
                let side = &mut self.wires[wire].sides[end];
                side.circuits.remove(number);
                side.outbox.clear(number);
            }
            Message::Padding => self.hurts(relay, Hurt::Padding),
            _ => {}
        }
    }

    fn create(&mut self, relay: usize, place: Place, message: Message) {
        let Place { wire, end, number } = place;
        let side = &mut self.wires[wire].sides[end];
        if let Some(Slot { circuit, from_client: true }) = side.circuits.get_mut(number).copied() {
            return self.with(relay, circuit, |held, _| held.machine.close(DestroyReason::PROTOCOL));
        }
        let limits = Arc::clone(&self.limits);
        let (machine, job) = match message {
            Message::Create2v(create) => RelayCircuit::create_wide(create, limits),
            Message::Create2(create) => RelayCircuit::create(create, limits),
            _ => return,
        };
        let key = self.relays[relay].made;
        if let Err(error) = side.circuits.accept(number, Slot { circuit: key, from_client: true }) {
            let reason = match error {
                candor_onion::Error::TooManyCircuits => DestroyReason::RESOURCELIMIT,
                _ => DestroyReason::PROTOCOL,
            };
            let _ = side.outbox.push(number, Message::Destroy(reason));
            self.dirty.insert((wire, end));
            return;
        }
        self.judge.bounded("circuits of a link", side.circuits.len(), MOST_CIRCUITS);
        let owner = match wire {
            0 => Some(0),
            3 if self.scenario.bystander => Some(1),
            1 | 2 => self.owner_at(wire, 0, number),
            _ => None,
        };
        let at_relay = &mut self.relays[relay];
        at_relay.made += 1;
        let held = Held {
            machine,
            owner,
            previous: place,
            next: None,
            streams: BTreeMap::new(),
            last: self.now,
            overflowed: false,
            is_ticking: false,
            is_acting: false,
        };
        at_relay.circuits.insert(key, held);
        let most = if self.plant == Some(Plant::LongQueue) { usize::MAX } else { HANDSHAKES };
        let refused = match self.plant == Some(Plant::Unfair) && at_relay.jobs.len() >= most {
            true => Some(key),
            false => at_relay.jobs.push(wire, key, job, most),
        };
        self.judge.bounded("handshakes that wait at a relay", at_relay.jobs.len(), HANDSHAKES);
        let is_busy = std::mem::replace(&mut at_relay.is_busy, true);
        if !is_busy && !self.is_planted(Plant::Forget(Kept::Handshakes)) {
            self.after(HANDSHAKE, Event::Handshake { relay });
        }
        if !std::mem::replace(&mut self.relays[relay].is_sweeping, true) {
            self.after(SWEEP, Event::Sweep { relay });
        }
        if let Some(refused) = refused {
            self.with(relay, refused, |held, _| held.machine.close(DestroyReason::RESOURCELIMIT));
        }
    }

    /// Whose circuit has that number at that end.
    pub(super) fn owner_at(&mut self, wire: usize, end: usize, number: u32) -> Option<usize> {
        let side = &mut self.wires[wire].sides[end];
        let slot = side.circuits.get_mut(number).copied()?;
        match side.node {
            Node::Client(client) => Some(client),
            Node::Relay(relay) => self.relays[relay].circuits.get(&slot.circuit)?.owner,
            Node::Flooder => None,
        }
    }

    /// Gives a cell to the circuit that it names, if there is one.
    fn give(&mut self, relay: usize, place: Place, message: Message) {
        let Some(slot) = self.wires[place.wire].sides[place.end].circuits.get_mut(place.number).copied() else {
            return;
        };
        self.with(relay, slot.circuit, |held, instant| {
            if slot.from_client {
                held.machine.receive_from_client(message, instant);
            } else if held.next == Some(place) {
                held.machine.receive_from_next(message);
            }
        });
    }

    /// Lets `work` change a circuit, and does what it then wants done.
    pub(super) fn with(&mut self, relay: usize, circuit: u32, work: impl FnOnce(&mut Held, Instant)) {
        let (now, instant) = (self.now, self.instant());
        let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { return };
        held.last = now;
        work(held, instant);
        self.act(relay, circuit);
    }

    pub(super) fn act(&mut self, relay: usize, circuit: u32) {
        let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { return };
        if std::mem::replace(&mut held.is_acting, true) {
            // Whoever acts already goes on with what has been added.
            return;
        }
        while self.judge.goes_on()
            && let Some(action) = self.relay_wants(relay, circuit)
        {
            self.carry_out(relay, circuit, action);
        }
        let (base, now) = (self.base, self.now);
        let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { return };
        held.is_acting = false;
        if let (Some(owner), false) = (held.owner, held.streams.is_empty()) {
            self.judge.window(owner, 1, held.machine.window());
        }
        if let (Some(deadline), false) = (held.machine.deadline(), held.is_ticking) {
            held.is_ticking = true;
            self.at((deadline - base).max(now), Event::Tick { relay, circuit });
        }
    }

    fn carry_out(&mut self, relay: usize, circuit: u32, action: RelayAction) {
        let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { return };
        match action {
            RelayAction::ToClient(Message::Relay(_))
            | RelayAction::ToNext(Message::Relay(_) | Message::RelayEarly(_))
                if held.overflowed => {}
            RelayAction::ToClient(message) => {
                let previous @ Place { wire, end, number } = held.previous;
                let owner = held.owner;
                self.pile(previous, &message);
                let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { return };
                let outbox = &mut self.wires[wire].sides[end].outbox;
                if matches!(message, Message::Destroy(_)) {
                    // What waits in front of it is of no use to anybody.
                    outbox.clear(number);
                }
                match outbox.push(number, message) {
                    Ok(queued) => held.machine.set_blocked(queued >= SHORT),
                    Err(Full) => self.overflow(relay, circuit),
                }
                self.queued(wire, end, number, owner);
            }
            RelayAction::ToNext(message) => {
                let Some(Place { wire, end, number }) = held.next else { return };
                let owner = held.owner;
                if self.wires[wire].sides[end].outbox.push(number, message).is_err() {
                    self.overflow(relay, circuit);
                }
                self.queued(wire, end, number, owner);
            }
            RelayAction::Extend(next) => self.extend(relay, circuit, &next),
            RelayAction::NextGone => {
                if let Some(Place { wire, end, number }) = held.next.take() {
                    self.wires[wire].sides[end].circuits.remove(number);
                }
            }
            RelayAction::Begin { stream, target } => {
                let Some(owner) = held.owner else { return };
                let index = usize::from(target.port) - 1;
                self.note(format_args!("exit: client {owner} begins stream {index}"));
                let begun = Stream::new(index, self.now);
                let held = self.relays[relay].circuits.get_mut(&circuit).expect("it is there");
                held.streams.insert(stream, begun);
                self.schedule_target(circuit, stream, TARGET);
            }
            RelayAction::Data { stream, bytes } => self.exit_receives(circuit, stream, bytes),
            RelayAction::Ended { stream, reason } => {
                let over = held.streams.remove(&stream);
                held.machine.consumed(stream, over.map_or(0, |stream| stream.unread));
                self.note(format_args!("exit: client ends {stream}: {reason}"));
            }
            RelayAction::Writable { stream } => self.schedule_target(circuit, stream, Duration::ZERO),
            // Its computation takes no time here.
            RelayAction::Upgrade(job) => held.machine.upgrade(job.run(&MlKem768::new())),
            RelayAction::Closed => {
                let Place { wire, end, number } = held.previous;
                self.note(format_args!("{}: circuit {number:#x} is over at the relay", name(wire)));
                if !self.relays[relay].circuits.get(&circuit).is_some_and(|held| self.keeps(held)) {
                    self.relays[relay].circuits.remove(&circuit);
                }
                self.relays[relay].waiting.remove(&circuit);
                if !self.is_planted(Plant::Forget(Kept::Numbers)) {
                    self.wires[wire].sides[end].circuits.remove(number);
                }
            }
            // A look-up: the clients here make none.
            _ => {}
        }
    }

    /// Cells of a circuit are lost for want of room: it ends.
    fn overflow(&mut self, relay: usize, circuit: u32) {
        let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { return };
        held.overflowed = true;
        if let Some(Place { wire, end, number }) = held.next {
            self.wires[wire].sides[end].outbox.clear(number);
        }
        held.machine.close(DestroyReason::RESOURCELIMIT);
    }

    fn extend(&mut self, relay: usize, circuit: u32, next: &NextRelay) {
        // `suite` numbers relays by their addresses, from 1.
        let asked = next.ed25519.map(|identity| usize::from(identity[0]).saturating_sub(1));
        let Some(wire) = asked.filter(|asked| *asked == relay + 1 && *asked < 3) else {
            return self.with(relay, circuit, |held, _| held.machine.next_failed(DestroyReason::CONNECTFAILED));
        };
        let line = self.wires[wire].line;
        if self.wires[wire].up {
            return self.linked(relay, circuit, wire, self.wires[wire].sides[0].open);
        }
        match &mut self.wires[wire].waiting {
            Some(waiting) => waiting.push(circuit),
            waiting @ None => {
                *waiting = Some(vec![circuit]);
                // TCP, TLS and the link handshake.
                self.after(6 * line.delay, Event::LinkUp { wire, tries: 0 });
            }
        }
    }

    /// There is a link for a circuit that waited for it, or there is none.
    pub(super) fn linked(&mut self, relay: usize, circuit: u32, wire: usize, is_there: bool) {
        let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { return };
        let opened = match is_there {
            true => self.wires[wire].sides[0].circuits.open(Slot { circuit, from_client: false }).ok(),
            false => None,
        };
        match opened {
            Some(number) => {
                held.next = Some(Place { wire, end: 0, number });
                held.machine.next_ready(true);
            }
            None => held.machine.next_failed(DestroyReason::CONNECTFAILED),
        }
        self.act(relay, circuit);
    }

    pub(super) fn relay_loses_link(&mut self, relay: usize, wire: usize, slots: Vec<(u32, Slot)>) {
        for (_, slot) in slots {
            self.with(relay, slot.circuit, |held, _| {
                if slot.from_client {
                    held.machine.client_link_closed();
                } else if held.next.is_some_and(|next| next.wire == wire) {
                    held.next = None;
                    held.machine.next_failed(DestroyReason::CHANNEL_CLOSED);
                }
            });
        }
    }

    pub(super) fn handshake(&mut self, relay: usize) {
        if !self.relays[relay].alive || self.relays[relay].frozen {
            // One that thaws begins again.
            self.relays[relay].is_busy = false;
            return;
        }
        let jobs = &mut self.relays[relay].jobs;
        let Some((circuit, job)) = jobs.pop() else {
            self.relays[relay].is_busy = false;
            return;
        };
        self.after(HANDSHAKE, Event::Handshake { relay });
        if self.relays[relay].circuits.contains_key(&circuit) {
            let answer = job.run(self.suite.keys(relay));
            self.with(relay, circuit, |held, _| held.machine.answer(answer));
        }
    }

    /// A relay goes on after it stood still, with all that was due meanwhile.
    pub(super) fn thaw(&mut self, relay: usize) {
        self.relays[relay].frozen = false;
        let ticking = |(circuit, held): (&u32, &Held)| held.is_ticking.then_some(*circuit);
        let due: Vec<u32> = self.relays[relay].circuits.iter().filter_map(ticking).collect();
        due.into_iter().for_each(|circuit| self.after(Duration::ZERO, Event::Tick { relay, circuit }));
        if !std::mem::replace(&mut self.relays[relay].is_sweeping, true) {
            self.after(SWEEP, Event::Sweep { relay });
        }
        if relay == 2 {
            self.wake_targets();
        }
        if self.relays[relay].jobs.len() > 0 && !std::mem::replace(&mut self.relays[relay].is_busy, true) {
            self.after(HANDSHAKE, Event::Handshake { relay });
        }
        for wire in 0..self.wires.len() {
            for end in 0..2 {
                if self.wires[wire].sides[end].node == Node::Relay(relay) {
                    self.arrived(wire, end);
                    self.dirty.insert((wire, end));
                }
            }
        }
    }

    pub(super) fn tick(&mut self, relay: usize, circuit: u32) {
        if self.relays[relay].frozen {
            return;
        }
        if let Some(held) = self.relays[relay].circuits.get_mut(&circuit) {
            held.is_ticking = false;
            let last = held.last;
            self.with(relay, circuit, |held, instant| {
                held.last = last;
                held.machine.tick(instant);
            });
        }
    }

    /// Ends streams and circuits that have carried nothing for long.
    pub(super) fn sweep(&mut self, relay: usize) {
        let now = self.now;
        let Relay { alive, frozen, circuits, .. } = &self.relays[relay];
        self.relays[relay].is_sweeping = *alive && !*frozen && !circuits.is_empty();
        if !self.relays[relay].is_sweeping || matches!(self.plant, Some(Plant::Forget(_))) {
            return;
        }
        let keys: Vec<u32> = self.relays[relay].circuits.keys().copied().collect();
        for circuit in keys {
            let Some(held) = self.relays[relay].circuits.get_mut(&circuit) else { continue };
            let idle = |(id, stream): (&StreamId, &Stream)| (now >= stream.last + IDLE_STREAM).then_some(*id);
            let over: Vec<_> = held.streams.iter().filter_map(idle).collect();
            let is_idle = held.streams.is_empty() && now >= held.last + IDLE_CIRCUIT;
            for stream in over {
                let unread = held.streams.remove(&stream).map_or(0, |stream| stream.unread);
                let _ = held.machine.end_stream(stream, EndReason::TIMEOUT);
                held.machine.consumed(stream, unread);
            }
            if is_idle {
                held.machine.close(DestroyReason::FINISHED);
            }
            self.act(relay, circuit);
        }
        self.after(SWEEP, Event::Sweep { relay });
    }
}
