//! The world of a scenario: its events in the order of their time.

mod clients;
mod exit;
mod plants;
mod relays;
mod strikes;
mod wires;

use self::clients::Client;
use self::relays::Relay;
use super::judge::{Judge, Violation};
use super::plant::Plant;
use super::scenario::{Line, Scenario, Sizes};
use super::trace::Trace;
use super::wire::{Node, Wire};
use super::{Outcome, What};
use crate::agenda::Agenda;
use crate::random::Random;
use crate::suite::{self, Suite};
use crate::transport::Segment;
use candor_onion::circuit::{HopOptions, Limits, StreamId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The circuit that nothing is aimed at.
const BYSTANDER: [Sizes; 1] = [Sizes { up: 3_000, down: 10_000 }];
/// The bystander's link.
const BESIDE: Line = Line { delay: Duration::from_millis(3), rate: 10_000_000 };

enum Event {
    /// A segment arrives.
    Packet { wire: usize, to: usize, segment: Segment },
    /// A timer of an end's transport.
    Timer { wire: usize, end: usize },
    /// The other end has been reset.
    Reset { wire: usize, end: usize },
    /// What waits at an end has not been taken for a minute.
    Stuck { wire: usize, end: usize, since: Duration },
    /// A link between relays has come about, or has been tried so often.
    LinkUp { wire: usize, tries: u32 },
    /// A relay has computed a handshake.
    Handshake { relay: usize },
    /// A circuit at a relay has waited long enough for the rest of a message.
    Tick { relay: usize, circuit: u32 },
    /// A stream's target at the exit takes and gives.
    Target { circuit: u32, stream: StreamId },
    /// A relay looks for circuits that carry nothing.
    Sweep { relay: usize },
    /// A client begins.
    Begin { client: usize },
    /// A client looks whether it has waited long enough.
    Client { client: usize },
    /// A fault ends.
    Over { fault: usize },
    /// The flooder goes.
    Leave { wire: usize },
}

/// What has become of a scenario.
pub(super) struct Ended {
    /// Of each client.
    pub(super) outcomes: Vec<Option<Outcome>>,
    /// How many faults struck.
    pub(super) struck: usize,
    pub(super) violation: Option<Violation>,
    pub(super) events: u64,
    /// Virtual time until the last client had its outcome.
    pub(super) time: Duration,
}

pub(super) struct World<'a> {
    scenario: &'a Scenario,
    plant: Option<Plant>,
    suite: Box<dyn Suite>,
    options: HopOptions,
    limits: Arc<Limits>,
    /// What `onion` takes for the time is this and virtual time on top.
    base: Instant,
    now: Duration,
    time: Duration,
    agenda: Agenda<Event>,
    wires: Vec<Wire>,
    relays: [Relay; 3],
    clients: Vec<Client>,
    /// Ends that may have something to send.
    dirty: BTreeSet<(usize, usize)>,
    judge: Judge,
    trace: &'a mut Trace,
    random: Random,
    /// Which faults have struck.
    struck: Vec<bool>,
    /// The target takes and gives nothing.
    target_stopped: bool,
    /// A relay whose process dies once it has written what it is writing.
    dying: Option<usize>,
    /// Whose circuits were open as the last fault struck.
    were_open: Vec<bool>,
    /// Pieces of streams that have come to each end.
    pieces: [u32; 2],
}

impl<'a> World<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        plant: Option<Plant>,
        trace: &'a mut Trace,
    ) -> Result<Self, candor_onion::Error> {
        let seed = scenario.seed ^ scenario.number.rotate_left(20);
        let lines = scenario.lines;
        let most = plants::most_circuits(plant);
        let way = |index: usize, from, up| {
            Wire::new([from, Node::Relay(index)], lines[index], up, seed.wrapping_add(2 * index as u64), most)
        };
        let mut wires = vec![
            way(0, Node::Client(0), true),
            way(1, Node::Relay(0), !scenario.cold),
            way(2, Node::Relay(1), !scenario.cold),
        ];
        let mut streams = vec![scenario.streams.clone()];
        if scenario.bystander {
            wires.push(Wire::new([Node::Client(1), Node::Relay(0)], BESIDE, true, seed ^ 0xBE, most));
            streams.push(BYSTANDER.to_vec());
        }
        let limits = Arc::new(Limits { upgrade: true, ..scenario.limits });
        let judge = Judge::new(scenario, &streams);
        let clients = streams.into_iter().enumerate().map(|(index, streams)| {
            let wire = if index == 0 { 0 } else { 3 };
            Client::new(wire, &limits, streams)
        });
        let clients: Vec<_> = clients.collect();
        Ok(Self {
            scenario,
            plant,
            suite: suite::suite(scenario.handshake, scenario.cryptography)?,
            options: HopOptions { crypto: scenario.crypto, fragments: true, upgrade: scenario.upgrade.is_some() },
            limits,
            base: Instant::now(),
            now: Duration::ZERO,
            time: Duration::ZERO,
            agenda: Agenda::default(),
            wires,
            relays: Default::default(),
            clients,
            dirty: BTreeSet::new(),
            judge,
            trace,
            random: Random::stream(seed, 0xFA17),
            struck: vec![false; scenario.faults.len()],
            target_stopped: false,
            dying: None,
            were_open: Vec::new(),
            pieces: [0; 2],
        })
    }

    /// Goes from event to event until there is none, or something is violated.
    pub(super) fn run(mut self) -> Ended {
        for client in 0..self.clients.len() {
            self.at(Duration::ZERO, Event::Begin { client });
        }
        let mut events = 0;
        while let Some((time, event)) = self.agenda.take() {
            self.now = time;
            events += 1;
            // Before it happens: it may be what somebody has waited for, too long.
            self.judge.look(time);
            if self.judge.goes_on() {
                self.happens(event);
                self.settle();
            }
            if self.judge.is_violated() {
                break;
            }
        }
        self.judge.over();
        self.freed();
        self.spared();
        let violation = self.judge.take();
        let outcomes = self.clients.into_iter().map(|client| client.outcome).collect();
        let struck = self.struck.iter().filter(|struck| **struck).count();
        Ended { outcomes, struck, violation, events, time: self.time }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Packet { wire, to, segment } => self.packet(wire, to, &segment),
            Event::Timer { wire, end } => self.timer(wire, end),
            Event::Reset { wire, end } => self.reset(wire, end),
            Event::Stuck { wire, end, since } => self.stuck(wire, end, since),
            Event::LinkUp { wire, tries } => self.link_up(wire, tries),
            Event::Handshake { relay } => self.handshake(relay),
            Event::Tick { relay, circuit } => self.tick(relay, circuit),
            Event::Target { circuit, stream } => self.target(circuit, stream),
            Event::Sweep { relay } => self.sweep(relay),
            Event::Begin { client } => self.begin(client),
            Event::Client { client } => self.look_at_client(client),
            Event::Over { fault } => self.over(fault),
            Event::Leave { wire } => {
                self.note(format_args!("flooder leaves"));
                self.hang_up(wire, 0);
            }
        }
    }

    /// Sends what the event has brought about.
    fn settle(&mut self) {
        while self.judge.goes_on()
            && let Some((wire, end)) = self.dirty.pop_first()
        {
            self.pump(wire, end);
            self.pumped(wire, end);
        }
    }

    fn at(&mut self, time: Duration, event: Event) {
        self.agenda.add(time, event);
    }

    fn after(&mut self, time: Duration, event: Event) {
        self.at(self.now + time, event);
    }

    fn instant(&self) -> Instant {
        self.base + self.now
    }

    fn note(&mut self, event: std::fmt::Arguments<'_>) {
        self.trace.note(self.now, event);
    }

    /// Nobody has kept anything. What a process had that was killed, or that stands still for ever, is nobody's business.
    fn freed(&mut self) {
        if self.judge.is_violated() {
            return;
        }
        for relay in 0..3 {
            let Relay { alive, frozen, circuits, jobs, .. } = &self.relays[relay];
            if !alive || *frozen {
                continue;
            }
            let streams = circuits.values().map(|held| held.streams.len()).sum();
            let on_links =
                self.wires.iter().flat_map(|wire| &wire.sides).filter(|side| side.node == Node::Relay(relay));
            let (numbers, cells) = on_links.fold((0, 0), |(numbers, cells), side| {
                (numbers + side.circuits.len(), cells + usize::from(!side.outbox.is_empty()))
            });
            let kept = [
                ("streams", streams),
                ("circuits", circuits.len()),
                ("circuit numbers", numbers),
                ("handshakes", jobs.len()),
                ("queues of cells", cells),
            ];
            let node = ["guard", "middle", "exit"][relay];
            if let Some((what, got)) = kept.into_iter().find(|(_, got)| *got > 0) {
                self.judge.violated(Violation::Kept { node, what, got });
            }
        }
    }

    /// Whoever nothing happened to has everything, and whoever had to wait for a moment only.
    fn spared(&mut self) {
        if self.judge.is_violated() {
            return;
        }
        let struck = self.scenario.faults.iter().zip(&self.struck).filter(|(_, struck)| **struck);
        let struck: Vec<What> = struck.map(|(fault, _)| fault.what).collect();
        let spares = !self.judge.others_suffer && struck.iter().all(|what| what.spares_others(true));
        for client in 0..self.clients.len() {
            let why = match struck.as_slice() {
                [] if client == 0 => "nothing went wrong",
                all if client == 0 && all.iter().all(|what| what.is_harmless()) => {
                    "what went wrong concerned no cell of it"
                }
                _ if client > 0 && spares => "what went wrong concerned another circuit",
                [what] if what.is_outlived(self.were_open[client]) => "what went wrong was soon over",
                _ => continue,
            };
            if let Some(outcome @ Outcome::Ended { .. }) = &self.clients[client].outcome {
                let error = outcome.to_string();
                self.judge.violated(Violation::Suffered { client, error, why });
            }
        }
    }
}
