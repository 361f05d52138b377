//! The codecs against `vectors/cells.json`, which Arti's encoders made (`oracles/examples/cells.rs`).
//!
//! Each vector has fields and bytes. The test encodes the fields and compares the bytes; it decodes the bytes, compares
//! the fields, and encodes them again. A mistake that encoder and decoder share shows here.

use candor_onion::PeerMisbehaved;
use candor_onion::cell::payload::*;
use candor_onion::cell::{Cell, Command, Decoder, Message, PAYLOAD};
use candor_onion::circuit::{Agreed, Request, Response};
use candor_onion::layer::{Crypto, Tag};
use candor_onion::link::certificate::{self, Certificate};
use candor_onion::link::{Addresses, Binding, Initiator, LinkHandshake, RelayIdentity, Responder};
use candor_onion::relay::message::{Begin, Connected, EndReason, Extend2, NextRelay, Sendme};
use candor_onion::relay::{Format, Header, RelayCommand};
use candor_test_support::vectors::{self, array, bytes, list};
use serde_json::Value;
use std::collections::BTreeSet;

const FILE: &str = "cells.json";

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {of}"))
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_else(|| panic!("no text {name} in {of}"))
}

/// The bytes of field `name`, with the trailing zeros that the file leaves out.
fn filled(of: &Value, name: &str, length: usize) -> Vec<u8> {
    let mut bytes = bytes(of, name);
    assert!(bytes.len() <= length);
    bytes.resize(length, 0);
    bytes
}

fn numbers(of: &Value, name: &str) -> Vec<u16> {
    list(of, name).iter().map(|number| number.as_u64().unwrap() as u16).collect()
}

fn message(command: &str, fields: &Value) -> Message {
    let address = |value: &Value| Address::Ip(value.as_str().unwrap().parse().unwrap());
    let payload = || Box::new(array(fields, "payload"));
    let create = || Create2::new(number(fields, "kind") as u16, bytes(fields, "onionskin")).unwrap();
    let created = || Created2::new(bytes(fields, "reply")).unwrap();
    match command {
        "PADDING" => Message::Padding,
        "VPADDING" => Message::Vpadding(number(fields, "length") as usize),
        "PADDING_NEGOTIATE" => Message::PaddingNegotiate,
        "VERSIONS" => Message::Versions(Versions(numbers(fields, "versions"))),
        "CERTS" => {
            let entry = |entry: &Value| CertEntry {
                kind: entry[0].as_u64().unwrap() as u8,
                bytes: bytes(&serde_json::json!({ "of": entry[1] }), "of"),
            };
            Message::Certs(Certs::new(list(fields, "entries").iter().map(entry).collect()).unwrap())
        }
        "AUTH_CHALLENGE" => {
            let (challenge, methods) = (array(fields, "challenge"), numbers(fields, "methods"));
            Message::AuthChallenge(AuthChallenge { challenge, methods })
        }
        "AUTHENTICATE" => {
            let kind = number(fields, "kind") as u16;
            Message::Authenticate(Authenticate::new(kind, bytes(fields, "body")).unwrap())
        }
        "NETINFO" => Message::Netinfo(Netinfo {
            time: number(fields, "time") as u32,
            theirs: address(&fields["theirs"]),
            ours: fields["ours"].as_array().unwrap().iter().map(address).collect(),
        }),
        "CREATE2" => Message::Create2(create()),
        "CREATED2" => Message::Created2(created()),
        "CREATE2V" => Message::Create2v(create()),
        "CREATED2V" => Message::Created2v(created()),
        "RELAY" => Message::Relay(payload()),
        "RELAY_EARLY" => Message::RelayEarly(payload()),
        "DESTROY" => Message::Destroy(DestroyReason(number(fields, "reason") as u8)),
        other => panic!("no test for {other} yet"),
    }
}

#[test]
fn cells_are_those_of_arti() {
    let file = vectors::load(FILE);
    let mut seen = BTreeSet::new();
    let versions = list(&file, "cells").iter().find(|vector| text(vector, "command") == "VERSIONS").unwrap();
    let versions = filled(versions, "bytes", number(versions, "length") as usize);
    for vector in list(&file, "cells") {
        let (command, circuit) = (text(vector, "command"), number(vector, "circuit") as u32);
        seen.insert(command);
        let expected = filled(vector, "bytes", number(vector, "length") as usize);
        let cell = Cell { circuit, message: message(command, &vector["fields"]) };
        assert_eq!(cell.message.command().name(), Some(command));
        let we_send_it = vector["fields"].get("decode_only").is_none();
        let mut encoded = Vec::new();
        cell.encode(&mut encoded);
        assert!(encoded == expected || !we_send_it, "{command}");

        let mut decoder = Decoder::new();
        // A link begins with VERSIONS.
        if command != "VERSIONS" {
            decoder.receive(&versions);
            decoder.next().unwrap().expect("a whole cell");
        }
        decoder.receive(&expected);
        let decoded = decoder.next().unwrap().expect("a whole cell");
        assert_eq!((&decoded, decoder.pending()), (&cell, 0), "{command}");
        encoded.clear();
        decoded.encode(&mut encoded);
        assert!(encoded == expected || !we_send_it, "{command}, encoded again");
    }
    let known: BTreeSet<&str> = (0..=255).filter_map(|byte| Command(byte).name()).collect();
    assert_eq!(seen, known, "every command has a vector");
}

#[test]
fn reasons_have_artis_numbers() {
    let file = vectors::load(FILE);
    let pairs = |name: &str| -> Vec<(String, u8)> {
        let pair = |pair: &Value| (pair[0].as_str().unwrap().to_owned(), pair[1].as_u64().unwrap() as u8);
        list(&file, name).iter().map(pair).collect()
    };
    for (name, number) in pairs("destroy_reasons") {
        assert_eq!(DestroyReason(number).name(), Some(name.as_str()));
    }
    for (name, number) in pairs("end_reasons") {
        assert_eq!(EndReason(number).name(), Some(name.as_str()));
    }
    let named = |named: &dyn Fn(u8) -> bool| (0..=255).filter(|byte| named(*byte)).count();
    assert_eq!(named(&|byte| DestroyReason(byte).name().is_some()), pairs("destroy_reasons").len());
    assert_eq!(named(&|byte| EndReason(byte).name().is_some()), pairs("end_reasons").len());
}

/// The body of a relay message: encoded from the fields, and decoded and encoded again.
fn bodies(command: &str, fields: &Value, decode: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let from_fields = |made: Vec<u8>| (made.clone(), made);
    if fields.get("data").is_some() {
        return from_fields(bytes(fields, "data"));
    }
    match command {
        "BEGIN" => {
            let begin = Begin::new(text(fields, "host"), number(fields, "port") as u16).unwrap();
            let decoded = Begin::decode(decode).unwrap();
            assert_eq!(decoded, begin);
            (begin.encode(), decoded.encode())
        }
        "CONNECTED" => {
            let connected = Connected { address: fields["address"].as_str().map(|text| text.parse().unwrap()) };
            let decoded = Connected::decode(decode).unwrap();
            assert_eq!(decoded, connected);
            (connected.encode(), decoded.encode())
        }
        "SENDME" => {
            let sendme = Sendme { tag: Tag::from_bytes(&bytes(fields, "tag")).unwrap() };
            let decoded = Sendme::decode(decode).unwrap();
            assert_eq!(decoded, sendme);
            (sendme.encode(), decoded.encode())
        }
        "END" => from_fields(vec![EndReason(number(fields, "reason") as u8).0]),
        "TRUNCATED" => from_fields(vec![DestroyReason(number(fields, "reason") as u8).0]),
        "EXTEND2" => {
            let addresses = fields["addresses"].as_array().unwrap();
            let next = NextRelay {
                addresses: addresses.iter().map(|text| text.as_str().unwrap().parse().unwrap()).collect(),
                rsa: fields["rsa"].as_str().map(|_| array(fields, "rsa")),
                ed25519: fields["ed25519"].as_str().map(|_| array(fields, "ed25519")),
            };
            let create = Create2::new(number(fields, "kind") as u16, bytes(fields, "onionskin")).unwrap();
            let extend = Extend2 { next, create };
            let decoded = Extend2::decode(decode).unwrap();
            assert_eq!(decoded, extend);
            (extend.encode(), decoded.encode())
        }
        "EXTENDED2" => {
            let encode = |created: &Created2| {
                let mut out = Vec::new();
                created.encode(&mut out);
                out
            };
            let created = Created2::new(bytes(fields, "reply")).unwrap();
            let decoded = Created2::decode(decode).unwrap();
            assert_eq!(decoded, created);
            (encode(&created), encode(&decoded))
        }
        other => panic!("no test for {other} yet"),
    }
}

#[test]
fn relay_messages_are_those_of_arti_in_both_formats() {
    let file = vectors::load(FILE);
    let mut seen = BTreeSet::new();
    for vector in list(&file, "relay") {
        let format = match text(vector, "format") {
            "V0" => Format::V0,
            "V1" => Format::V1,
            other => panic!("format {other}"),
        };
        let (name, stream) = (text(vector, "command"), number(vector, "stream") as u16);
        seen.insert((name, format == Format::V1));
        let expected: [u8; PAYLOAD] = filled(vector, "payload", PAYLOAD).try_into().unwrap();
        let (header, body) = format.decode(&expected).unwrap();
        assert_eq!((header.command.name(), header.stream), (Some(name), stream), "{format:?}");
        assert_eq!(usize::from(header.length), body.len());

        let command = (0..=255).map(RelayCommand).find(|command| command.name() == Some(name)).unwrap();
        let (made, again) = bodies(name, &vector["fields"], body);
        for body in [made, again] {
            let mut payload = [0xFF; PAYLOAD];
            let taken = format.encode(&mut payload, Header { command, stream, length: body.len() as u16 }, &body);
            assert_eq!(taken, body.len());
            assert_eq!(payload, expected, "{name} {format:?}");
        }
    }
    // Arti knows nothing of ours from 240 on.
    let names = (0..240).filter_map(|byte| RelayCommand(byte).name());
    let known: BTreeSet<(&str, bool)> = names.flat_map(|name| [(name, false), (name, true)]).collect();
    assert_eq!(seen, known, "every command has a vector in each format");
}

#[test]
fn extension_messages_are_those_of_arti() {
    let file = vectors::load(FILE);
    for vector in list(&file["extensions"], "requests") {
        let [cgo, fragments] = ["cgo", "fragments"].map(|name| vector[name].as_bool().unwrap());
        let crypto = if cgo { Crypto::Cgo } else { Crypto::Tor1 };
        let request = Request { crypto, fragments, upgrade: false };
        assert_eq!(request.encode(), bytes(vector, "bytes"));
        assert_eq!(Request::decode(&bytes(vector, "bytes")), Ok((request, cgo)));
    }
    for vector in list(&file["extensions"], "responses") {
        let increment = vector["sendme_increment"].as_u64().map(|increment| increment as u8);
        let response = Response { sendme_increment: increment, upgrade: false };
        assert_eq!(response.encode(), bytes(vector, "bytes"));
        assert_eq!(Response::decode(&bytes(vector, "bytes")), Ok(response));
    }
}

/// Private ones, by `docs/upgrade.md`; beside Tor's, and by themselves.
#[test]
fn extension_messages_of_upgrades_are_those_of_the_specification() {
    for (crypto, tors) in [(Crypto::Tor1, &[][..]), (Crypto::Cgo, &[1, 0, 3, 2, 2, 6])] {
        let request = Request { crypto, fragments: false, upgrade: true };
        let cgo = crypto == Crypto::Cgo;
        let count = if cgo { 3 } else { 1 };
        assert_eq!(request.encode(), [&[count], tors, &[240, 1, 0x68]].concat());
        assert_eq!(Request::decode(&request.encode()), Ok((request, cgo)));
        // One suite among others, or none that we know.
        for (suites, upgrade) in [(&[0x65, 0x68, 0x6a][..], true), (&[0x65], false), (&[], false)] {
            let message = [&[count], tors, &[240, suites.len() as u8], suites].concat();
            assert_eq!(Request::decode(&message), Ok((Request { upgrade, ..request }, cgo)), "{suites:?}");
        }
    }
    let response = Response { sendme_increment: Some(31), upgrade: true };
    assert_eq!(response.encode(), [2, 2, 1, 31, 241, 1, 0x68]);
    assert_eq!(Response::decode(&response.encode()), Ok(response));
    let alone = Response { sendme_increment: None, ..response };
    assert_eq!(alone.encode(), [1, 241, 1, 0x68]);
    for (message, why) in [
        (&[1, 241, 1, 0x65][..], PeerMisbehaved::UpgradeUnasked { got: 0x65 }),
        (&[1, 241, 0], PeerMisbehaved::UpgradeLength { got: 0 }),
        (&[1, 241, 2, 0x68, 0x68], PeerMisbehaved::UpgradeLength { got: 2 }),
    ] {
        assert_eq!(Response::decode(message), Err(why.into()));
    }
    // Agreed to by both, by the relay alone, by the client alone.
    let request = Request { crypto: Crypto::Tor1, fragments: false, upgrade: true };
    assert_eq!(Agreed::new(request, alone).map(|agreed| agreed.upgrade), Ok(true));
    let unasked = PeerMisbehaved::UpgradeUnasked { got: 0x68 };
    assert_eq!(Agreed::new(Request { upgrade: false, ..request }, alone), Err(unasked.into()));
    assert_eq!(Agreed::new(request, Response::default()).map(|agreed| agreed.upgrade), Ok(false));
}

/// The certificates in one side's part of a link handshake.
fn certs(sent: &[u8]) -> Certs {
    let mut decoder = Decoder::new();
    decoder.receive(sent);
    std::iter::from_fn(|| decoder.next().unwrap())
        .find_map(|cell| if let Message::Certs(certs) = cell.message { Some(certs) } else { None })
        .expect("CERTS")
}

#[test]
fn link_certificates_are_those_of_arti() {
    let file = &vectors::load(FILE)["certificates"];
    let seeds: Vec<[u8; 32]> =
        list(file, "seeds").iter().map(|seed| array(&serde_json::json!({ "seed": seed }), "seed")).collect();
    let identity = |now| RelayIdentity::from_seeds(&seeds[0], &seeds[1], &seeds[2], now);
    let expires = number(file, "expires");
    // The time at which issued certificates get this expiry.
    let now = expires - (identity(0).expires());
    let relay = identity(now);
    assert_eq!(relay.expires(), expires);

    let binding = Binding { exporter: [9; 32], certificate: array(file, "tls_certificate") };
    let addresses = Addresses::default();
    let initiator = Initiator { relay: Some(&relay), expect: None, binding, now, nonce: [0; 24], addresses };
    let mut initiator = LinkHandshake::initiator(initiator);
    let responder = Responder { relay: &relay, binding, now, challenge: [0; 32], addresses: Addresses::default() };
    let mut responder = LinkHandshake::responder(responder);
    let hello = initiator.take_output();
    responder.receive(&hello).unwrap();
    let answer = responder.take_output();
    initiator.receive(&answer).unwrap();

    for (side, sent) in [("responder", answer), ("initiator", [hello, initiator.take_output()].concat())] {
        let sent = certs(&sent);
        let ours: Vec<(u64, String)> =
            sent.entries().iter().map(|entry| (entry.kind.into(), vectors::hex(&entry.bytes))).collect();
        let theirs: Vec<(u64, String)> = list(file, side)
            .iter()
            .map(|pair| (pair[0].as_u64().unwrap(), pair[1].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(ours, theirs, "{side}");
        let first = Certificate::check(sent.only(4).unwrap(), certificate::IDENTITY_SIGNING, None, now).unwrap();
        assert_eq!((first.signer, first.expires), (*relay.id(), expires));
    }
}
