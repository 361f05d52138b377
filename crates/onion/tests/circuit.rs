//! Circuits that must work: a client, three relays and an echoing exit, with every handshake and both kinds of relay
//! cryptography.
#![cfg(feature = "aws-lc")]

use candor_onion::cell::Message;
use candor_onion::circuit::{ClientAction, HopOptions, Limits, RelayAction, StreamId};
use candor_onion::flow::MOST_UNACKNOWLEDGED;
use candor_onion::handshake::*;
use candor_onion::layer::Crypto;
use candor_onion::relay::message::{Begin, EndReason};
use paper::{Paper, bytes};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

mod paper;

const STEP: Duration = Duration::from_millis(10);
/// Most bytes that a window holds.
const WINDOW: usize = MOST_UNACKNOWLEDGED as usize * 498;

fn crossing<H>(handshake: H, crypto: Crypto, length: usize) -> Paper
where
    H: Handshake + Clone + Send + Sync + 'static,
    H::RelaySecret: Send + Sync,
    H::Client: Send + 'static,
{
    let mut paper = Paper::build(handshake, 3, HopOptions { crypto, fragments: true, upgrade: false });
    let stream = paper.begin();
    let sent = vec![(stream, bytes(1, length))];
    let back = paper.echo(&sent, STEP);
    assert!(back[&stream] == sent[0].1, "what came back is not what was sent");
    paper
}

/// Each pair carries more bytes than both windows hold, so that acknowledgements matter.
#[test]
fn a_megabyte_crosses_three_hops_and_comes_back_with_every_handshake_and_both_cryptographies() {
    macro_rules! each {
        ($($handshake:ident)+) => { $(
            for crypto in [Crypto::Tor1, Crypto::Cgo] {
                crossing($handshake::default(), crypto, 1_000_000);
            }
        )+ };
    }
    each!(NtorDefault NtorV3Default Hybrid512 Hybrid768 Hybrid1024 Hybrid512Auth Hybrid768Auth Hybrid1024Auth);
}

#[test]
fn twenty_megabytes_cross_three_hops_and_come_back() {
    for crypto in [Crypto::Tor1, Crypto::Cgo] {
        crossing(Hybrid768::default(), crypto, 20_000_000);
    }
}

#[test]
fn a_hundred_streams_share_a_circuit() {
    for crypto in [Crypto::Tor1, Crypto::Cgo] {
        let mut paper = Paper::build(Hybrid768::default(), 3, HopOptions { crypto, fragments: true, upgrade: false });
        let sent: Vec<_> = (0..100).map(|seed| (paper.begin(), bytes(seed, 20_000 + seed as usize))).collect();
        let back = paper.echo(&sent, STEP);
        for (stream, data) in &sent {
            assert!(back[stream] == *data, "{stream:?}");
        }
    }
}

#[test]
fn a_link_carries_as_many_cells_each_way_while_a_hop_is_added() {
    for (crypto, expected) in [(Crypto::Tor1, 5), (Crypto::Cgo, 5)] {
        let mut paper =
            Paper::build(Hybrid768Auth::default(), 2, HopOptions { crypto, fragments: true, upgrade: false });
        // The creation and its answer, then the fragments of EXTEND2 and EXTENDED2. EXTENDED2 alone would need only
        // three.
        assert_eq!(paper.cells[0], [1 + expected, 1 + expected], "{crypto:?}");
        assert_eq!(paper.cells[1], [1, 1]);
        paper.client.close();
        paper.run();
        assert_eq!(paper.cells[1], [2, 1], "DESTROY goes all the way");
    }
}

#[test]
fn ntor_works_over_links_that_are_not_wide() {
    let handshake = NtorV3Default::default();
    let mut paper = Paper::relays(&handshake, 3);
    paper.wide = false;
    for hop in 0..3 {
        paper.extend(&handshake, hop, HopOptions::default());
    }
    assert_eq!(paper.news.len(), 3);
    assert_eq!(paper.client.hops(), 3);
}

#[test]
fn streams_end_from_either_side() {
    let mut paper = Paper::build(NtorV3Default::default(), 3, HopOptions::default());
    let (first, second) = (paper.begin(), paper.begin());
    paper.end(first);
    assert!(paper.exit_news.contains(&RelayAction::Ended { stream: first, reason: EndReason::DONE }));
    let exit = paper.relays[2].as_mut().unwrap();
    exit.end_stream(second, EndReason::CONNRESET).unwrap();
    paper.run();
    assert_eq!(paper.news.pop_front(), Some(ClientAction::Ended { stream: second, reason: EndReason::CONNRESET }));
    assert!(paper.client.send(second, b"too late", paper.now).is_err());
    assert_ne!(paper.begin(), first, "a number is not used twice");
}

#[test]
fn cells_of_streams_from_behind_the_first_hop_are_counted() {
    for crypto in [Crypto::Tor1, Crypto::Cgo] {
        let mut paper =
            Paper::build(NtorV3Default::default(), 3, HopOptions { crypto, fragments: false, upgrade: false });
        for hop in 1..=3 {
            paper.client.probe(hop).unwrap();
            paper.run();
            assert_eq!(paper.news.pop_front(), Some(ClientAction::Answered { hop }));
        }
        // Acknowledgements come between the bytes that are sent back, and are counted too.
        let stream = paper.begin();
        assert_eq!(paper.client.carried(), 0, "to build a circuit, to answer and to open a stream carries nothing");
        let before = paper.cells[0][1];
        paper.client.send(stream, &bytes(4, 60_000), paper.now).unwrap();
        paper.run();
        let came = paper.cells[0][1] - before;
        let with_bytes = paper.news.iter().filter(|news| matches!(news, ClientAction::Data { .. })).count();
        assert!(came > with_bytes && with_bytes > 0, "{came} cells, {with_bytes} with bytes");
        assert_eq!(paper.client.carried(), came as u64);
    }
}

#[test]
fn bytes_in_flight_when_a_stream_ends_are_dropped() {
    let mut paper = Paper::build(NtorV3Default::default(), 3, HopOptions::default());
    let stream = paper.begin();
    paper.client.send(stream, &bytes(1, 20_000), paper.now).unwrap();
    paper.client.end_stream(stream, EndReason::DONE).unwrap();
    paper.run();
    assert!(!paper.client.is_closed());
    let other = paper.begin();
    assert_eq!(paper.echo(&[(other, bytes(2, 5000))], STEP)[&other], bytes(2, 5000));
}

/// An exit that does not read stops its client, but only on that stream; when it reads again, everything arrives.
#[test]
fn an_exit_that_does_not_read_holds_its_stream_back() {
    for (crypto, at_most) in [(Crypto::Tor1, 500 * 498), (Crypto::Cgo, Limits::default().circuit_unread + WINDOW)] {
        let mut paper =
            Paper::build(NtorV3Default::default(), 3, HopOptions { crypto, fragments: false, upgrade: false });
        let stream = paper.begin();
        paper.exit_reads = false;
        let data = bytes(3, 6_000_000);
        let mut sent = 0;
        loop {
            let taken = paper.client.send(stream, &data[sent..], paper.now).unwrap();
            paper.now += STEP;
            paper.run();
            // The client reads the echo, so nothing else holds it back.
            while let Some(news) = paper.news.pop_front() {
                if let ClientAction::Data { stream, bytes } = news {
                    paper.client.consumed(stream, bytes.len());
                }
            }
            paper.run();
            if taken == 0 {
                break;
            }
            sent += taken;
        }
        assert!(sent > 0 && sent <= at_most, "{crypto:?}: {sent}");

        let exit = paper.relays[2].as_mut().unwrap();
        exit.consumed(stream, sent);
        paper.exit_reads = true;
        paper.run();
        assert!(paper.news.contains(&ClientAction::Writable { stream }), "{crypto:?}");
    }
}

/// Sixty streams that the exit does not read stop their client together, far below what sixty windows would allow.
/// Bytes that ended with their stream count too, until they are reported.
#[test]
fn an_exit_that_does_not_read_holds_many_streams_back_together() {
    for crypto in [Crypto::Tor1, Crypto::Cgo] {
        let mut paper =
            Paper::build(NtorV3Default::default(), 3, HopOptions { crypto, fragments: false, upgrade: false });
        paper.exit_reads = false;
        let streams: Vec<_> = (0..60).map(|_| paper.begin()).collect();
        let data = bytes(3, 100_000);
        let upload = |paper: &mut Paper, sent: &mut BTreeMap<StreamId, usize>, streams: &[StreamId]| loop {
            let before: usize = sent.values().sum();
            for stream in streams {
                let taken = paper.client.send(*stream, &data, paper.now).unwrap();
                *sent.entry(*stream).or_default() += taken;
                paper.now += STEP;
                paper.run();
                while let Some(news) = paper.news.pop_front() {
                    if let ClientAction::Data { stream, bytes } = news {
                        paper.client.consumed(stream, bytes.len());
                    }
                }
                paper.run();
            }
            if sent.values().sum::<usize>() == before {
                return before;
            }
        };
        let mut sent = BTreeMap::new();
        let total = upload(&mut paper, &mut sent, &streams);
        let at_most = Limits::default().circuit_unread + WINDOW;
        assert!(total > 100_000 && total <= at_most, "{crypto:?}: {total}");
        assert!(!paper.client.is_closed());

        // Ended streams free no room until their bytes are reported.
        streams[..30].iter().for_each(|stream| paper.end(*stream));
        let again = upload(&mut paper, &mut sent, &streams[30..]);
        assert!(again <= at_most, "{crypto:?}: {again}");
        let exit = paper.relays[2].as_mut().unwrap();
        sent.iter().for_each(|(stream, sent)| exit.consumed(*stream, *sent));
        paper.run();
        let more = upload(&mut paper, &mut BTreeMap::new(), &streams[30..]);
        assert!(more > 100_000, "{crypto:?}: {more}");
    }
}

#[test]
fn the_window_grows_only_under_congestion_control() {
    let cgo = crossing(NtorV3Default::default(), Crypto::Cgo, 3_000_000);
    let tor1 = crossing(NtorV3Default::default(), Crypto::Tor1, 3_000_000);
    assert!(cgo.client.window() > 500, "{}", cgo.client.window());
    assert_eq!(tor1.client.window(), 1000);
}

#[test]
fn targets_reach_the_exit_unchanged() {
    let mut paper = Paper::build(NtorDefault::default(), 1, HopOptions::default());
    for (host, port) in [("example.com", 80), ("127.0.0.1", 65535), ("[::1]", 1)] {
        let target = Begin::new(host, port).unwrap();
        let stream = paper.client.begin(&target).unwrap();
        paper.run();
        assert_eq!(paper.exit_news.pop(), Some(RelayAction::Begin { stream, target }));
    }
}

/// What `docs/upgrade.md` says that the agreement on an upgrade gives away: CREATE2 and CREATED2 pass the relay before the last.
#[test]
fn the_relay_before_sees_a_question_about_upgrades_and_its_answer_by_their_lengths() {
    let lengths = |crypto, upgrade| {
        let handshake = NtorV3Default::default();
        let mut paper = Paper::relays(&handshake, 2);
        let seen = Rc::new(RefCell::new(Vec::new()));
        let tap = Rc::clone(&seen);
        paper.wiretap = Some(Box::new(move |link, _, message| {
            match &message {
                Message::Create2(create) if link == 1 => tap.borrow_mut().push(create.onionskin().len()),
                Message::Created2(created) if link == 1 => tap.borrow_mut().push(created.reply().len()),
                _ => {}
            }
            vec![message]
        }));
        (0..2).for_each(|hop| paper.extend(&handshake, hop, HopOptions { crypto, fragments: false, upgrade }));
        seen.take()
    };
    for crypto in [Crypto::Tor1, Crypto::Cgo] {
        let longer = lengths(crypto, false).iter().map(|length| length + 3).collect::<Vec<_>>();
        assert_eq!((lengths(crypto, true), longer.len()), (longer, 2), "{crypto:?}");
    }
}
