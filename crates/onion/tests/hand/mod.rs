//! Ends of a circuit that are moved by hand: they hold the handshake's keys, wrap what a test tells them to, and read what comes.
#![allow(dead_code)] // each test uses a part

use candor_onion::cell::payload::{Create2, Created2};
use candor_onion::cell::{Command, Message, PAYLOAD};
use candor_onion::circuit::{
    ClientAction, ClientCircuit, Failure, HopOptions, Limits, OnionKeys, RelayAction, RelayCircuit, Request, Response,
    UpgradeJob,
};
use candor_onion::handshake::{
    Chain, Client, Handshake, HandshakeType, Keys, NtorV3Default, Request as _, Upgrade, UpgradeAnswer, Upgraded,
};
use candor_onion::layer::{ClientLayer, Crypto, FreshKeys, RelayLayer};
use candor_onion::relay::message::{Extend2, NextRelay};
use candor_onion::relay::{Format, Fragments, Header, RelayCommand, encode_fragment};
use candor_primitives::kem::ml_kem::MlKem768;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::slice::from_ref;
use std::time::Instant;

/// One end.
pub(crate) struct Hand {
    layer: Layer,
    crypto: Crypto,
    fragments: Fragments,
    keys: Keys,
}

enum Layer {
    Client(ClientLayer),
    Relay(RelayLayer),
}

impl Hand {
    fn new(crypto: Crypto, keys: Keys, is_client: bool) -> Self {
        let layer = match is_client {
            true => Layer::Client(ClientLayer::new(crypto, &keys).unwrap()),
            false => Layer::Relay(RelayLayer::new(crypto, &keys).unwrap()),
        };
        Self { layer, crypto, fragments: Fragments::new(crypto.format(), true).with_upgrades(true), keys }
    }

    /// Somebody with the handshake's keys, who has recorded all cells; reads what the client sends, or what the relay sends.
    pub(crate) fn recorder(&self, of_client: bool) -> Self {
        Self::reader(self.crypto, &self.keys, of_client)
    }

    /// Somebody who has just made a layer of these keys, and reads what the client sends, or what the relay sends.
    pub(crate) fn reader(crypto: Crypto, keys: &Keys, of_client: bool) -> Self {
        // Keys can't be copied; a layer made of them can be made twice.
        let material = keys.expand(crypto.key_length()).unwrap();
        let layer = match of_client {
            true => Layer::Relay(RelayLayer::from_material(crypto, &material).unwrap()),
            false => Layer::Client(ClientLayer::from_material(crypto, &material).unwrap()),
        };
        let fragments = Fragments::new(crypto.format(), true).with_upgrades(true);
        Self { layer, crypto, fragments, keys: self::keys() }
    }

    pub(crate) fn chain(&self) -> Chain {
        Chain::new(&self.keys, self.crypto.name(), self.crypto.key_length()).unwrap()
    }

    /// The relay's UPGRADED.
    pub(crate) fn answer(&self, request: &[u8]) -> (Vec<u8>, Upgraded) {
        let answer: UpgradeAnswer = Upgrade::new(MlKem768::new()).unwrap().answer(request).unwrap();
        answer.finish(self.chain())
    }

    pub(crate) fn replace(&mut self, fresh: &FreshKeys) {
        match &mut self.layer {
            Layer::Client(layer) => layer.replace(fresh).unwrap(),
            Layer::Relay(layer) => layer.replace(fresh).unwrap(),
        }
    }

    /// The cells of a message, wrapped.
    pub(crate) fn cells(&mut self, command: RelayCommand, stream: u16, body: &[u8]) -> Vec<Message> {
        self.wrapped(command, stream, body, false)
    }

    /// The same, the first of them as RELAY_EARLY.
    pub(crate) fn early(&mut self, command: RelayCommand, body: &[u8]) -> Vec<Message> {
        self.wrapped(command, 0, body, true)
    }

    fn wrapped(&mut self, command: RelayCommand, stream: u16, body: &[u8], early: bool) -> Vec<Message> {
        let (format, mut done, mut cells) = (self.crypto.format(), 0, Vec::new());
        loop {
            let mut payload = Box::new([0; PAYLOAD]);
            done = match (format, stream) {
                (Format::V0, _) | (_, 0) => encode_fragment(format, &mut payload, command, body, done),
                _ => format.encode(&mut payload, Header { command, stream, length: body.len() as u16 }, body),
            };
            if format == Format::V0 && cells.is_empty() {
                payload[3..5].copy_from_slice(&stream.to_be_bytes());
            }
            let early = early && cells.is_empty();
            let kind = if early { Command::RELAY_EARLY } else { Command::RELAY };
            match &mut self.layer {
                Layer::Client(layer) => layer.originate(kind, &mut payload),
                Layer::Relay(layer) => layer.originate(kind, &mut payload),
            };
            cells.push(if early { Message::RelayEarly(payload) } else { Message::Relay(payload) });
            if done >= body.len() {
                return cells;
            }
        }
    }

    /// The one message in these cells; `None` if a cell is not for this end.
    pub(crate) fn read_all(&mut self, cells: &[Message]) -> Option<(RelayCommand, Vec<u8>)> {
        let mut whole = None;
        for cell in cells {
            let (kind, mut payload) = payload(cell);
            match &mut self.layer {
                Layer::Client(layer) => layer.inbound(kind, &mut payload)?,
                Layer::Relay(layer) => layer.outbound(kind, &mut payload)?,
            };
            let early = kind == Command::RELAY_EARLY;
            if let Some(message) = self.fragments.receive(&payload, early, Instant::now()).unwrap() {
                assert!(whole.replace((message.command, message.body.into_owned())).is_none(), "two messages");
            }
        }
        Some(whole.expect("a whole message"))
    }

    /// Takes a relay's layer off cells for somebody behind it.
    pub(crate) fn pass_on(&mut self, cells: Vec<Message>) -> Vec<Message> {
        let Layer::Relay(layer) = &mut self.layer else { panic!("a relay") };
        let pass = |cell: Message| {
            let (kind, mut payload) = payload(&cell);
            assert!(layer.outbound(kind, &mut payload).is_none(), "it is for somebody behind");
            Message::Relay(payload)
        };
        cells.into_iter().map(pass).collect()
    }

    /// Adds a relay's layer to cells from behind it.
    pub(crate) fn pass_back(&mut self, cells: Vec<Message>) -> Vec<Message> {
        let Layer::Relay(layer) = &mut self.layer else { panic!("a relay") };
        let pass = |cell: Message| {
            let (kind, mut payload) = payload(&cell);
            layer.inbound(kind, &mut payload);
            Message::Relay(payload)
        };
        cells.into_iter().map(pass).collect()
    }

    /// Adds a hop behind this one, which is the circuit's only one. The new one has agreed to upgrades.
    pub(crate) fn extend(&mut self, circuit: &mut Driven, crypto: Crypto) -> Self {
        let handshake = NtorV3Default::default();
        let relay = handshake.generate_relay([2; 32]).unwrap();
        let options = HopOptions { crypto, fragments: false, upgrade: true };
        circuit.extend(&handshake, handshake.public(&relay), &next(), options, Instant::now()).unwrap();
        let (_, body) = self.read_all(&circuit.sent()).unwrap();
        let asked = Extend2::decode(&body).unwrap();
        let accepted = handshake.accept(from_ref(&relay), asked.create.onionskin()).unwrap();
        let (reply, keys) = accepted.respond(&response(crypto, true).encode()).unwrap();
        let mut body = Vec::new();
        Created2::new(reply).unwrap().encode(&mut body);
        circuit.deliver(self.cells(RelayCommand::EXTENDED2, 0, &body));
        assert_eq!(circuit.news(), Some(ClientAction::Extended { hop: 2 }));
        Self::new(crypto, keys, false)
    }
}

fn payload(cell: &Message) -> (Command, Box<[u8; PAYLOAD]>) {
    match cell {
        Message::Relay(payload) => (Command::RELAY, payload.clone()),
        Message::RelayEarly(payload) => (Command::RELAY_EARLY, payload.clone()),
        other => panic!("expected a relay cell, found {other:?}"),
    }
}

fn response(crypto: Crypto, upgrade: bool) -> Response {
    Response { sendme_increment: (crypto == Crypto::Cgo).then_some(31), upgrade }
}

fn next() -> NextRelay {
    NextRelay { addresses: vec![([127, 0, 0, 1], 9001).into()], ed25519: Some([2; 32]), rsa: None }
}

/// The body of an EXTEND2 that a relay takes.
pub(crate) fn asked() -> Vec<u8> {
    Extend2 { next: next(), create: Create2::new(3, vec![7; 128]).unwrap() }.encode()
}

/// Keys of a handshake of their own.
pub(crate) fn keys() -> Keys {
    let handshake = NtorV3Default::default();
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let (_, onionskin) = handshake.start(handshake.public(&relay), b"").unwrap();
    handshake.accept(from_ref(&relay), &onionskin).unwrap().respond(b"").unwrap().1
}

/// A client's circuit, with what it wants sent and its news kept apart.
pub(crate) struct Driven {
    circuit: ClientCircuit,
    news: VecDeque<ClientAction>,
}

impl Deref for Driven {
    type Target = ClientCircuit;

    fn deref(&self) -> &ClientCircuit {
        &self.circuit
    }
}

impl DerefMut for Driven {
    fn deref_mut(&mut self) -> &mut ClientCircuit {
        &mut self.circuit
    }
}

impl Driven {
    /// What it wants sent.
    pub(crate) fn sent(&mut self) -> Vec<Message> {
        let mut sent = Vec::new();
        while let Some(action) = self.circuit.poll() {
            match action {
                ClientAction::Send(message) => sent.push(message),
                news => self.news.push_back(news),
            }
        }
        sent
    }

    pub(crate) fn news(&mut self) -> Option<ClientAction> {
        assert_eq!(self.sent(), [], "nobody takes it");
        self.news.pop_front()
    }

    pub(crate) fn deliver(&mut self, cells: Vec<Message>) {
        cells.into_iter().for_each(|cell| self.circuit.receive(cell, Instant::now()));
    }

    /// How it has ended.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        self.sent();
        match self.news.pop_back() {
            Some(ClientAction::Closed(failure)) => Some(failure),
            _ => None,
        }
    }
}

/// A client's circuit of one hop that is moved by hand; whether the client asks for an upgrade, and the hop agrees.
pub(crate) fn client_and_relay(crypto: Crypto, asks: bool, agrees: bool) -> (Driven, Hand) {
    let handshake = NtorV3Default::default();
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let mut circuit = ClientCircuit::new(Limits::default(), false);
    let options = HopOptions { crypto, fragments: false, upgrade: asks };
    circuit.create(&handshake, handshake.public(&relay), options, Instant::now()).unwrap();
    let mut driven = Driven { circuit, news: VecDeque::new() };
    let Some(Message::Create2(create)) = driven.sent().pop() else { panic!("expected CREATE2") };
    let accepted = handshake.accept(from_ref(&relay), create.onionskin()).unwrap();
    let (reply, keys) = accepted.respond(&response(crypto, agrees).encode()).unwrap();
    driven.receive(Message::Created2(Created2::new(reply).unwrap()), Instant::now());
    assert_eq!(driven.news(), Some(ClientAction::Extended { hop: 1 }));
    (driven, Hand::new(crypto, keys, false))
}

/// A relay's circuit whose client is moved by hand; whether the client asks for an upgrade, and the relay has any.
pub(crate) fn relay_and_client(crypto: Crypto, asks: bool, has: bool) -> (RelayCircuit, Hand) {
    let handshake = NtorV3Default::default();
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let request = Request { crypto, fragments: false, upgrade: asks }.encode();
    let (client, onionskin) = handshake.start(handshake.public(&relay), &request).unwrap();
    let create = Create2::new(HandshakeType::NtorV3.number(), onionskin).unwrap();
    let (mut circuit, job) = RelayCircuit::create(create, Limits { upgrade: has, ..Limits::default() });
    circuit.answer(job.run(&OnionKeys::default().with(NtorV3Default::default(), vec![relay]).unwrap()));
    let Some(RelayAction::ToClient(Message::Created2(created))) = circuit.poll() else { panic!("no answer") };
    let established = client.finish(created.reply()).unwrap();
    assert_eq!(Response::decode(&established.message), Ok(response(crypto, asks && has)));
    (circuit, Hand::new(crypto, established.keys, true))
}

/// Gives a relay cells from its client, and does the work that it wants done. What it sends the client.
pub(crate) fn give(relay: &mut RelayCircuit, cells: Vec<Message>) -> Vec<Message> {
    cells.into_iter().for_each(|cell| relay.receive_from_client(cell, Instant::now()));
    let (mut sent, job) = drain(relay);
    if let Some(job) = job {
        relay.upgrade(job.run(&MlKem768::new()));
        sent.extend(drain(relay).0);
    }
    sent
}

/// The same, with an upgrade's job for the test to do.
pub(crate) fn give_until_job(relay: &mut RelayCircuit, cells: Vec<Message>) -> Option<UpgradeJob> {
    cells.into_iter().for_each(|cell| relay.receive_from_client(cell, Instant::now()));
    drain(relay).1
}

/// What a relay sends its client, and an upgrade's job.
pub(crate) fn drain(relay: &mut RelayCircuit) -> (Vec<Message>, Option<UpgradeJob>) {
    let (mut sent, mut job) = (Vec::new(), None);
    while let Some(action) = relay.poll() {
        match action {
            RelayAction::ToClient(message) => sent.push(message),
            RelayAction::Upgrade(work) => assert!(job.replace(work).is_none(), "two at once"),
            _ => {}
        }
    }
    (sent, job)
}
