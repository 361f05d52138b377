//! The world: events in the order of their time.

mod actions;

use super::circuit::{Circuit, Relay};
use super::connection::{Connection, Item};
use super::{Outcome, Plan, SimulatorError, Start, setup};
use crate::agenda::Agenda;
use crate::costs::{Costs, Step as Work};
use crate::model::{Drop, Fate, LinkModel};
use crate::random::Random;
use crate::suite::{self, Suite};
use crate::topology::{Role, Step};
use crate::transport::{Endpoint, Segment};
use candor_onion::cell::{Cell, Decoder, Message};
use candor_onion::circuit::{Cause, Failure, HandshakeJob, HopOptions, Limits, RelayCircuit};
use candor_onion::handshake::HandshakeType;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a GET with a host and a path.
const REQUEST: u64 = 100;
/// Cells that wait for a connection before congestion control hears of it: `SHORT` of `network`.
const SHORT: u64 = 128 * 514;
/// What a page consists of.
static PAGE: [u8; 1 << 14] = [0; 1 << 14];

enum Event {
    /// A segment is where the step number `at` of its way begins, or has arrived.
    Packet { connection: u32, to: u8, at: u8, segment: Segment },
    /// A timer of an end.
    Timer { connection: u32, end: u8 },
    /// The client has computed an onionskin.
    Begin { circuit: u32 },
    /// A relay has computed an answer.
    Answer { circuit: u32, relay: u8 },
    /// The client has waited long enough, for its link or for a hop.
    Deadline { circuit: u32 },
    /// The client begins a further round trip to the last hop.
    Probe { circuit: u32 },
    /// The client has been told that its stream is open, and asks for the page.
    Request { circuit: u32 },
    /// The client, or the exit, has waited long enough for the stream to be open.
    Impatient { circuit: u32, is_exit: bool },
}

/// A world with its virtual time. See [the module](super).
pub struct World {
    handshake: HandshakeType,
    start: Start,
    costs: Costs,
    fetch: Option<u64>,
    more_round_trips: u32,
    suite: Box<dyn Suite>,
    /// Those of all machines, in one place.
    limits: Arc<Limits>,
    /// Each link, there and back.
    links: Vec<[LinkModel; 2]>,
    /// The way of each connection, from its initiator and to it.
    ways: [[Vec<Step>; 2]; 4],
    round_trips: [Duration; 4],
    /// When each relay has computed what it was asked for.
    free_at: [Duration; 3],
    random: Random,
    decoder: Decoder,
    /// What `onion` takes for the time is this and virtual time on top.
    base: Instant,
    now: Duration,
    events: Agenda<Event>,
    circuits: Vec<Circuit>,
    connections: Vec<Connection>,
    trace: Option<String>,
}

impl World {
    /// A world at the time when the plan begins.
    ///
    /// # Errors
    /// [`SimulatorError`].
    pub fn new(plan: &Plan) -> Result<Self, SimulatorError> {
        let (topology, set) = (&plan.topology, plan.set.as_deref());
        if let Some(set) = set
            && !topology.sets().contains(&set)
        {
            let (topology, known) = (topology.name.clone(), topology.sets().join(", "));
            return Err(SimulatorError::Set { topology, set: set.to_owned(), known });
        }
        let mut ways: [[Vec<Step>; 2]; 4] = Default::default();
        for (way, pair) in ways.iter_mut().zip(Role::ALL.windows(2)) {
            *way = [
                topology.way_at(pair[0], pair[1], set, plan.begin)?,
                topology.way_at(pair[1], pair[0], set, plan.begin)?,
            ];
        }
        let round_trips =
            [0, 1, 2, 3].map(|at: usize| ways[at].iter().map(|way| topology.delay(way, set, plan.begin)).sum());
        // A decoder that has read VERSIONS, with which every link begins: circuit 0, two bytes, version 5.
        let mut decoder = Decoder::new();
        decoder.receive(&[0, 0, 7, 0, 2, 0, 5]);
        let _ = decoder.next();
        Ok(Self {
            handshake: plan.handshake,
            start: plan.start,
            costs: plan.costs.clone(),
            fetch: plan.fetch,
            more_round_trips: plan.more_round_trips,
            suite: suite::suite(plan.handshake, plan.cryptography).map_err(SimulatorError::Keys)?,
            limits: Arc::default(),
            links: topology.models(set, plan.seed),
            ways,
            round_trips,
            free_at: [Duration::ZERO; 3],
            random: Random::stream(plan.seed, u64::MAX),
            decoder,
            base: Instant::now(),
            now: plan.begin,
            events: Agenda::default(),
            circuits: Vec::new(),
            connections: Vec::new(),
            trace: None,
        })
    }

    /// Keeps every event from now on, a line each, for [`Self::trace`].
    pub fn record(&mut self) {
        self.trace.get_or_insert_default();
    }

    /// The events since [`Self::record`].
    pub fn trace(&self) -> &str {
        self.trace.as_deref().unwrap_or_default()
    }

    /// Virtual time.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Builds one circuit, alone in the world, and fetches its page. What is still on the way when it is done is forgotten.
    pub fn build(&mut self) -> Outcome {
        let mut outcomes = self.build_together(1, Duration::ZERO);
        outcomes.pop().unwrap_or_default()
    }

    /// Builds circuits that begin one after another at this interval, and holds all of them until the last is done.
    pub fn build_together(&mut self, circuits: u32, interval: Duration) -> Vec<Outcome> {
        self.events.clear();
        self.connections.clear();
        self.circuits.clear();
        // What was on the way is forgotten, and must not stand in the way either.
        let idle_at = self.links.iter().flatten().map(LinkModel::idle_at).max();
        let began = self.now.max(idle_at.unwrap_or_default());
        // All at once: growing by doubling would take twice the memory for a moment.
        let connections = if self.fetch.is_some() { 4 } else { 3 };
        self.circuits.reserve_exact(circuits as usize);
        self.connections.reserve_exact(connections * circuits as usize);
        let mut left = circuits;
        for circuit in 0..circuits {
            let at = began + interval * circuit;
            self.circuits.push(Circuit::new(&self.limits, self.more_round_trips, at));
            self.schedule(at, Event::Begin { circuit });
        }
        while left > 0
            && let Some((time, event)) = self.events.take()
        {
            self.now = time;
            self.note(&event);
            let circuit = self.happens(event);
            let circuit = &mut self.circuits[circuit as usize];
            if circuit.done && !circuit.counted {
                circuit.counted = true;
                left -= 1;
            }
        }
        for connection in &self.connections {
            let resent = connection.ends.iter().map(Endpoint::resent).sum::<u64>();
            self.circuits[connection.circuit as usize].outcome.resent += resent;
        }
        self.circuits.iter_mut().map(|circuit| std::mem::take(&mut circuit.outcome)).collect()
    }

    fn instant(&self) -> Instant {
        self.base + self.now
    }

    fn schedule(&mut self, time: Duration, event: Event) {
        self.events.add(time, event);
    }

    fn note(&mut self, event: &Event) {
        let Some(trace) = &mut self.trace else { return };
        let time = self.now.as_nanos();
        let _ = match event {
            Event::Packet { connection, to, at, segment: Segment { syn, start, length, ack, ranges, .. } } => {
                writeln!(trace, "{time} packet {connection} {to} {at} {syn} {start} {length} {ack} {ranges:?}")
            }
            Event::Timer { connection, end } => writeln!(trace, "{time} timer {connection} {end}"),
            Event::Begin { circuit } => writeln!(trace, "{time} begin {circuit}"),
            Event::Answer { circuit, relay } => writeln!(trace, "{time} answer {circuit} {relay}"),
            Event::Deadline { circuit } => writeln!(trace, "{time} deadline {circuit}"),
            Event::Probe { circuit } => writeln!(trace, "{time} probe {circuit}"),
            Event::Request { circuit } => writeln!(trace, "{time} request {circuit}"),
            Event::Impatient { circuit, is_exit } => writeln!(trace, "{time} impatient {circuit} {is_exit}"),
        };
    }

    /// Does what an event stands for. Returns the circuit that it concerns.
    fn happens(&mut self, event: Event) -> u32 {
        match event {
            Event::Packet { connection, to, at, segment } => {
                self.packet(connection, to, at, segment);
                self.connections[connection as usize].circuit
            }
            Event::Timer { connection, end } => {
                let (index, end) = (connection as usize, usize::from(end));
                let now = self.now;
                let Connection { circuit, hop, ends, timers, .. } = &mut self.connections[index];
                let (circuit, hop) = (*circuit, *hop);
                // Each end has one event at the earliest time; others are stale.
                if timers[end] == Some(now) {
                    timers[end] = None;
                    if ends[end].deadline().is_some_and(|deadline| deadline <= now) {
                        ends[end].tick(now);
                    }
                    if ends[end].has_given_up() {
                        self.lost_connection(circuit, usize::from(hop));
                    }
                    self.flush(connection, end);
                }
                circuit
            }
            Event::Begin { circuit } => {
                self.begin(circuit);
                circuit
            }
            Event::Answer { circuit, relay } => {
                let keys = self.suite.keys(usize::from(relay));
                if let Some(Relay { machine, job, .. }) =
                    &mut self.circuits[circuit as usize].relays[usize::from(relay)]
                    && let Some(job) = job.take()
                {
                    machine.answer(job.run(keys));
                }
                self.drain_relay(circuit, usize::from(relay));
                circuit
            }
            Event::Deadline { circuit } => {
                let now = self.instant();
                let Circuit { client, is_linked, done, .. } = &mut self.circuits[circuit as usize];
                if !*is_linked {
                    if !*done {
                        self.fail(circuit, Failure { hop: Some(1), cause: Cause::Timeout });
                    }
                    return circuit;
                }
                client.tick(now);
                self.drain_client(circuit);
                self.watch(circuit);
                circuit
            }
            Event::Probe { circuit } => {
                self.probe(circuit);
                circuit
            }
            Event::Request { circuit } => {
                self.request(circuit);
                circuit
            }
            Event::Impatient { circuit, is_exit } => {
                self.impatient(circuit, is_exit);
                circuit
            }
        }
    }

    fn packet(&mut self, connection: u32, to: u8, at: u8, segment: Segment) {
        let Connection { hop, circuit, .. } = self.connections[connection as usize];
        let (way, end) = (&self.ways[usize::from(hop)][usize::from(1 - to)], usize::from(to));
        if let Some(step) = way.get(usize::from(at)) {
            match self.links[step.link][usize::from(step.back)].enqueue(self.now, segment.bytes()) {
                Fate::Arrives(time) => self.schedule(time, Event::Packet { connection, to, at: at + 1, segment }),
                Fate::Dropped(why) => {
                    let dropped = &mut self.circuits[circuit as usize].outcome.dropped;
                    dropped[match why {
                        Drop::NoLink => 0,
                        Drop::Queue => 1,
                        Drop::Loss => 2,
                    }] += 1;
                }
            }
            return;
        }
        self.connections[connection as usize].ends[end].receive(&segment, self.now);
        self.read(connection, end);
        self.flush(connection, end);
    }

    /// Sends what an end has to send, and sees to its timer.
    fn flush(&mut self, connection: u32, end: usize) {
        let index = connection as usize;
        while let Some(segment) = self.connections[index].ends[end].poll() {
            self.packet_out(connection, end, segment);
        }
        let Connection { ends, timers, .. } = &mut self.connections[index];
        if let Some(deadline) = ends[end].deadline()
            && timers[end].is_none_or(|known| deadline < known)
        {
            timers[end] = Some(deadline);
            self.schedule(deadline.max(self.now), Event::Timer { connection, end: end as u8 });
        }
    }

    fn packet_out(&mut self, connection: u32, from: usize, segment: Segment) {
        let to = 1 - from as u8;
        match self.ways[usize::from(self.connections[connection as usize].hop)][from].is_empty() {
            // Both ends are at the same node; still, an event of its own, so that no end calls the other.
            true => self.schedule(self.now, Event::Packet { connection, to, at: 0, segment }),
            false => self.packet(connection, to, 0, segment),
        }
    }

    /// Gives the application at an end what has arrived there.
    fn read(&mut self, connection: u32, end: usize) {
        let index = connection as usize;
        let Connection { circuit, hop, .. } = self.connections[index];
        let hop = usize::from(hop);
        if hop == 3 && end == 0 {
            return self.on_target(connection);
        }
        while let Some(item) = self.connections[index].read(end) {
            match item {
                Item::Setup(step) => self.set_up(connection, step),
                Item::Cells(bytes) => {
                    self.decoder.receive(&bytes);
                    while let Ok(Some(cell)) = self.decoder.next() {
                        self.cell(circuit, hop, end, cell.message);
                    }
                }
                Item::Request => {
                    let page = self.fetch.unwrap_or_default();
                    self.connections[index].write(1, Item::Body, page, self.now);
                }
                Item::Body => {}
            }
        }
        match (end, hop) {
            (0, 0) => self.drain_client(circuit),
            (0, _) => self.drain_relay(circuit, hop - 1),
            (_, 3) => {}
            (_, _) => self.drain_relay(circuit, hop),
        }
    }

    /// A message of the set-up has arrived: the next follows, and after the last the link is there.
    fn set_up(&mut self, connection: u32, step: u8) {
        let Connection { circuit, hop, .. } = self.connections[connection as usize];
        let next = step + 1;
        if let Some(bytes) = setup::message(next, hop > 0) {
            let end = usize::from(next % 2);
            self.connections[connection as usize].write(end, Item::Setup(next), bytes, self.now);
        }
        // The initiator has had the responder's answer, and has sent its own, behind which the first cell may follow.
        if step == 3 {
            match usize::from(hop) {
                // Too late.
                0 if self.circuits[circuit as usize].done => {}
                0 => {
                    let circuit_ = &mut self.circuits[circuit as usize];
                    circuit_.is_linked = true;
                    circuit_.outcome.link = self.now - circuit_.step_began;
                    circuit_.step_began = self.now;
                    self.compute_onionskin(circuit, Duration::ZERO);
                }
                hop => {
                    if let Some(relay) = &mut self.circuits[circuit as usize].relays[hop - 1] {
                        relay.machine.next_ready(true);
                    }
                }
            }
        }
    }

    /// A cell has arrived over the connection number `hop`, at its responder (`end` 1) or back at its initiator.
    fn cell(&mut self, circuit: u32, hop: usize, end: usize, message: Message) {
        let now = self.instant();
        let Circuit { client, relays, .. } = &mut self.circuits[circuit as usize];
        match (end, message) {
            (0, message) if hop == 0 => client.receive(message, now),
            (0, message) => {
                if let Some(relay) = &mut relays[hop - 1] {
                    relay.machine.receive_from_next(message);
                }
            }
            (_, Message::Create2(create)) if relays[hop].is_none() => {
                let (machine, job) = RelayCircuit::create(create, self.limits.clone());
                self.created(circuit, hop, machine, job);
            }
            (_, Message::Create2v(create)) if relays[hop].is_none() => {
                let (machine, job) = RelayCircuit::create_wide(create, self.limits.clone());
                self.created(circuit, hop, machine, job);
            }
            (_, message) => {
                if let Some(relay) = &mut relays[hop] {
                    relay.machine.receive_from_client(message, now);
                }
            }
        }
    }

    fn created(&mut self, circuit: u32, relay: usize, machine: RelayCircuit, job: HandshakeJob) {
        self.circuits[circuit as usize].relays[relay] =
            Some(Relay { machine: Box::new(machine), job: Some(job), stream: None });
        let cost = self.costs.draw(self.handshake, Work::Answer, &mut self.random);
        self.free_at[relay] = self.free_at[relay].max(self.now) + cost;
        self.schedule(self.free_at[relay], Event::Answer { circuit, relay: relay as u8 });
    }

    /// A circuit begins, or the client's onionskin for the next hop is computed.
    fn begin(&mut self, circuit: u32) {
        let is_new = self.circuits[circuit as usize].connections[0].is_none();
        if is_new {
            self.connect(circuit, 0);
            if self.start == Start::Warm {
                self.circuits[circuit as usize].is_linked = true;
                self.compute_onionskin(circuit, Duration::ZERO);
            } else {
                // The same event serves the first hop: that can't be late before it.
                self.circuits[circuit as usize].is_watched = true;
                self.schedule(self.now + setup::LIMIT, Event::Deadline { circuit });
            }
            return;
        }
        let now = self.instant();
        let client = &mut self.circuits[circuit as usize].client;
        let hop = client.hops();
        // It can only fail where the circuit has been closed meanwhile, which its last action says.
        let _ = self.suite.begin(client, hop, HopOptions::default(), now);
        self.drain_client(circuit);
        if !self.circuits[circuit as usize].is_watched {
            self.watch(circuit);
        }
    }

    /// Sees to it that the client is woken when it has waited long enough. There is one such event for each circuit, not one for each hop.
    fn watch(&mut self, circuit: u32) {
        let Circuit { client, is_watched, .. } = &mut self.circuits[circuit as usize];
        let deadline = client.deadline();
        *is_watched = deadline.is_some();
        if let Some(deadline) = deadline {
            self.schedule(deadline - self.base, Event::Deadline { circuit });
        }
    }

    /// Lets the client compute its next onionskin once `after` has passed.
    fn compute_onionskin(&mut self, circuit: u32, after: Duration) {
        let cost = self.costs.draw(self.handshake, Work::Start, &mut self.random);
        self.schedule(self.now + after + cost, Event::Begin { circuit });
    }

    /// Makes the connection number `hop` of a circuit.
    fn connect(&mut self, circuit: u32, hop: usize) -> u32 {
        let is_there = self.start == Start::Warm && hop < 3;
        let ends = match is_there {
            true => Endpoint::open_pair(self.round_trips[hop]),
            false => [Endpoint::new(), Endpoint::new()],
        };
        let index = self.connections.len() as u32;
        self.circuits[circuit as usize].connections[hop] = Some(index);
        let mut connection = Connection::new(circuit, hop as u8, ends);
        if !is_there {
            connection.ends[0].connect(self.now);
            if hop < 3 {
                connection.write(0, Item::Setup(0), setup::message(0, hop > 0).unwrap_or_default(), self.now);
            }
        }
        self.connections.push(connection);
        self.flush(index, 0);
        index
    }

    /// Sends cells over a connection of a circuit, from one of its ends.
    fn send(&mut self, circuit: u32, hop: usize, end: usize, messages: Vec<Message>) {
        let Circuit { connections, outcome, .. } = &mut self.circuits[circuit as usize];
        let Some(index) = connections[hop] else { return };
        if outcome.built.is_none() {
            outcome.cells[hop][end] += messages.len() as u64;
        }
        // Circuits have links of their own, so that one number does for all.
        let cells = messages.into_iter().map(|message| Cell { circuit: 0x8000_0001, message }).collect();
        self.connections[index as usize].write_cells(end, cells, self.now);
        self.flush(index, end);
    }
}
