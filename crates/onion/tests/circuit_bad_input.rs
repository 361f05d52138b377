//! Circuits that must fail: changed cells, broken fragments, false acknowledgements, silence. The circuit ends, and the
//! error names the hop and the cause.
#![cfg(feature = "aws-lc")]

use candor_onion::Error;
use candor_onion::cell::payload::Created2;
use candor_onion::cell::{DestroyReason, Message, PAYLOAD};
use candor_onion::circuit::{Cause, ClientAction, Failure, HopOptions, Limits, RelayCircuit};
use candor_onion::handshake::*;
use candor_onion::layer::Crypto;
use paper::{Paper, Way, bytes};
use std::time::Duration;

mod paper;

const TOR1: HopOptions = HopOptions { crypto: Crypto::Tor1, ..CGO };
const CGO: HopOptions = HopOptions { crypto: Crypto::Cgo, fragments: true, upgrade: false };

/// Changes the `nth` relay cell that crosses a link in one direction.
fn flip(paper: &mut Paper, link: usize, way: Way, nth: usize, byte: usize) {
    let mut seen = 0;
    paper.wiretap = Some(Box::new(move |at, going, mut message| {
        if let (true, Message::Relay(payload)) = ((at, going) == (link, way), &mut message) {
            if seen == nth {
                payload[byte] ^= 0x10;
            }
            seen += 1;
        }
        vec![message]
    }));
}

/// CGO: the cell becomes noise, so the last hop does not recognise it and closes the circuit.
#[test]
fn a_flipped_bit_on_the_way_out_ends_a_cgo_circuit_at_its_last_hop() {
    for link in 0..3 {
        for byte in [0, 15, 16, 300, PAYLOAD - 1] {
            let mut paper = Paper::build(NtorV3Default::default(), 3, CGO);
            let stream = paper.begin();
            flip(&mut paper, link, Way::Out, 0, byte);
            paper.client.send(stream, b"hello", paper.now).unwrap();
            paper.run();
            let destroyed = Cause::Destroyed(DestroyReason::PROTOCOL);
            assert_eq!(paper.failure(), Failure { hop: Some(3), cause: destroyed }, "link {link} byte {byte}");
            assert!(paper.relays[2].as_ref().unwrap().is_closed());
        }
    }
}

#[test]
fn a_flipped_bit_on_the_way_in_ends_a_cgo_circuit_at_its_client() {
    for link in 0..3 {
        let mut paper = Paper::build(NtorV3Default::default(), 3, CGO);
        let stream = paper.begin();
        flip(&mut paper, link, Way::In, 0, 200);
        paper.client.send(stream, b"hello", paper.now).unwrap();
        paper.run();
        assert_eq!(paper.failure(), Failure { hop: None, cause: Cause::Unrecognized });
    }
}

/// Cells after a changed one become noise too, even if they are unchanged: the next relay's layer shows it by itself.
#[test]
fn after_a_flipped_bit_no_later_cgo_cell_can_be_read() {
    use candor_onion::cell::Command;
    use candor_onion::layer::{ClientLayer, Onion, RelayLayer};
    let material = |hop: u8| vec![hop; Crypto::Cgo.key_length()];
    let mut onion = Onion::default();
    (1..=2).for_each(|hop| onion.push(ClientLayer::from_material(Crypto::Cgo, &material(hop)).unwrap()));
    let mut relays = [1, 2].map(|hop| RelayLayer::from_material(Crypto::Cgo, &material(hop)).unwrap());
    let mut recognised = Vec::new();
    for number in 0..20 {
        let mut cell = [0; PAYLOAD];
        cell[16] = number;
        onion.wrap(1, Command::RELAY, &mut cell).unwrap();
        if number == 5 {
            cell[100] ^= 1;
        }
        assert_eq!(relays[0].outbound(Command::RELAY, &mut cell), None);
        if relays[1].outbound(Command::RELAY, &mut cell).is_some() {
            recognised.push(number);
        }
    }
    assert_eq!(recognised, [0, 1, 2, 3, 4]);
}

/// tor1's known weakness, which SOUNDNESS.md names: a guard marks a cell, and an exit in league with it sees the mark
/// exactly where it was put, through an honest middle relay, and removes it. Nobody else notices.
#[test]
fn a_tor1_cell_can_be_tagged_through_an_honest_relay() {
    let mut paper = Paper::build(NtorDefault::default(), 3, TOR1);
    let stream = paper.begin();
    let mark = 0xA5;
    paper.wiretap = Some(Box::new(move |link, way, mut message| {
        // The guard sets the mark as it sends to the middle relay; the exit removes it as it receives from the middle
        // relay.
        if let (true, Message::Relay(payload)) = (matches!((link, way), (1 | 2, Way::Out)), &mut message) {
            payload[400] ^= mark;
        }
        vec![message]
    }));
    let sent = bytes(1, 490);
    let back = paper.echo(&[(stream, sent.clone())], Duration::from_millis(1));
    assert_eq!(back[&stream], sent, "the circuit works on as if nothing had happened");

    // The same with CGO: nothing gets through.
    let mut paper = Paper::build(NtorV3Default::default(), 3, CGO);
    let stream = paper.begin();
    paper.wiretap = Some(Box::new(move |link, way, mut message| {
        if let (true, Message::Relay(payload)) = (matches!((link, way), (1 | 2, Way::Out)), &mut message) {
            payload[400] ^= mark;
        }
        vec![message]
    }));
    paper.client.send(stream, &sent, paper.now).unwrap();
    paper.run();
    assert_eq!(paper.failure().cause, Cause::Destroyed(DestroyReason::PROTOCOL));
}

/// tor1: RECOGNIZED is two bytes long, the digest four, and each of them matters.
#[test]
fn every_byte_that_tor1_recognises_a_cell_by_counts() {
    for byte in [1, 2, 5, 6, 7, 8] {
        let mut paper = Paper::build(NtorDefault::default(), 3, TOR1);
        let stream = paper.begin();
        flip(&mut paper, 0, Way::Out, 0, byte);
        paper.client.send(stream, b"hello", paper.now).unwrap();
        paper.run();
        let destroyed = Cause::Destroyed(DestroyReason::PROTOCOL);
        assert_eq!(paper.failure(), Failure { hop: Some(3), cause: destroyed }, "byte {byte}");
    }
}

/// A hop that answers with something other than its handshake's reply.
#[test]
fn a_garbage_answer_ends_the_circuit_and_names_the_hop() {
    for hop in 0..3 {
        let handshake = Hybrid768::default();
        let mut paper = Paper::relays(&handshake, 3);
        paper.wiretap = Some(Box::new(move |link, _, message| match message {
            Message::Created2v(created) if link == hop => {
                let garbage = vec![0x5A; created.reply().len()];
                vec![Message::Created2v(Created2::new(garbage).unwrap())]
            }
            other => vec![other],
        }));
        for next in 0..=hop {
            paper.extend(&handshake, next, CGO);
        }
        let Failure { hop: named, cause } = paper.failure();
        assert_eq!(named, Some(hop + 1));
        assert!(matches!(cause, Cause::Handshake(_)), "{cause:?}");
    }
}

#[test]
fn a_hop_that_does_not_answer_in_time_is_named() {
    for hop in 0..3 {
        let handshake = Hybrid768::default();
        let mut paper = Paper::relays(&handshake, 3);
        paper.wiretap = Some(Box::new(move |link, way, message| match (link == hop, way, &message) {
            (true, Way::In, Message::Created2v(_)) => vec![],
            _ => vec![message],
        }));
        for next in 0..=hop {
            paper.extend(&handshake, next, CGO);
        }
        assert_eq!(paper.client.deadline(), Some(paper.now + Limits::default().build));
        paper.client.tick(paper.now + Limits::default().build - Duration::from_millis(1));
        assert!(!paper.client.is_closed());
        paper.client.tick(paper.now + Limits::default().build);
        paper.run();
        assert_eq!(paper.failure(), Failure { hop: Some(hop + 1), cause: Cause::Timeout });
        assert_eq!(paper.client.deadline(), None);
    }
}

/// A hop that is frozen ends nothing; that it is the first without an answer is what the client can find out.
#[test]
fn each_hop_answers_a_probe_unless_it_is_stuck() {
    for options in [TOR1, CGO] {
        for stuck in 0..=3 {
            let mut paper = Paper::build(Hybrid768::default(), 3, options);
            let stream = paper.begin();
            paper.wiretap = Some(Box::new(move |link, way, message| match (link, way) {
                (link, Way::Out) if link == stuck => vec![],
                _ => vec![message],
            }));
            (1..=3).for_each(|hop| paper.client.probe(hop).unwrap());
            assert!(paper.client.probe(0).is_err() && paper.client.probe(4).is_err(), "there are three hops");
            paper.run();
            let answered: Vec<_> = paper.news.drain(..).collect();
            let expected: Vec<_> = (1..=stuck).map(|hop| ClientAction::Answered { hop }).collect();
            assert_eq!(answered, expected);
            assert!(!paper.client.is_closed());
            paper.wiretap = None;
            let data = bytes(1, 10_000);
            assert!(stuck < 3 || paper.echo(&[(stream, data.clone())], Duration::from_millis(10))[&stream] == data);
        }
    }
}

#[test]
fn an_unreachable_relay_is_named() {
    let handshake = NtorV3Default::default();
    let mut paper = Paper::relays(&handshake, 2);
    paper.extend(&handshake, 0, CGO);
    paper.news.clear();
    paper.wide = false;
    // The onionskin for the second hop needs a wide link, and there is none.
    let hybrid = Hybrid768::default();
    paper.extend(&hybrid, 1, CGO);
    let failed = Cause::Destroyed(DestroyReason::CONNECTFAILED);
    assert_eq!(paper.failure(), Failure { hop: Some(2), cause: failed });
}

/// Cells of EXTEND2 are dropped, repeated or swapped: the relay closes the circuit, at once or at the deadline.
#[test]
fn missing_repeated_or_swapped_fragments_end_the_circuit() {
    type Edit = fn(usize, Message) -> Vec<Message>;
    let edits: [(&str, Edit); 3] = [
        ("missing", |number, message| if number == 1 { vec![] } else { vec![message] }),
        ("doubled", |number, message| if number == 1 { vec![message.clone(), message] } else { vec![message] }),
        ("never finished", |number, message| if number == 2 { vec![] } else { vec![message] }),
    ];
    for options in [TOR1, CGO] {
        for (what, edit) in edits {
            let handshake = Hybrid768::default();
            let mut paper = Paper::relays(&handshake, 2);
            paper.extend(&handshake, 0, options);
            paper.news.clear();
            let mut number = 0;
            paper.wiretap = Some(Box::new(move |link, way, message| match (link, way) {
                (0, Way::Out) => {
                    number += 1;
                    edit(number - 1, message)
                }
                _ => vec![message],
            }));
            paper.extend(&handshake, 1, options);
            let late = paper.now + Limits::default().fragments;
            if let Some(relay) = &mut paper.relays[0] {
                relay.tick(late);
            }
            paper.run();
            let failure = paper.failure();
            assert_eq!(failure.hop, Some(1), "{what} {options:?}");
            assert!(matches!(failure.cause, Cause::Destroyed(_)), "{what}: {failure}");
            assert!(paper.relays[1].is_none(), "{what}: the second relay never heard of it");
        }
    }
}

/// Fragments cell by cell: the error for each broken sequence.
#[test]
fn broken_fragments_are_refused_at_once() {
    use candor_onion::relay::{Format, Fragments, Header, RelayCommand, encode_fragment};
    let now = std::time::Instant::now();
    let cells = |format: Format, length: usize| -> Vec<[u8; PAYLOAD]> {
        let body = bytes(9, length);
        let (mut done, mut cells) = (0, Vec::new());
        while done < length {
            let mut cell = [0; PAYLOAD];
            done = encode_fragment(format, &mut cell, RelayCommand::EXTEND2, &body, done);
            cells.push(cell);
        }
        cells
    };
    for format in [Format::V0, Format::V1] {
        let whole = cells(format, 1400);
        assert_eq!(whole.len(), 3);
        let mut good = Fragments::new(format, true);
        assert_eq!(good.receive(&whole[0], true, now), Ok(None));
        assert_eq!(good.receive(&whole[1], false, now), Ok(None));
        assert_eq!(good.receive(&whole[2], false, now).unwrap().unwrap().body[..], bytes(9, 1400)[..]);
        assert_eq!(good.waiting_since(), None);

        let mut not_agreed = Fragments::new(format, false);
        assert!(not_agreed.receive(&whole[0], true, now).is_err());

        let mut early = Fragments::new(format, true);
        assert_eq!(early.receive(&whole[0], true, now), Ok(None));
        assert!(early.receive(&whole[1], true, now).is_err(), "RELAY_EARLY behind the first");

        let mut data = [0; PAYLOAD];
        format.encode(&mut data, Header { command: RelayCommand::DATA, stream: 1, length: 1400 }, &bytes(1, 1400));
        assert!(Fragments::new(format, true).receive(&data, false, now).is_err(), "DATA may not be fragmented");

        let mut long = [0; PAYLOAD];
        format.encode(&mut long, Header { command: RelayCommand::EXTEND2, stream: 0, length: 4097 }, &bytes(1, 4097));
        let too_long = Error::TooLong { what: "fragmented message", most: 4096, got: 4097 };
        assert_eq!(Fragments::new(format, true).receive(&long, true, now), Err(too_long));
    }
    let whole = cells(Format::V0, 1400);
    for (what, second) in [("the same again", 0), ("one left out", 2)] {
        let mut fragments = Fragments::new(Format::V0, true);
        assert_eq!(fragments.receive(&whole[0], true, now), Ok(None));
        assert!(fragments.receive(&whole[second], false, now).is_err(), "{what}");
    }
}

#[test]
fn cells_after_destroy_are_dropped_at_both_ends() {
    let mut paper = Paper::build(NtorV3Default::default(), 3, CGO);
    let stream = paper.begin();
    paper.client.send(stream, b"hello", paper.now).unwrap();
    let Some(ClientAction::Send(late)) = paper.client.poll() else { panic!("a cell") };
    paper.client.close();
    paper.run();
    assert_eq!(paper.failure(), Failure { hop: None, cause: Cause::Closed });
    let now = paper.now;
    let relay = paper.relays[0].as_mut().unwrap();
    assert!(relay.is_closed());
    while relay.poll().is_some() {}
    relay.receive_from_client(late.clone(), now);
    relay.receive_from_client(Message::Destroy(DestroyReason::NONE), now);
    relay.receive_from_next(late.clone());
    assert_eq!(relay.poll(), None);
    paper.client.receive(late, now);
    paper.client.receive(Message::Destroy(DestroyReason::NONE), now);
    assert_eq!(paper.client.poll(), None);
}

/// The relay before it reports the loss of each relay.
/// A client goes on sending until it hears that its circuit was cut; what is late must not hide the reason.
#[test]
fn cells_for_a_part_that_was_cut_off_are_dropped() {
    for options in [TOR1, CGO] {
        let mut paper = Paper::build(Hybrid768::default(), 3, options);
        let stream = paper.begin();
        let first = paper.relays[0].as_mut().unwrap();
        first.receive_from_next(Message::Destroy(DestroyReason::RESOURCELIMIT));
        // A DESTROY would overtake it on a link.
        paper.wiretap = Some(Box::new(|link, way, message| {
            assert!((link, way) != (0, Way::In) || !matches!(message, Message::Destroy(_)), "{message:?}");
            vec![message]
        }));
        paper.client.send(stream, &bytes(1, 5000), paper.now).unwrap();
        paper.run();
        let cause = Cause::Destroyed(DestroyReason::RESOURCELIMIT);
        assert_eq!(paper.failure(), Failure { hop: Some(2), cause });
    }
}

#[test]
fn a_relay_that_goes_away_is_named() {
    for hop in 0..3 {
        let mut paper = Paper::build(NtorV3Default::default(), 3, CGO);
        paper.relays[hop].as_mut().unwrap().close(DestroyReason::RESOURCELIMIT);
        paper.run();
        let cause = Cause::Destroyed(DestroyReason::RESOURCELIMIT);
        assert_eq!(paper.failure(), Failure { hop: Some(hop + 1), cause });
    }
    let mut paper = Paper::build(NtorV3Default::default(), 3, CGO);
    paper.client.link_closed();
    paper.run();
    assert_eq!(paper.failure(), Failure { hop: Some(1), cause: Cause::LinkClosed });
}

#[test]
fn a_ninth_relay_early_cell_ends_the_circuit() {
    let mut paper = Paper::build(NtorV3Default::default(), 2, CGO);
    let now = paper.now;
    let relay: &mut RelayCircuit = paper.relays[0].as_mut().unwrap();
    // One has been used to extend. Nobody recognises these, so they are passed on.
    for _ in 0..7 {
        relay.receive_from_client(Message::RelayEarly(Box::new([1; PAYLOAD])), now);
        assert!(!relay.is_closed());
    }
    relay.receive_from_client(Message::RelayEarly(Box::new([1; PAYLOAD])), now);
    assert!(relay.is_closed());
}

/// Each extension takes a RELAY_EARLY cell, and the first hop would end the circuit at a ninth.
#[test]
fn a_client_extends_its_circuit_eight_times_and_no_more() {
    let handshake = NtorV3Default::default();
    let mut paper = Paper::build(handshake.clone(), 9, CGO);
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let ninth = paper.client.extend(&handshake, handshake.public(&relay), &paper::next(9), CGO, paper.now);
    assert_eq!(ninth, Err(Error::NotNow("circuit has used up its extensions")));
    assert!(!paper.client.is_closed());
}

#[test]
fn a_relay_early_cell_towards_the_client_cuts_the_circuit() {
    let mut paper = Paper::build(NtorV3Default::default(), 2, CGO);
    paper.relays[0].as_mut().unwrap().receive_from_next(Message::RelayEarly(Box::new([1; PAYLOAD])));
    paper.run();
    assert_eq!(paper.failure().hop, Some(2));
    let mut paper = Paper::build(NtorV3Default::default(), 1, CGO);
    let now = paper.now;
    paper.client.receive(Message::RelayEarly(Box::new([1; PAYLOAD])), now);
    paper.run();
    assert!(matches!(paper.failure().cause, Cause::Protocol(_)));
}

#[test]
fn a_relay_that_does_not_offer_the_handshake_destroys_the_circuit() {
    let mut paper = Paper::relays(&NtorV3Default::default(), 1);
    let handshake = Hybrid768::default();
    let relay = handshake.generate_relay([1; 32]).unwrap();
    paper.client.create(&handshake, handshake.public(&relay), CGO, paper.now).unwrap();
    paper.run();
    let cause = Cause::Destroyed(DestroyReason::PROTOCOL);
    assert_eq!(paper.failure(), Failure { hop: Some(1), cause });
}

#[test]
fn calls_at_the_wrong_time_are_refused_and_change_nothing() {
    let handshake = NtorV3Default::default();
    let mut paper = Paper::relays(&handshake, 2);
    let relay = handshake.generate_relay([1; 32]).unwrap();
    let public = handshake.public(&relay);
    let begin = candor_onion::relay::message::Begin::new("a", 1).unwrap();
    let not_now = |result: Result<(), Error>| assert!(matches!(result, Err(Error::NotNow(_))), "{result:?}");
    not_now(paper.client.begin(&begin).map(drop));
    not_now(paper.client.extend(&handshake, public, &paper::next(1), CGO, paper.now));
    paper.extend(&handshake, 0, HopOptions { fragments: false, ..CGO });
    not_now(paper.client.create(&handshake, public, CGO, paper.now));
    // The first hop did not agree to fragments.
    let hybrid = Hybrid768::default();
    let big = hybrid.generate_relay([2; 32]).unwrap();
    let refused = paper.client.extend(&hybrid, hybrid.public(&big), &paper::next(1), CGO, paper.now);
    assert!(matches!(refused, Err(Error::TooLong { .. })), "{refused:?}");
    // The circuit can still be extended by an onionskin that fits.
    paper.extend(&handshake, 1, CGO);
    assert_eq!(paper.client.hops(), 2);
    assert!(!paper.client.is_closed());
}
