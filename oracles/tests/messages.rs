//! What Arti writes, read by us: bodies of relay messages; and what we sign, judged by Arti: the certificates of a link.

use candor_onion::cell::{Decoder, Message};
use candor_onion::link::{Addresses, Binding, Initiator, LinkHandshake, RelayIdentity, Responder};
use candor_onion::relay::message::{Begin, Connected, EndReason, Extend2};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, UNIX_EPOCH};
use tor_cell::relaycell::msg::{self, Body};
use tor_cert::{CertType, Ed25519Cert};
use tor_checkable::{SelfSigned, TimeBound};
use tor_linkspec::{EncodedLinkSpec, LinkSpec};

fn written(message: impl Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode_onto(&mut bytes).unwrap();
    bytes
}

#[test]
fn we_read_a_streams_messages_as_arti_means_them() {
    // Arti puts the brackets around an IPv6 address itself.
    for (given, host, port) in
        [("127.0.0.1", "127.0.0.1", 80), ("2001:db8::1", "[2001:db8::1]", 65535), ("example.org", "example.org", 443)]
    {
        for flags in [0, 1, 7] {
            let begin = msg::Begin::new(given, port, flags).unwrap();
            assert_eq!(Begin::decode(&written(begin)).unwrap(), Begin::new(host, port).unwrap());
        }
    }
    assert_eq!(Connected::decode(&written(msg::Connected::new_empty())).unwrap(), Connected { address: None });
    for address in ["192.0.2.7", "2001:db8::7"].map(|text| text.parse::<IpAddr>().unwrap()) {
        let connected = msg::Connected::new_with_addr(address, 3600);
        assert_eq!(Connected::decode(&written(connected)).unwrap(), Connected { address: Some(address) });
    }
    for reason in 1..=14 {
        let end = written(msg::End::new_with_reason(reason.into()));
        assert_eq!(EndReason(end[0]), EndReason(reason));
        // The names are Tor's.
        let name = format!("{:?}", tor_cell::relaycell::msg::EndReason::from(reason));
        assert!(!name.contains("unrec"), "{name}");
    }
}

#[test]
fn we_read_an_extension_as_arti_means_it() {
    let addresses: [SocketAddr; 2] = ["192.0.2.7:9001", "[2001:db8::7]:443"].map(|text| text.parse().unwrap());
    let (ed25519, rsa) = ([7; 32], [8; 20]);
    let mut specifiers: Vec<EncodedLinkSpec> = Vec::new();
    for address in addresses {
        specifiers.push(LinkSpec::OrPort(address.ip(), address.port()).encode().unwrap());
    }
    specifiers.push(LinkSpec::RsaId(rsa.into()).encode().unwrap());
    specifiers.push(LinkSpec::Ed25519Id(ed25519.into()).encode().unwrap());
    specifiers.push(EncodedLinkSpec::new(99.into(), vec![1, 2, 3]));
    for (kind, length) in [(2u16, 84), (3, 200), (0xFF68, 300)] {
        let theirs = msg::Extend2::new(specifiers.clone(), kind.into(), vec![9; length]);
        let ours = Extend2::decode(&written(theirs)).unwrap();
        assert_eq!(ours.next.addresses, addresses);
        assert_eq!((ours.next.ed25519, ours.next.rsa), (Some(ed25519), Some(rsa)));
        assert_eq!((ours.create.kind(), ours.create.onionskin()), (kind, &vec![9; length][..]));
    }
}

const NOW: u64 = 1_790_000_000;
const BINDING: Binding = Binding { exporter: [1; 32], certificate: [2; 32] };

/// The certificates that both ends of a link show, as types and bytes: first the responder's.
fn shown(a: &RelayIdentity, b: &RelayIdentity) -> Vec<Vec<(u8, Vec<u8>)>> {
    let initiator = Initiator {
        relay: Some(a),
        expect: Some(*b.id()),
        binding: BINDING,
        now: NOW,
        nonce: [3; 24],
        addresses: Addresses::default(),
    };
    let responder =
        Responder { relay: b, binding: BINDING, now: NOW, challenge: [4; 32], addresses: Addresses::default() };
    let mut sides = [LinkHandshake::initiator(initiator), LinkHandshake::responder(responder)];
    let mut decoders = [Decoder::new(), Decoder::new()];
    let mut certs = Vec::new();
    for turn in 0..6 {
        let from = turn % 2;
        let bytes = sides[from].take_output();
        sides[1 - from].receive(&bytes).unwrap();
        decoders[from].receive(&bytes);
        while let Some(cell) = decoders[from].next().unwrap() {
            if let Message::Certs(shown) = cell.message {
                certs.push(shown.entries().iter().map(|entry| (entry.kind, entry.bytes.clone())).collect());
            }
        }
    }
    assert!(sides.iter().all(LinkHandshake::is_done));
    certs
}

#[test]
fn arti_believes_our_link_certificates() {
    let relay = |seed: u8| RelayIdentity::from_seeds(&[seed; 32], &[seed + 1; 32], &[seed + 2; 32], NOW);
    let (a, b) = (relay(10), relay(20));
    let all = shown(&a, &b);
    assert_eq!(all.len(), 2);
    let now = UNIX_EPOCH + Duration::from_secs(NOW);
    for (certificates, (relay, last)) in
        all.iter().zip([(&b, CertType::SIGNING_V_TLS_CERT), (&a, CertType::SIGNING_V_LINK_AUTH)])
    {
        let of = |kind: CertType| {
            let found = certificates.iter().find(|(known, _)| *known == u8::from(kind));
            &found.unwrap_or_else(|| panic!("there is no certificate of type {kind}")).1
        };
        // The identity, which stands in the certificate, signs a key; that key signs for the link.
        let first = Ed25519Cert::decode(of(CertType::IDENTITY_V_SIGNING)).unwrap().should_have_signing_key().unwrap();
        let first = first.check_signature().unwrap().if_valid_at(&now).unwrap();
        assert_eq!(first.signing_key().unwrap().as_bytes(), relay.id());
        let signing = *first.subject_key().as_ed25519().expect("an Ed25519 key");
        let second = Ed25519Cert::decode(of(last)).unwrap().should_be_signed_with(&signing).unwrap();
        let second = second.check_signature().unwrap().if_valid_at(&now).unwrap();
        assert_eq!(second.cert_type(), last);
        if last == CertType::SIGNING_V_TLS_CERT {
            assert_eq!(second.subject_key().as_bytes(), BINDING.certificate);
        }
        let late = now + Duration::from_secs(400 * 24 * 3600);
        let again = Ed25519Cert::decode(of(last)).unwrap().should_be_signed_with(&signing).unwrap();
        assert!(again.check_signature().unwrap().if_valid_at(&late).is_err(), "it runs out");
    }
}
