//! The link handshake: with and without authentication of the initiator, and everything that must be refused.

use candor_onion::cell::payload::{Authenticate, CertEntry, Certs, Netinfo, Versions};
use candor_onion::cell::{Cell, Decoder, Message};
use candor_onion::link::certificate::{IDENTITY_SIGNING, SIGNING_LINK};
use candor_onion::link::{
    Addresses, Binding, EXPORTER_CONTEXT, Initiator, Link, LinkHandshake, RelayIdentity, Responder, RsaIdentity,
};
use candor_onion::{Error, PeerMisbehaved};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const NOW: u64 = 1_790_000_000;
/// Addresses of the initiator, and of the responder, which has two.
const A: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))];
const B: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), IpAddr::V6(Ipv6Addr::LOCALHOST)];
const BINDING: Binding = Binding { exporter: keying(&EXPORTER_CONTEXT), certificate: [2; 32] };

/// The keying material of the connection for a context.
const fn keying(context: &[u8; 32]) -> [u8; 32] {
    let mut material = *context;
    material[0] ^= 1;
    material
}

/// The same relay with an RSA identity: an X.509 certificate with nothing in it but a key of these bytes.
fn with_rsa(relay: RelayIdentity, key: u8) -> RelayIdentity {
    let der = |tag: u8, content: &[u8]| [&[tag, u8::try_from(content.len()).unwrap()][..], content].concat();
    let algorithm = der(0x30, &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1]);
    let info = der(0x30, &[algorithm, der(3, &[&[0][..], &der(0x30, &[key; 9])].concat())].concat());
    let fields = [&der(2, &[1])[..], &[0x30, 0].repeat(4), &info].concat();
    let cross = [&[key; 36][..], &[1, key]].concat();
    relay.with_rsa(RsaIdentity::new(der(0x30, &der(0x30, &fields)), cross).unwrap())
}

fn relay(seed: u8) -> RelayIdentity {
    RelayIdentity::from_seeds(&[seed; 32], &[seed + 1; 32], &[seed + 2; 32], NOW)
}

fn initiator<'a>(relay: Option<&'a RelayIdentity>, expect: Option<[u8; 32]>) -> Initiator<'a> {
    let addresses = Addresses { ours: if relay.is_some() { &A } else { &[] }, theirs: Some(B[0]) };
    let context = relay.map_or(&EXPORTER_CONTEXT, RelayIdentity::exporter_context);
    let binding = Binding { exporter: keying(context), ..BINDING };
    Initiator { relay, expect, binding, now: NOW, nonce: [3; 24], addresses }
}

fn responder(relay: &RelayIdentity) -> Responder<'_> {
    let addresses = Addresses { ours: &B, theirs: Some(A[0]) };
    Responder { relay, binding: BINDING, now: NOW, challenge: [4; 32], addresses }
}

/// Runs both sides to the end. `edit` sees each cell, with `true` for those from the initiator.
fn meet(
    initiator: Initiator<'_>,
    responder: Responder<'_>,
    mut edit: impl FnMut(bool, Message) -> Vec<Message>,
) -> Result<(Link, Link), (bool, Error)> {
    let mut sides = [LinkHandshake::initiator(initiator), LinkHandshake::responder(responder)];
    let mut decoders = [Decoder::new(), Decoder::new()];
    for turn in 0..6 {
        let from = turn % 2;
        decoders[from].receive(&sides[from].take_output());
        while let Some(cell) = decoders[from].next().unwrap() {
            for message in edit(from == 0, cell.message) {
                let mut bytes = Vec::new();
                Cell::on_link(message).encode(&mut bytes);
                let to = &mut sides[1 - from];
                let taken = to.receive(&bytes).and_then(|()| match to.wanted_context().copied() {
                    Some(context) => to.give_exporter(&keying(&context)),
                    None => Ok(()),
                });
                taken.map_err(|error| (from == 1, error))?;
            }
        }
    }
    let [initiator, responder] = sides.map(|side| side.finish().map(|(link, _)| link));
    Ok((initiator.map_err(|error| (true, error))?, responder.map_err(|error| (false, error))?))
}

fn honest(_: bool, message: Message) -> Vec<Message> {
    vec![message]
}

#[test]
fn two_relays_learn_each_others_identity() {
    let (a, b) = (relay(10), relay(20));
    let (at_a, at_b) = meet(initiator(Some(&a), Some(*b.id())), responder(&b), honest).unwrap();
    assert_eq!((at_a.peer, at_b.peer), (Some(*b.id()), Some(*a.id())));
    assert_eq!((at_a.version, at_b.version), (Versions::WIDE, Versions::WIDE));
    assert_eq!((at_a.our_address, at_b.our_address), (Some(A[0]), Some(B[0])));
    assert_eq!((at_a.peer_addresses.as_slice(), at_b.peer_addresses.as_slice()), (B.as_slice(), A.as_slice()));
    assert!(at_a.is_wide());
}

#[test]
fn a_client_learns_who_the_relay_is_and_stays_anonymous() {
    let b = relay(20);
    let (at_client, at_b) = meet(initiator(None, None), responder(&b), honest).unwrap();
    assert_eq!((at_client.peer, at_b.peer), (Some(*b.id()), None));
    assert!(at_b.peer_addresses.is_empty(), "a client tells no address");
}

#[test]
fn the_highest_common_version_is_taken_and_none_is_an_error() {
    let b = relay(20);
    let only = |versions: Vec<u16>| {
        meet(initiator(None, None), responder(&b), move |_, message| match message {
            Message::Versions(_) => vec![Message::Versions(Versions(versions.clone()))],
            other => vec![other],
        })
        .map(|(link, _)| link.version)
    };
    assert_eq!(only(vec![3, 4, 5]), Ok(5));
    assert_eq!(only(vec![3, 4, 9]), Ok(4));
    assert_eq!(only(vec![1, 2, 3]), Err((false, Error::NoCommonVersion)));
}

#[test]
fn a_relay_with_another_identity_or_another_connection_is_refused() {
    let (a, b) = (relay(10), relay(20));
    let wrong = meet(initiator(None, Some(*a.id())), responder(&b), honest).unwrap_err();
    assert_eq!(wrong, (true, Error::WrongIdentity));

    // Somebody relays the handshake over two connections of his own: the certificates are for another connection.
    let there = Responder { binding: Binding { certificate: [9; 32], ..BINDING }, ..responder(&b) };
    let moved = meet(initiator(None, Some(*b.id())), there, honest).unwrap_err();
    assert!(matches!(moved, (true, Error::Certificate { kind: SIGNING_LINK, .. })), "{moved:?}");

    // The same towards the responder: the exporter value is another connection's.
    let here = Initiator { binding: Binding { exporter: [9; 32], ..BINDING }, ..initiator(Some(&a), None) };
    assert_eq!(meet(here, responder(&b), honest).unwrap_err(), (false, Error::LinkAuthentication));
}

#[test]
fn relays_with_rsa_identities_name_them_and_are_known_by_the_others() {
    for (a_has, b_has) in [(true, true), (true, false), (false, true)] {
        let of = |seed: u8, has: bool| if has { with_rsa(relay(seed), seed) } else { relay(seed) };
        let (a, b) = (of(10, a_has), of(20, b_has));
        assert_eq!(*a.exporter_context() == EXPORTER_CONTEXT, !a_has);
        let mut kinds = Vec::new();
        let (at_a, at_b) = meet(initiator(Some(&a), Some(*b.id())), responder(&b), |from_a, message| {
            if let Message::Certs(certs) = &message {
                kinds.push((from_a, certs.entries().iter().map(|entry| entry.kind).collect::<Vec<_>>()));
            }
            vec![message]
        })
        .unwrap();
        assert_eq!((at_a.peer, at_b.peer), (Some(*b.id()), Some(*a.id())));
        let expected = |has, last| if has { vec![2, 7, 4, last] } else { vec![4, last] };
        assert_eq!(kinds, [(false, expected(b_has, 5)), (true, expected(a_has, 6))]);
    }
}

#[test]
fn an_rsa_identity_that_is_not_the_initiators_or_not_the_responders_is_refused() {
    let (a, b) = (with_rsa(relay(10), 10), with_rsa(relay(20), 20));
    assert!(meet(initiator(Some(&a), None), responder(&b), honest).is_ok());
    // Keying material for the identity of somebody else.
    let other = keying(with_rsa(relay(10), 11).exporter_context());
    let other = Initiator { binding: Binding { exporter: other, ..BINDING }, ..initiator(Some(&a), None) };
    assert_eq!(meet(other, responder(&b), honest).unwrap_err(), (false, Error::LinkAuthentication));
    // Other names in AUTHENTICATE: CID, for which other keying material is asked, and SID.
    for at in [8, 40] {
        let renamed = meet(initiator(Some(&a), None), responder(&b), |_, message| match message {
            Message::Authenticate(cell) => {
                let mut body = cell.body().to_vec();
                body[at] ^= 1;
                vec![Message::Authenticate(Authenticate::new(cell.kind(), body).unwrap())]
            }
            other => vec![other],
        });
        assert_eq!(renamed.unwrap_err(), (false, Error::LinkAuthentication), "byte {at}");
    }
    let mut handshake = LinkHandshake::responder(responder(&b));
    assert!(matches!(handshake.give_exporter(&[1; 32]), Err(Error::NotNow(_))), "nothing is wanted");
}

#[test]
fn expired_certificates_are_refused_by_both_sides() {
    let (a, b) = (relay(10), relay(20));
    let later = b.expires();
    let expired = meet(Initiator { now: later, ..initiator(None, None) }, responder(&b), honest).unwrap_err();
    assert!(matches!(expired, (true, Error::Certificate { kind: IDENTITY_SIGNING, .. })), "{expired:?}");
    let expired = meet(initiator(Some(&a), None), Responder { now: later, ..responder(&b) }, honest).unwrap_err();
    assert!(matches!(expired, (false, Error::Certificate { kind: IDENTITY_SIGNING, .. })), "{expired:?}");
}

#[test]
fn every_byte_of_every_certificate_counts() {
    let b = relay(20);
    // Type 4 names its signer, which takes 36 bytes more.
    for (kind, length) in [(IDENTITY_SIGNING, 140), (SIGNING_LINK, 104)] {
        for at in 0..length {
            let outcome = meet(initiator(None, Some(*b.id())), responder(&b), |_, message| match message {
                Message::Certs(certs) => {
                    let flip = |entry: &CertEntry| {
                        let mut entry = entry.clone();
                        if entry.kind == kind {
                            assert_eq!(entry.bytes.len(), length);
                            entry.bytes[at] ^= 1;
                        }
                        entry
                    };
                    vec![Message::Certs(Certs::new(certs.entries().iter().map(flip).collect()).unwrap())]
                }
                other => vec![other],
            });
            assert!(outcome.is_err(), "type {kind}, byte {at}");
        }
    }
}

#[test]
fn missing_and_repeated_certificates_are_refused() {
    let b = relay(20);
    for kind in [IDENTITY_SIGNING, SIGNING_LINK] {
        for times in [0, 2] {
            let outcome = meet(initiator(None, None), responder(&b), |_, message| match message {
                Message::Certs(certs) => {
                    let repeated = certs.entries().iter().flat_map(|entry| {
                        std::iter::repeat_n(entry.clone(), if entry.kind == kind { times } else { 1 })
                    });
                    vec![Message::Certs(Certs::new(repeated.collect()).unwrap())]
                }
                other => vec![other],
            });
            assert!(matches!(outcome, Err((true, Error::Certificate { .. }))), "{outcome:?}");
        }
    }
}

/// The whole transcript is signed: a change to any cell is detected, even if both sides accept the cell.
#[test]
fn a_changed_transcript_fails_to_authenticate() {
    let (a, b) = (relay(10), relay(20));
    let edits: [fn(bool, Message) -> Vec<Message>; 4] = [
        |_, message| match message {
            Message::Versions(_) => vec![Message::Versions(Versions(vec![4]))], // a downgrade
            other => vec![other],
        },
        |_, message| match message {
            Message::AuthChallenge(mut challenge) => {
                challenge.challenge[0] ^= 1;
                vec![Message::AuthChallenge(challenge)]
            }
            other => vec![other],
        },
        |initiator, message| match message {
            Message::Certs(certs) if initiator => vec![Message::Vpadding(3), Message::Certs(certs)],
            other => vec![other],
        },
        |_, message| match message {
            Message::Authenticate(cell) => {
                let mut body = cell.body().to_vec();
                let last = body.len() - 65; // of RAND, which only the signature covers
                body[last] ^= 1;
                vec![Message::Authenticate(Authenticate::new(cell.kind(), body).unwrap())]
            }
            other => vec![other],
        },
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let outcome = meet(initiator(Some(&a), Some(*b.id())), responder(&b), edit);
        assert_eq!(outcome.unwrap_err(), (false, Error::LinkAuthentication), "edit {number}");
    }
}

#[test]
fn cells_out_of_turn_are_refused() {
    let b = relay(20);
    let netinfo = || Message::Netinfo(Netinfo { time: 0, theirs: IpAddr::from([127, 0, 0, 1]).into(), ours: vec![] });
    let outcome = meet(initiator(None, None), responder(&b), |_, message| match message {
        Message::Certs(_) => vec![netinfo()],
        other => vec![other],
    });
    assert!(
        matches!(outcome, Err((true, Error::PeerMisbehaved(PeerMisbehaved::CellOutOfTurn { .. })))),
        "an initiator needs CERTS: {outcome:?}"
    );
    let a = relay(10);
    let outcome = meet(initiator(Some(&a), None), responder(&b), |_, message| match message {
        Message::Authenticate(_) => vec![netinfo()],
        other => vec![other],
    });
    assert!(
        matches!(outcome, Err((false, Error::PeerMisbehaved(PeerMisbehaved::CellOutOfTurn { .. })))),
        "CERTS promise AUTHENTICATE: {outcome:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_of_any_size_make_no_difference(sizes in prop::collection::vec(1usize..200, 1..30)) {
        let (a, b) = (relay(10), relay(20));
        let mut sides = [
            LinkHandshake::initiator(initiator(Some(&a), Some(*b.id()))),
            LinkHandshake::responder(responder(&b)),
        ];
        let mut sizes = sizes.into_iter().cycle();
        for turn in 0..6 {
            let mut output = sides[turn % 2].take_output();
            while !output.is_empty() {
                let rest = output.split_off(sizes.next().unwrap().min(output.len()));
                sides[1 - turn % 2].receive(&output).unwrap();
                output = rest;
            }
        }
        let peers = sides.map(|side| side.finish().unwrap().0.peer);
        prop_assert_eq!(peers, [Some(*b.id()), Some(*a.id())]);
    }
}
