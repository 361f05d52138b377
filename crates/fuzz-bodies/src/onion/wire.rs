//! Bodies for what parses bytes off a link and out of relay cells.

use candor_onion::cell::payload::{Certs, Create2};
use candor_onion::cell::{Cell, Decoder, MOST_CELL, MOST_VARIABLE, Message, PAYLOAD};
use candor_onion::circuit::{Request, Response};
use candor_onion::handshake::Upgrade;
use candor_onion::layer::Crypto;
use candor_onion::link::certificate::{self, Certificate, RsaCross};
use candor_onion::link::{Addresses, Binding, Initiator, LinkHandshake, RelayIdentity, Responder};
use candor_onion::relay::message::{Begin, Connected, Extend2, NextRelay, Resolve, Resolved, Sendme};
use candor_onion::relay::{Format, Fragments, RelayCommand, cells_for, encode_fragment};
use candor_primitives::kem::ml_kem::MlKem768;
use std::time::Instant;

/// A link's bytes, in one piece and in pieces of the sizes that the first bytes say, give the same cells; each cell, written
/// again, reads as the same. Data: whether VERSIONS has passed, a size of pieces, the stream.
pub fn cells(data: &[u8]) {
    let [versions, size, stream @ ..] = data else { return };
    let start = || if versions % 2 == 0 { Decoder::new() } else { after_versions() };
    let drain = |decoder: &mut Decoder, out: &mut Vec<Cell>| loop {
        match decoder.next() {
            Ok(Some(cell)) => out.push(cell),
            Ok(None) => return true,
            Err(_) => return false,
        }
    };
    let (mut whole, mut cells) = (start(), Vec::new());
    whole.receive(stream);
    let intact = drain(&mut whole, &mut cells);
    assert!(!intact || whole.pending() <= stream.len());

    let (mut pieces, mut again, mut goes_on) = (start(), Vec::new(), true);
    for piece in stream.chunks(usize::from(*size).max(1)) {
        pieces.receive(piece);
        goes_on = drain(&mut pieces, &mut again);
        if !goes_on {
            break;
        }
        assert!(pieces.pending() < MOST_VARIABLE + 7, "no more than a cell is kept");
    }
    assert!((intact, &cells) == (goes_on, &again), "pieces make no difference");

    let (mut lasting, mut third, mut goes_on) = (start(), Vec::new(), true);
    for mut piece in stream.chunks(usize::from(*size).max(1)) {
        goes_on = loop {
            match lasting.next_of(&mut piece) {
                Ok(Some(cell)) => third.push(cell),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        if !goes_on {
            break;
        }
        assert!(piece.is_empty() && lasting.held() <= MOST_CELL, "no more than a cell is kept");
    }
    assert!((intact, cells.as_slice()) == (goes_on, third.as_slice()), "nor does the way they are taken");

    for cell in cells.iter().filter(|cell| !matches!(cell.message, Message::Unknown(_))) {
        let mut bytes = Vec::new();
        cell.encode(&mut bytes);
        let is_versions = matches!(cell.message, Message::Versions(_));
        let mut decoder = if is_versions { Decoder::new() } else { after_versions() };
        decoder.receive(&bytes);
        let read = decoder.next().expect("our own cell").expect("a whole one");
        assert!(read.message == cell.message && decoder.pending() == 0);
    }
}

/// A decoder that has read VERSIONS, with which every link begins.
fn after_versions() -> Decoder {
    let mut decoder = Decoder::new();
    // Circuit 0, VERSIONS, two bytes: version 5.
    decoder.receive(&[0, 0, 7, 0, 2, 0, 5]);
    assert!(matches!(decoder.next(), Ok(Some(_))));
    decoder
}

/// Cells of plain relay payloads reach the fragments; every whole message reaches the parser of its body, and what parses is
/// written and read again as the same. Data: the format and whether fragments are agreed, of extensions (2) and of upgrades (4), then payloads.
pub fn relay_messages(data: &[u8]) {
    let [choice, stream @ ..] = data else { return };
    let format = if choice & 1 == 0 { Format::V0 } else { Format::V1 };
    let (mut fragments, now) = (Fragments::new(format, choice & 2 != 0).with_upgrades(choice & 4 != 0), Instant::now());
    for (number, chunk) in stream.chunks(PAYLOAD).enumerate() {
        let mut payload = [0; PAYLOAD];
        payload[..chunk.len()].copy_from_slice(chunk);
        let Ok(whole) = fragments.receive(&payload, number == 0, now) else { return };
        let Some(whole) = whole else { continue };
        assert!(whole.cells == 1 || whole.body.len() <= candor_onion::relay::MOST_BODY);
        match whole.command {
            RelayCommand::BEGIN => {
                if let Ok(begin) = Begin::decode(&whole.body) {
                    assert!(Begin::decode(&begin.encode()) == Ok(begin));
                }
            }
            RelayCommand::CONNECTED => {
                if let Ok(connected) = Connected::decode(&whole.body) {
                    assert!(Connected::decode(&connected.encode()) == Ok(connected));
                }
            }
            RelayCommand::RESOLVE => {
                if let Ok(question) = Resolve::decode(&whole.body) {
                    assert!(Resolve::decode(&question.encode()) == Ok(question));
                }
            }
            RelayCommand::RESOLVED => {
                if let Ok(mut answer) = Resolved::decode(&whole.body) {
                    if let Resolved::Addresses(addresses) = &mut answer {
                        addresses.truncate(Resolved::MOST); // as many as we write
                    }
                    assert!(Resolved::decode(&answer.encode()) == Ok(answer));
                }
            }
            RelayCommand::EXTEND2 => {
                if let Ok(extend) = Extend2::decode(&whole.body) {
                    let mut again = extend.clone();
                    again.next.addresses.truncate(4); // as many as we write
                    assert!(Extend2::decode(&extend.encode()) == Ok(again));
                }
            }
            RelayCommand::SENDME => drop(Sendme::decode(&whole.body)),
            _ => {}
        }
    }
}

/// Certificates from anywhere. Data: the type, then the certificate.
pub fn certificates(data: &[u8]) {
    let [kind, bytes @ ..] = data else { return };
    let stranger = [9; 32];
    if let Ok(good) = Certificate::check(bytes, *kind, None, NOW) {
        assert!(good.expires > NOW);
        let expired = Certificate::check(bytes, *kind, None, good.expires);
        assert!(expired.is_err() && Certificate::check(bytes, *kind, Some(&stranger), NOW).is_err());
    }
    let _ = RsaCross::decode(bytes);
}

/// A handshake's extension messages: what reads as a request that we would make is written and read again as the same.
pub fn extensions(data: &[u8]) {
    if let Ok((request, congestion_control)) = Request::decode(data) {
        assert!(congestion_control || request.crypto == Crypto::Tor1);
        let (again, _) = Request::decode(&request.encode()).expect("our own");
        assert!(again == request);
    }
    if let Ok(response) = Response::decode(data) {
        assert!(Response::decode(&response.encode()) == Ok(response));
    }
}

/// Bytes from anywhere reach both sides of a link handshake. An initiator never ends up with a relay that has proved nothing. Data:
/// the side, then what the other side sends.
pub fn link(data: &[u8]) {
    let [side, bytes @ ..] = data else { return };
    let relay = identity();
    let mut link = match side % 2 {
        0 => LinkHandshake::initiator(initiator()),
        _ => LinkHandshake::responder(Responder {
            relay: &relay,
            binding: BINDING,
            now: NOW,
            challenge: [4; 32],
            addresses: Addresses::default(),
        }),
    };
    if link.receive(bytes).is_ok() && link.is_done() {
        let (link, _) = link.finish().expect("it is done");
        assert!(side % 2 == 1 || link.peer == Some(*relay.id()));
    }
}

/// Honest bytes for each body, to start a corpus with: the target's name, the file's, the data.
pub fn honest_wire() -> Vec<(&'static str, String, Vec<u8>)> {
    let relay = identity();
    let mut files = Vec::new();
    let mut client = LinkHandshake::initiator(initiator());
    let addresses = Addresses::default();
    let responder = Responder { relay: &relay, binding: BINDING, now: NOW, challenge: [4; 32], addresses };
    let mut server = LinkHandshake::responder(responder);
    let hello = client.take_output();
    server.receive(&hello).expect("an honest client");
    let answer = server.take_output();
    client.receive(&answer).expect("an honest relay");
    let end = client.take_output();
    files.push(("onion_link", "from-a-relay".to_owned(), [&[0], &answer[..]].concat()));
    files.push(("onion_link", "from-a-client".to_owned(), [&[1], &hello[..], &end].concat()));
    files.push(("onion_cells", "handshake".to_owned(), [&[0, 100], &answer[..]].concat()));

    let mut traffic = vec![1, 7];
    let create = Create2::new(0xFF68, vec![3; 1300]).expect("short enough");
    for message in [Message::Create2v(create), Message::Relay(Box::new([5; PAYLOAD])), Message::Vpadding(9)] {
        Cell { circuit: 0x8000_0001, message }.encode(&mut traffic);
    }
    files.push(("onion_cells", "traffic".to_owned(), traffic));

    let mut client = LinkHandshake::initiator(Initiator { relay: Some(&relay), ..initiator() });
    let hello = client.take_output();
    client.receive(&answer).expect("an honest relay");
    for (name, sent) in [("responder", answer), ("initiator", [hello, client.take_output()].concat())] {
        let kind = certificate::IDENTITY_SIGNING;
        let certs = sent_certs(&sent);
        let certificate = certs.only(kind).expect("every relay proves its identity");
        files.push(("onion_certificates", name.to_owned(), [&[kind], certificate].concat()));
    }
    for (name, crypto, fragments) in
        [("cgo", Crypto::Cgo, true), ("tor1", Crypto::Tor1, true), ("none", Crypto::Tor1, false)]
    {
        files.push(("onion_extensions", name.to_owned(), Request { crypto, fragments, upgrade: false }.encode()));
    }
    let upgrade = Request { crypto: Crypto::Cgo, fragments: false, upgrade: true };
    files.push(("onion_extensions", "upgrade".to_owned(), upgrade.encode()));
    let agreed = Response { sendme_increment: Some(31), upgrade: true };
    files.push(("onion_extensions", "response-upgrade".to_owned(), agreed.encode()));
    files.push((
        "onion_extensions",
        "response".to_owned(),
        Response { sendme_increment: Some(31), upgrade: false }.encode(),
    ));

    let next = NextRelay { addresses: vec![([127, 0, 0, 1], 9001).into()], ed25519: Some([1; 32]), rsa: Some([2; 20]) };
    let create = Create2::new(0xFF68, vec![7; 1280]).expect("short enough");
    let body = Extend2 { next, create }.encode();
    let upgrade = Upgrade::new(MlKem768::new()).expect("it has a number").start().expect("the back end works").1;
    for (choice, format) in [(2, Format::V0), (3, Format::V1)] {
        let (mut data, mut wrapped, mut done) = (vec![choice | 4], vec![choice], 0);
        for _ in 0..cells_for(format, upgrade.len()) {
            let mut payload = [0; PAYLOAD];
            done = encode_fragment(format, &mut payload, RelayCommand::UPGRADE, &upgrade, done);
            data.extend_from_slice(&payload);
            wrapped.extend([&[0][..], &payload].concat());
        }
        files.push(("onion_relay_messages", format!("upgrade-{format:?}"), data));
        files.push(("onion_relay_circuit", format!("upgrade-{format:?}"), wrapped));
        let (mut data, mut done) = (vec![choice], 0);
        for _ in 0..cells_for(format, body.len()) {
            let mut payload = [0; PAYLOAD];
            done = encode_fragment(format, &mut payload, RelayCommand::EXTEND2, &body, done);
            data.extend_from_slice(&payload);
        }
        files.push(("onion_relay_messages", format!("extend2-{format:?}"), data));
        for (name, command, body) in [
            ("begin", RelayCommand::BEGIN, Begin::new("example.com", 80).expect("a good target").encode()),
            ("connected", RelayCommand::CONNECTED, Connected { address: Some([1, 2, 3, 4].into()) }.encode()),
        ] {
            let mut payload = [0; PAYLOAD];
            let header = candor_onion::relay::Header { command, stream: 1, length: body.len() as u16 };
            format.encode(&mut payload, header, &body);
            files.push(("onion_relay_messages", format!("{name}-{format:?}"), [&[choice], &payload[..]].concat()));
            files.push(("onion_relay_circuit", format!("{name}-{format:?}"), [&[choice, 0], &payload[..]].concat()));
            files.push(("onion_client_circuit", format!("{name}-{format:?}"), [&[choice, 0], &payload[..]].concat()));
        }
    }
    files
}

/// The CERTS cell in one side's part of a link handshake.
fn sent_certs(bytes: &[u8]) -> Certs {
    let mut decoder = Decoder::new();
    decoder.receive(bytes);
    loop {
        if let Message::Certs(certs) = decoder.next().expect("our own cells").expect("a relay sends CERTS").message {
            return certs;
        }
    }
}

const NOW: u64 = 1_790_000_000;
const BINDING: Binding = Binding { exporter: [1; 32], certificate: [2; 32] };

fn identity() -> RelayIdentity {
    RelayIdentity::from_seeds(&[1; 32], &[2; 32], &[3; 32], NOW)
}

fn initiator() -> Initiator<'static> {
    Initiator { relay: None, expect: None, binding: BINDING, now: NOW, nonce: [0; 24], addresses: Addresses::default() }
}
