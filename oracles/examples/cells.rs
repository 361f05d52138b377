//! Prints `vectors/cells.json`: cells, relay messages, extension messages and certificates in Arti's encoding, each beside the fields
//! that it was made from. In this directory:
//!
//! ```text
//! cargo run --example cells > ../vectors/cells.json
//! ```
//!
//! Zeros that fill a cell up are left out. Names are Arti's; a test of candor-onion looks up what it calls the same.

use bytes::BytesMut;
use rand_core::{TryCryptoRng, TryRng};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, UNIX_EPOCH};
use tor_cell::chancell::codec::ChannelCodec;
use tor_cell::chancell::msg::{self as chan, AnyChanMsg};
use tor_cell::chancell::{AnyChanCell, ChanCmd, ChanMsg, CircId};
use tor_cell::relaycell::extend::{CcRequest, CcResponse, CircRequestExt, CircResponseExt, SubprotocolRequest};
use tor_cell::relaycell::flow_ctrl::{FlowCtrlVersion, Xoff, Xon, XonKBpsEwma};
use tor_cell::relaycell::msg::{self as relay, AnyRelayMsg};
use tor_cell::relaycell::{AnyRelayMsgOuter, RelayCellFormat, RelayMsg, StreamId};
use tor_cert::{CertType, CertifiedKey, Ed25519Cert};
use tor_linkspec::{EncodedLinkSpec, LinkSpec};
use tor_llcrypto::pk::ed25519::{Ed25519Identity, Keypair};
use tor_protover::NumberedSubver;

fn main() {
    let all = json!({
        "cells": cells(),
        "destroy_reasons": destroy_reasons(),
        "relay": relay_messages(),
        "end_reasons": end_reasons(),
        "extensions": extensions(),
        "certificates": certificates(),
    });
    println!("{all:#}");
}

/// 0, 1, 2, …: every byte differs from its neighbours.
fn counting(length: usize) -> Vec<u8> {
    (0..length).map(|at| at as u8).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Without the zeros that fill a cell up.
fn trimmed(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    hex(&bytes[..end])
}

fn cell(command: &str, circuit: u32, fields: Value, message: AnyChanMsg) -> Value {
    let mut bytes = BytesMut::new();
    ChannelCodec::new(5).write_cell(AnyChanCell::new(CircId::new(circuit), message), &mut bytes).expect("a cell");
    json!({ "command": command, "circuit": circuit, "fields": fields, "length": bytes.len(), "bytes": trimmed(&bytes) })
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

const CIRCUIT: u32 = 0x8123_4567;

fn cells() -> Vec<Value> {
    let mut cells = Vec::new();
    let mut put = |circuit: u32, message: AnyChanMsg, fields: Value| {
        cells.push(cell(&message.cmd().to_string(), circuit, fields, message));
    };
    put(0, chan::Padding::new().into(), json!({}));
    put(0, chan::Vpadding::new(5).into(), json!({ "length": 5 }));
    // Candor reads these and sends none.
    put(0, chan::PaddingNegotiate::stop().into(), json!({ "decode_only": true }));

    let mut certs = chan::Certs::new_empty();
    certs.push_cert_body(4.into(), counting(140));
    certs.push_cert_body(5.into(), counting(104));
    certs.push_cert_body(7.into(), counting(165));
    let entries = json!([[4, hex(&counting(140))], [5, hex(&counting(104))], [7, hex(&counting(165))]]);
    put(0, certs.into(), json!({ "entries": entries }));
    let challenge: [u8; 32] = counting(32).try_into().expect("32 bytes");
    put(
        0,
        chan::AuthChallenge::new(challenge, [1, 3]).into(),
        json!({ "challenge": hex(&challenge), "methods": [1, 3] }),
    );
    put(0, chan::Authenticate::new(3, counting(352)).into(), json!({ "kind": 3, "body": hex(&counting(352)) }));
    let ours = [ip("192.0.2.9"), ip("2001:db8::9")];
    put(
        0,
        chan::Netinfo::from_relay(0x1122_3344, Some(ip("198.51.100.7")), ours).into(),
        json!({ "time": 0x1122_3344, "theirs": "198.51.100.7", "ours": ["192.0.2.9", "2001:db8::9"] }),
    );
    put(
        0,
        chan::Netinfo::from_client(Some(ip("2001:db8::7"))).into(),
        json!({ "time": 0, "theirs": "2001:db8::7", "ours": [] }),
    );

    let create = chan::Create2::new(3.into(), counting(200));
    let fields = json!({ "kind": 3, "onionskin": hex(&counting(200)) });
    put(CIRCUIT, create.into(), fields);
    put(CIRCUIT, chan::Created2::new(counting(64)).into(), json!({ "reply": hex(&counting(64)) }));
    let payload: [u8; 509] = counting(509).try_into().expect("509 bytes");
    put(CIRCUIT, chan::Relay::from_raw(payload).into(), json!({ "payload": hex(&payload) }));
    put(CIRCUIT, chan::Relay::from_raw(payload).into_early(), json!({ "payload": hex(&payload) }));
    for reason in DESTROY_REASONS {
        put(CIRCUIT, chan::Destroy::new(reason.into()).into(), json!({ "reason": reason }));
    }

    // Private to candor: Arti's bodies of CREATE2 and CREATED2, in cells of variable length with commands that Arti doesn't know.
    let body = |message: AnyChanMsg| {
        let mut bytes = Vec::new();
        message.encode_onto(&mut bytes).expect("a body");
        bytes
    };
    let create = body(chan::Create2::new(0xFF68.into(), counting(1280)).into());
    let created = body(chan::Created2::new(counting(1152)).into());
    let mut private = |command: u8, body: Vec<u8>, name: &str, fields: Value| {
        cells.push(cell(name, CIRCUIT, fields, chan::Unrecognized::new(ChanCmd::from(command), body).into()));
    };
    private(240, create, "CREATE2V", json!({ "kind": 0xFF68, "onionskin": hex(&counting(1280)) }));
    private(241, created, "CREATED2V", json!({ "reply": hex(&counting(1152)) }));

    let versions = chan::Versions::new([3, 4, 5]).expect("versions").encode_for_handshake().expect("a cell");
    cells.push(json!({
        "command": "VERSIONS",
        "circuit": 0,
        "fields": { "versions": [3, 4, 5] },
        "length": versions.len(),
        "bytes": hex(&versions),
    }));
    cells
}

const DESTROY_REASONS: std::ops::RangeInclusive<u8> = 0..=12;

fn destroy_reasons() -> Vec<Value> {
    DESTROY_REASONS.map(|number| json!([chan::DestroyReason::from(number).to_string(), number])).collect()
}

fn end_reasons() -> Vec<Value> {
    (1..=14).map(|number: u8| json!([relay::EndReason::from(number).to_string(), number])).collect()
}

const STREAM: u16 = 0x4567;

fn relay_messages() -> Vec<Value> {
    let mut messages = Vec::new();
    let mut put = |formats: &[RelayCellFormat], stream: u16, message: AnyRelayMsg, fields: Value| {
        for format in formats {
            let name = message.cmd().to_string();
            let stream_id = StreamId::new(stream);
            let cell = AnyRelayMsgOuter::new(stream_id, message.clone());
            let payload = cell.encode(*format, &mut Zeros).expect("a cell");
            messages.push(json!({
                "format": format!("{format:?}"),
                "command": name,
                "stream": stream,
                "fields": fields,
                "payload": trimmed(&payload[..]),
            }));
        }
    };
    let (v0, v1) = (&[RelayCellFormat::V0][..], &[RelayCellFormat::V1][..]);
    let both = &[RelayCellFormat::V0, RelayCellFormat::V1][..];

    // Arti puts the brackets around an IPv6 address itself.
    for (given, host, port) in
        [("127.0.0.1", "127.0.0.1", 80), ("2001:db8::1", "[2001:db8::1]", 65535), ("example.org", "example.org", 443)]
    {
        let begin = relay::Begin::new(given, port, 0).expect("a target");
        put(both, STREAM, begin.into(), json!({ "host": host, "port": port }));
    }
    put(both, STREAM, relay::Data::new(&counting(300)).expect("short").into(), json!({ "data": hex(&counting(300)) }));
    for reason in 1..=14 {
        put(v0, STREAM, relay::End::new_with_reason(reason.into()).into(), json!({ "reason": reason }));
    }
    put(v1, STREAM, relay::End::new_with_reason(6.into()).into(), json!({ "reason": 6 }));
    put(both, STREAM, relay::Connected::new_empty().into(), json!({ "address": null }));
    for address in ["192.0.2.7", "2001:db8::7"] {
        let connected = relay::Connected::new_with_addr(ip(address), 60);
        put(both, STREAM, connected.into(), json!({ "address": address }));
    }
    let (long, short): ([u8; 20], [u8; 16]) =
        (std::array::from_fn(|at| at as u8 + 1), std::array::from_fn(|at| at as u8 + 1));
    put(v0, 0, relay::Sendme::from(relay::SendmeTag::from(long)).into(), json!({ "tag": hex(&long) }));
    put(v1, 0, relay::Sendme::from(relay::SendmeTag::from(short)).into(), json!({ "tag": hex(&short) }));
    // A stream's SENDME; only V0 has those.
    put(v0, STREAM, relay::Sendme::new_empty().into(), json!({ "data": "" }));
    put(both, 0, AnyRelayMsg::Truncate(Default::default()), json!({ "data": "" }));
    put(both, 0, relay::Truncated::new(6.into()).into(), json!({ "reason": 6 }));
    put(both, 0, AnyRelayMsg::Drop(Default::default()), json!({ "data": "" }));
    put(both, STREAM, relay::Resolve::new("example.org").into(), json!({ "data": hex(b"example.org\0") }));
    put(both, STREAM, relay::Resolved::new_empty().into(), json!({ "data": "" }));
    put(both, STREAM, AnyRelayMsg::BeginDir(Default::default()), json!({ "data": "" }));
    put(both, STREAM, Xoff::new(FlowCtrlVersion::V0).into(), json!({ "data": "00" }));
    put(both, STREAM, Xon::new(FlowCtrlVersion::V0, XonKBpsEwma::Unlimited).into(), json!({ "data": "0000000000" }));

    let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
    let port = |text: &str| LinkSpec::OrPort(address(text).ip(), address(text).port());
    let (rsa, ed25519): ([u8; 20], [u8; 32]) =
        (std::array::from_fn(|at| at as u8), std::array::from_fn(|at| at as u8 + 64));
    let (rsa_spec, ed25519_spec) = (LinkSpec::RsaId(rsa.into()), LinkSpec::Ed25519Id(ed25519.into()));
    let extend = |specs: Vec<LinkSpec>| {
        let specs: Vec<EncodedLinkSpec> = specs.iter().map(|spec| spec.encode().expect("a specifier")).collect();
        relay::Extend2::new(specs, 2.into(), counting(84))
    };
    let fields = |addresses: &[&str], rsa: Option<&[u8]>, ed25519: Option<&[u8]>| {
        let (rsa, ed25519) = (rsa.map(hex), ed25519.map(hex));
        json!({ "addresses": addresses, "rsa": rsa, "ed25519": ed25519, "kind": 2, "onionskin": hex(&counting(84)) })
    };
    let (first, second) = ("192.0.2.7:9001", "[2001:db8::7]:443");
    put(both, 0, extend(vec![port(first)]).into(), fields(&[first], None, None));
    put(both, 0, extend(vec![port(second)]).into(), fields(&[second], None, None));
    put(both, 0, extend(vec![rsa_spec.clone()]).into(), fields(&[], Some(&rsa), None));
    put(both, 0, extend(vec![ed25519_spec.clone()]).into(), fields(&[], None, Some(&ed25519)));
    let all = vec![port(first), port(second), rsa_spec, ed25519_spec];
    put(both, 0, extend(all).into(), fields(&[first, second], Some(&rsa), Some(&ed25519)));
    put(both, 0, relay::Extended2::new(counting(64)).into(), json!({ "reply": hex(&counting(64)) }));
    messages
}

/// Extension messages of circuit handshakes. Subprotocol 2 is Relay; 6 is CGO, 240 candor's private one.
fn extensions() -> Value {
    let subprotocols = |versions: &[u8]| {
        let list = versions.iter().map(|version| NumberedSubver::new(2u8, *version));
        CircRequestExt::SubprotocolRequest(list.collect::<SubprotocolRequest>())
    };
    let congestion = || CircRequestExt::CcRequest(CcRequest::default());
    let mut requests = Vec::new();
    for (list, cgo, fragments) in [
        (vec![congestion(), subprotocols(&[6])], true, false),
        (vec![congestion(), subprotocols(&[6, 240])], true, true),
        (vec![subprotocols(&[240])], false, true),
        (vec![], false, false),
    ] {
        let mut bytes = Vec::new();
        CircRequestExt::write_many_onto(&list, &mut bytes).expect("extensions");
        requests.push(json!({ "cgo": cgo, "fragments": fragments, "bytes": hex(&bytes) }));
    }
    let mut responses = Vec::new();
    for (list, increment) in [(vec![CircResponseExt::CcResponse(CcResponse::new(31))], Some(31)), (vec![], None)] {
        let mut bytes = Vec::new();
        CircResponseExt::write_many_onto(&list, &mut bytes).expect("extensions");
        responses.push(json!({ "sendme_increment": increment, "bytes": hex(&bytes) }));
    }
    json!({ "requests": requests, "responses": responses })
}

/// A relay's certificates from the seeds of its keys. Ed25519 signatures are deterministic, so the bytes are too.
fn certificates() -> Value {
    let seeds = [[1; 32], [2; 32], [3; 32]];
    let [identity, signing, authentication] = seeds.each_ref().map(Keypair::from);
    let public = |pair: &Keypair| Ed25519Identity::from(pair.verifying_key());
    let tls = [4; 32];
    let expires = 500_000 * 3600;
    let make = |kind: CertType, key: CertifiedKey, signer: &Keypair, named: bool| {
        let mut builder = Ed25519Cert::builder();
        builder.cert_type(kind).cert_key(key).expiration(UNIX_EPOCH + Duration::from_secs(expires));
        if named {
            builder.signing_key(public(signer));
        }
        json!([u8::from(kind), hex(&builder.encode_and_sign(signer).expect("a certificate"))])
    };
    json!({
        "seeds": seeds.each_ref().map(|seed| hex(seed)),
        "tls_certificate": hex(&tls),
        "expires": expires,
        "responder": [
            make(CertType::IDENTITY_V_SIGNING, CertifiedKey::Ed25519(public(&signing)), &identity, true),
            make(CertType::SIGNING_V_TLS_CERT, CertifiedKey::X509Sha256Digest(tls), &signing, false),
        ],
        "initiator": [
            make(CertType::IDENTITY_V_SIGNING, CertifiedKey::Ed25519(public(&signing)), &identity, true),
            make(CertType::SIGNING_V_LINK_AUTH, CertifiedKey::Ed25519(public(&authentication)), &signing, false),
        ],
    })
}

/// A generator of zeros: the random bytes with which Arti fills cells become the zeros with which candor does.
struct Zeros;

impl TryRng for Zeros {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.fill(0);
        Ok(())
    }
}

impl TryCryptoRng for Zeros {}
