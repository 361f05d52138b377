//! A network on paper: one client's circuit over a chain of relays, the last of which is an echoing exit. There are no
//! sockets and no threads; every message passes through the cell codec, and a test may change what passes.
#![allow(dead_code)] // each test uses a part

use candor_onion::Error;
use candor_onion::cell::{Cell, Decoder, Message};
use candor_onion::circuit::{
    ClientAction, ClientCircuit, Failure, HopOptions, Limits, OnionKeys, RelayAction, RelayCircuit, StreamId,
    UpgradeJob,
};
use candor_onion::handshake::Handshake;
use candor_onion::relay::message::{Connected, EndReason, NextRelay};
use candor_primitives::kem::ml_kem::MlKem768;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
}

/// Sees each message on its way: over link `0..`, outbound or inbound. What it returns is delivered.
pub(crate) type Wiretap = Box<dyn FnMut(usize, Way, Message) -> Vec<Message>>;

pub(crate) struct Paper {
    pub(crate) client: ClientCircuit,
    pub(crate) relays: Vec<Option<RelayCircuit>>,
    pub(crate) keys: Vec<OnionKeys>,
    pub(crate) limits: Limits,
    pub(crate) wide: bool,
    pub(crate) now: Instant,
    pub(crate) wiretap: Option<Wiretap>,
    /// News for the client's application.
    pub(crate) news: VecDeque<ClientAction>,
    /// Bytes that the exit has yet to send back, by stream.
    echo: BTreeMap<StreamId, VecDeque<u8>>,
    /// Requests to the exit, and how its streams ended.
    pub(crate) exit_news: Vec<RelayAction>,
    /// Number of cells over each link, outbound and inbound.
    pub(crate) cells: Vec<[usize; 2]>,
    /// Whether the exit reads what it gets; if not, it slows the client down.
    pub(crate) exit_reads: bool,
    /// Jobs of upgrades that nobody does yet, if any are to wait.
    pub(crate) upgrades: Option<Vec<(usize, UpgradeJob)>>,
    wires: [Decoder; 2],
}

/// A decoder that has read VERSIONS, with which every link begins.
fn open_wire() -> Decoder {
    let mut decoder = Decoder::new();
    // Circuit 0, VERSIONS, two bytes: version 5.
    decoder.receive(&[0, 0, 7, 0, 2, 0, 5]);
    assert!(matches!(decoder.next(), Ok(Some(Cell { message: Message::Versions(_), .. }))));
    decoder
}

impl Paper {
    pub(crate) fn new(keys: Vec<OnionKeys>) -> Self {
        let limits = Limits { upgrade: true, ..Limits::default() };
        Self {
            client: ClientCircuit::new(limits, true),
            relays: keys.iter().map(|_| None).collect(),
            cells: vec![[0; 2]; keys.len()],
            keys,
            limits,
            wide: true,
            now: Instant::now(),
            wiretap: None,
            news: VecDeque::new(),
            echo: BTreeMap::new(),
            exit_news: Vec::new(),
            exit_reads: true,
            upgrades: None,
            wires: [open_wire(), open_wire()],
        }
    }

    /// A chain of relays with the same handshake, and a circuit over all of them.
    pub(crate) fn build<H>(handshake: H, hops: usize, options: HopOptions) -> Self
    where
        H: Handshake + Clone + Send + Sync + 'static,
        H::RelaySecret: Send + Sync,
        H::Client: Send + 'static,
    {
        let mut paper = Self::relays(&handshake, hops);
        for hop in 0..hops {
            paper.extend(&handshake, hop, options);
            assert_eq!(paper.news.pop_front(), Some(ClientAction::Extended { hop: hop + 1 }));
        }
        paper
    }

    /// The relays, without a circuit.
    pub(crate) fn relays<H>(handshake: &H, hops: usize) -> Self
    where
        H: Handshake + Clone + Send + Sync + 'static,
        H::RelaySecret: Send + Sync,
    {
        let keys = (0..hops).map(|hop| {
            let relay = secret(handshake, hop);
            OnionKeys::default().with(handshake.clone(), vec![relay]).unwrap()
        });
        Self::new(keys.collect())
    }

    /// Asks for the next hop, with fresh keys for its relay.
    pub(crate) fn extend<H>(&mut self, handshake: &H, hop: usize, options: HopOptions)
    where
        H: Handshake + Clone + Send + Sync + 'static,
        H::RelaySecret: Send + Sync,
        H::Client: Send + 'static,
    {
        let relay = secret(handshake, hop);
        let now = self.now;
        match hop {
            0 => self.client.create(handshake, handshake.public(&relay), options, now).unwrap(),
            _ => self.client.extend(handshake, handshake.public(&relay), &next(hop), options, now).unwrap(),
        }
        self.keys[hop] = OnionKeys::default().with(handshake.clone(), vec![relay]).unwrap();
        self.run();
    }

    /// Runs until nothing more happens.
    pub(crate) fn run(&mut self) {
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        let mut moved = false;
        while let Some(action) = self.client.poll() {
            moved = true;
            match action {
                ClientAction::Send(message) => self.carry(0, Way::Out, message),
                news => self.news.push_back(news),
            }
        }
        for at in 0..self.relays.len() {
            while let Some(action) = self.relays[at].as_mut().and_then(RelayCircuit::poll) {
                moved = true;
                self.act(at, action);
            }
        }
        moved
    }

    fn act(&mut self, at: usize, action: RelayAction) {
        match action {
            RelayAction::ToClient(message) => self.carry(at, Way::In, message),
            RelayAction::ToNext(message) => self.carry(at + 1, Way::Out, message),
            RelayAction::Extend(asked) => {
                assert_eq!(asked, next(at + 1));
                let wide = self.wide;
                self.relays[at].as_mut().unwrap().next_ready(wide);
            }
            RelayAction::Begin { stream, target } => {
                self.echo.insert(stream, VecDeque::new());
                let connected = Connected { address: Some([127, 0, 0, 1].into()) };
                self.relays[at].as_mut().unwrap().connected(stream, connected).unwrap();
                self.exit_news.push(RelayAction::Begin { stream, target });
            }
            RelayAction::Data { stream, bytes } => {
                if self.exit_reads {
                    self.relays[at].as_mut().unwrap().consumed(stream, bytes.len());
                }
                self.echo.get_mut(&stream).unwrap().extend(bytes);
                self.echo_back(at, stream);
            }
            RelayAction::Writable { stream } => self.echo_back(at, stream),
            RelayAction::Ended { stream, reason } => {
                self.echo.remove(&stream);
                self.exit_news.push(RelayAction::Ended { stream, reason });
            }
            RelayAction::Upgrade(job) => match &mut self.upgrades {
                Some(waiting) => waiting.push((at, job)),
                None => self.relays[at].as_mut().unwrap().upgrade(job.run(&MlKem768::new())),
            },
            other => self.exit_news.push(other),
        }
    }

    fn echo_back(&mut self, at: usize, stream: StreamId) {
        let Some(queue) = self.echo.get_mut(&stream) else { return };
        match self.relays[at].as_mut().unwrap().send(stream, queue.make_contiguous(), self.now) {
            Ok(taken) => drop(queue.drain(..taken)),
            // The stream has ended; the news of that is among the actions to come.
            Err(error) => assert!(matches!(error, Error::NoStream(_)), "{error}"),
        }
    }

    /// Carries a message over a link, as bytes.
    fn carry(&mut self, link: usize, way: Way, message: Message) {
        let messages = match &mut self.wiretap {
            Some(wiretap) => wiretap(link, way, message),
            None => vec![message],
        };
        for message in messages {
            let mut bytes = Vec::new();
            Cell { circuit: 0x8000_0000 | link as u32, message }.encode(&mut bytes);
            let wire = &mut self.wires[way as usize];
            wire.receive(&bytes);
            let message = wire.next().unwrap().expect("a whole cell").message;
            self.cells[link][way as usize] += 1;
            self.deliver(link, way, message);
        }
    }

    fn deliver(&mut self, link: usize, way: Way, message: Message) {
        let now = self.now;
        match (way, link) {
            (Way::In, 0) => self.client.receive(message, now),
            (Way::In, _) => {
                if let Some(relay) = &mut self.relays[link - 1] {
                    relay.receive_from_next(message);
                }
            }
            (Way::Out, _) => match (message, &mut self.relays[link]) {
                (Message::Create2(create), none @ None) => {
                    let (mut circuit, job) = RelayCircuit::create(create, self.limits);
                    circuit.answer(job.run(&self.keys[link]));
                    *none = Some(circuit);
                }
                (Message::Create2v(create), none @ None) => {
                    let (mut circuit, job) = RelayCircuit::create_wide(create, self.limits);
                    circuit.answer(job.run(&self.keys[link]));
                    *none = Some(circuit);
                }
                (message, Some(relay)) => relay.receive_from_client(message, now),
                (_, None) => {}
            },
        }
    }

    /// Opens a stream and waits for CONNECTED.
    pub(crate) fn begin(&mut self) -> StreamId {
        let target = candor_onion::relay::message::Begin::new("echo.test", 7).unwrap();
        let stream = self.client.begin(&target).unwrap();
        self.run();
        assert!(
            matches!(self.news.pop_front(), Some(ClientAction::Connected { stream: opened, .. }) if opened == stream)
        );
        stream
    }

    /// Sends `data` on the streams in turn and collects what comes back; `step` of time passes with each turn.
    pub(crate) fn echo(&mut self, data: &[(StreamId, Vec<u8>)], step: Duration) -> BTreeMap<StreamId, Vec<u8>> {
        let mut left: Vec<(StreamId, &[u8])> = data.iter().map(|(stream, bytes)| (*stream, &bytes[..])).collect();
        let mut back: BTreeMap<StreamId, Vec<u8>> = BTreeMap::new();
        let total: usize = data.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut arrived = 0;
        while arrived < total {
            let before = (arrived, left.iter().map(|(_, rest)| rest.len()).sum::<usize>());
            for (stream, rest) in &mut left {
                if !rest.is_empty() {
                    let taken = self.client.send(*stream, rest, self.now).unwrap();
                    *rest = &rest[taken..];
                }
            }
            self.now += step;
            self.run();
            while let Some(news) = self.news.pop_front() {
                match news {
                    ClientAction::Data { stream, bytes } => {
                        arrived += bytes.len();
                        self.client.consumed(stream, bytes.len());
                        back.entry(stream).or_default().extend(bytes);
                    }
                    ClientAction::Writable { .. } => {}
                    other => panic!("{other:?}"),
                }
            }
            self.run();
            let after = (arrived, left.iter().map(|(_, rest)| rest.len()).sum::<usize>());
            assert_ne!(before, after, "nothing moves any more");
        }
        back
    }

    /// Does the jobs of upgrades that wait; none waits from now on.
    pub(crate) fn upgrade(&mut self) {
        for (at, job) in self.upgrades.take().into_iter().flatten() {
            self.relays[at].as_mut().unwrap().upgrade(job.run(&MlKem768::new()));
        }
        self.run();
    }

    /// How the circuit ended.
    pub(crate) fn failure(&mut self) -> Failure {
        match self.news.pop_back() {
            Some(ClientAction::Closed(failure)) => failure,
            other => panic!("expected a closed circuit, got {other:?}"),
        }
    }

    /// Ends a stream from the client.
    pub(crate) fn end(&mut self, stream: StreamId) {
        self.client.end_stream(stream, EndReason::DONE).unwrap();
        self.run();
    }
}

pub(crate) fn next(hop: usize) -> NextRelay {
    let addresses = vec![([127, 0, 0, 1], 9000 + hop as u16).into()];
    NextRelay { addresses, ed25519: Some([hop as u8; 32]), rsa: None }
}

fn secret<H: Handshake>(handshake: &H, hop: usize) -> H::RelaySecret {
    let mut identity = H::Identity::default();
    identity.as_mut().fill(hop as u8 + 1);
    handshake.generate_relay(identity).unwrap()
}

/// Pseudorandom bytes from a seed.
pub(crate) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    candor_test_support::Random::new(seed).bytes(length)
}
