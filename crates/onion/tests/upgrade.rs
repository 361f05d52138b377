//! The in-circuit upgrade (`docs/upgrade.md`): over whole circuits, against ends that are moved by hand, and message by message.
#![cfg(feature = "aws-lc")]

use candor_onion::cell::{DestroyReason, Message};
use candor_onion::circuit::{Cause, ClientAction, Failure, HopOptions, Limits};
use candor_onion::handshake::*;
use candor_onion::layer::Crypto;
use candor_onion::relay::RelayCommand;
use candor_onion::{Error, PeerMisbehaved};
use candor_primitives::kem::KemError;
use candor_primitives::kem::ml_kem::MlKem768;
use hand::{Hand, asked, client_and_relay, relay_and_client};
use paper::{Paper, Way, bytes};
use proptest::prelude::*;
use std::time::Duration;

mod hand;
mod paper;

const STEP: Duration = Duration::from_millis(10);
const CRYPTOS: [Crypto; 2] = [Crypto::Tor1, Crypto::Cgo];

fn options(crypto: Crypto) -> HopOptions {
    HopOptions { crypto, fragments: false, upgrade: true }
}

/// A circuit of three hops whose relays have agreed to upgrades.
fn three(crypto: Crypto) -> Paper {
    Paper::build(NtorV3Default::default(), 3, options(crypto))
}

fn begin_upgrade(paper: &mut Paper) {
    paper.client.upgrade(&MlKem768::new(), paper.now).unwrap();
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::NotNow(_))), "{result:?}");
}

#[test]
fn bytes_flow_before_during_and_after_an_upgrade() {
    for crypto in CRYPTOS {
        let mut paper = three(crypto);
        let stream = paper.begin();
        let mut part = 0;
        let mut flows = |paper: &mut Paper, stream| {
            part += 1;
            let sent = bytes(part, 300_000);
            assert!(paper.echo(&[(stream, sent.clone())], STEP)[&stream] == sent, "{crypto:?}, part {part}");
        };
        flows(&mut paper, stream);

        // UPGRADE goes out while bytes are in flight both ways, and the relay takes its time.
        paper.upgrades = Some(Vec::new());
        let before = bytes(100, 100_000);
        let taken = paper.client.send(stream, &before, paper.now).unwrap();
        begin_upgrade(&mut paper);
        let more = paper.client.send(stream, &before[taken..], paper.now).unwrap();
        let mut back = Vec::new();
        collect(&mut paper, &mut back);
        assert!(!paper.client.is_upgraded());
        flows(&mut paper, stream);
        assert_eq!(paper.upgrades.as_ref().unwrap().len(), 1);

        // Now it answers; its UPGRADED and the client's cross bytes that are under the old keys.
        let taken_at_last = paper.client.send(stream, &bytes(101, 50_000), paper.now).unwrap();
        paper.upgrade();
        assert!(paper.client.is_upgraded());
        collect(&mut paper, &mut back);
        assert_eq!(paper.news.pop_front(), Some(ClientAction::Upgraded { hop: 3 }), "{crypto:?}");
        let expected = [&before[..taken + more], &bytes(101, 50_000)[..taken_at_last]].concat();
        assert!(back == expected, "{crypto:?}: {} of {}", back.len(), expected.len());

        flows(&mut paper, stream);
        let other = paper.begin();
        flows(&mut paper, other);
        paper.end(stream);
    }
}

/// Runs until nothing moves, and adds what has come back.
fn collect(paper: &mut Paper, back: &mut Vec<u8>) {
    loop {
        paper.run();
        let before = back.len();
        paper.news.retain(|news| match news {
            ClientAction::Data { stream, bytes } => {
                paper.client.consumed(*stream, bytes.len());
                back.extend_from_slice(bytes);
                false
            }
            news => matches!(news, ClientAction::Upgraded { .. }),
        });
        if back.len() == before {
            return;
        }
    }
}

#[test]
fn an_upgrade_takes_as_many_cells_each_way_and_one_more_out() {
    for crypto in CRYPTOS {
        let mut paper = three(crypto);
        let before = paper.cells.clone();
        begin_upgrade(&mut paper);
        paper.run();
        for (link, before) in before.iter().enumerate() {
            let count = [0, 1].map(|way| paper.cells[link][way] - before[way]);
            assert_eq!(count, [4, 3], "{crypto:?}, link {link}");
        }
        assert_eq!(paper.client.carried(), 0, "none of these is of a stream");
    }
    assert_eq!((Upgrade::<MlKem768>::REQUEST, Upgrade::<MlKem768>::REPLY), (1185, 1120));
    let document = include_str!("../docs/upgrade.md");
    for row in
        ["| UPGRADE | 1185 | 3 | 3 |", "| relay's UPGRADED | 1120 | 3 | 3 |", "| client's UPGRADED | 32 | 1 | 1 |"]
    {
        assert!(document.contains(row), "the specification's table lacks {row}");
    }
}

#[test]
fn a_hybrid_hop_can_be_upgraded_and_one_of_ntor_can_not() {
    for crypto in CRYPTOS {
        let mut paper = Paper::build(Hybrid768::default(), 2, HopOptions { fragments: true, ..options(crypto) });
        begin_upgrade(&mut paper);
        paper.run();
        assert_eq!(paper.news.pop_front(), Some(ClientAction::Upgraded { hop: 2 }));
        let stream = paper.begin();
        assert_eq!(paper.echo(&[(stream, bytes(1, 3000))], STEP)[&stream], bytes(1, 3000));
    }
    let mut paper = Paper::build(NtorDefault::default(), 2, options(Crypto::Tor1));
    assert!(!paper.client.can_upgrade());
    is_refused(paper.client.upgrade(&MlKem768::new(), paper.now));
}

#[test]
fn a_relay_that_does_not_know_upgrades_is_never_sent_one() {
    for crypto in CRYPTOS {
        for (knows, asks) in [(false, true), (true, false), (false, false), (true, true)] {
            let handshake = NtorV3Default::default();
            let mut paper = Paper::relays(&handshake, 2);
            paper.limits = Limits { upgrade: knows, ..Limits::default() };
            for hop in 0..2 {
                paper.extend(&handshake, hop, HopOptions { upgrade: asks, ..options(crypto) });
            }
            assert_eq!(paper.client.hops(), 2, "who does not know the question passes it over");
            paper.news.clear();
            assert_eq!(paper.client.can_upgrade(), knows && asks);
            let asked = paper.client.upgrade(&MlKem768::new(), paper.now);
            paper.run();
            match knows && asks {
                true => assert_eq!(paper.news.pop_front(), Some(ClientAction::Upgraded { hop: 2 })),
                false => is_refused(asked),
            }
            let stream = paper.begin();
            assert_eq!(paper.echo(&[(stream, bytes(1, 3000))], STEP)[&stream], bytes(1, 3000), "it goes on");
        }
    }
}

#[test]
fn a_circuit_is_upgraded_once_and_not_while_it_is_extended() {
    let handshake = NtorV3Default::default();
    for crypto in CRYPTOS {
        let mut paper = Paper::relays(&handshake, 3);
        paper.extend(&handshake, 0, options(crypto));
        paper.extend(&handshake, 1, options(crypto));
        let relay = handshake.generate_relay([3; 32]).unwrap();
        paper.upgrades = Some(Vec::new());
        begin_upgrade(&mut paper);
        paper.run();
        is_refused(paper.client.upgrade(&MlKem768::new(), paper.now));
        let next = paper::next(2);
        is_refused(paper.client.extend(&handshake, handshake.public(&relay), &next, options(crypto), paper.now));
        paper.upgrade();
        is_refused(paper.client.upgrade(&MlKem768::new(), paper.now));
        // Afterwards it goes on, through the new keys, and the new last hop has its own.
        paper.extend(&handshake, 2, options(crypto));
        assert!(paper.client.can_upgrade() && !paper.client.is_upgraded());
        // Not while a hop is added.
        paper.news.clear();
        begin_upgrade(&mut paper);
        paper.run();
        assert_eq!(paper.news.pop_front(), Some(ClientAction::Upgraded { hop: 3 }));
        let stream = paper.begin();
        assert_eq!(paper.echo(&[(stream, bytes(1, 30_000))], STEP)[&stream], bytes(1, 30_000));

        let mut paper = Paper::relays(&handshake, 2);
        paper.extend(&handshake, 0, options(crypto));
        paper.client.extend(&handshake, handshake.public(&relay), &paper::next(1), options(crypto), paper.now).unwrap();
        is_refused(paper.client.upgrade(&MlKem768::new(), paper.now));
    }
}

#[test]
fn a_relay_that_does_not_answer_an_upgrade_is_named_in_time() {
    for late in [false, true] {
        let mut paper = three(Crypto::Cgo);
        paper.upgrades = Some(Vec::new());
        begin_upgrade(&mut paper);
        paper.run();
        let deadline = paper.client.deadline().unwrap();
        assert_eq!(deadline, paper.now + Limits::default().build);
        match late {
            true => {
                paper.client.tick(deadline);
                paper.run();
                assert_eq!(paper.failure(), Failure { hop: Some(3), cause: Cause::Timeout });
            }
            false => {
                paper.client.tick(deadline - Duration::from_nanos(1));
                paper.upgrade();
                assert_eq!((paper.client.is_upgraded(), paper.client.deadline()), (true, None));
            }
        }
    }
}

/// Who has the handshake's keys, as somebody has who has recorded the cells and broken X25519, follows the layer up to each end's last cell under the old keys
/// and no further. Who has the new ones reads on from there with a layer that has just been made: no digest, nonce or tag of the old one goes on.
#[test]
fn keys_of_the_handshake_read_no_cell_behind_the_upgrade() {
    for crypto in CRYPTOS {
        let (mut circuit, mut relay) = client_and_relay(crypto, true, true);
        let (mut of_client, mut of_relay) = (relay.recorder(true), relay.recorder(false));
        circuit.upgrade(&MlKem768::new(), std::time::Instant::now()).unwrap();
        let cells = circuit.sent();
        let request = relay.read_all(&cells).unwrap();
        assert_eq!(of_client.read_all(&cells), Some(request.clone()), "it sees the public key");
        let (reply, upgraded) = relay.answer(&request.1);
        let [out, back] = crypto.fresh(&upgraded.keys).unwrap();
        let cells = relay.cells(RelayCommand::UPGRADED, 0, &reply);
        assert_eq!(of_relay.read_all(&cells).unwrap().1, reply);
        relay.replace(&back);
        circuit.deliver(cells);
        let cells = circuit.sent();
        assert_eq!(circuit.news(), Some(ClientAction::Upgraded { hop: 1 }));
        let confirmation = relay.read_all(&cells).unwrap();
        assert_eq!(confirmation, (RelayCommand::UPGRADED, upgraded.confirmation.as_bytes().to_vec()));
        assert!(of_client.read_all(&cells).is_some());
        relay.replace(&out);

        circuit.begin(&candor_onion::relay::message::Begin::new("a.test", 80).unwrap()).unwrap();
        let cells = circuit.sent();
        assert_eq!(relay.read_all(&cells).unwrap().0, RelayCommand::BEGIN);
        assert_eq!(of_client.read_all(&cells), None, "{crypto:?}: the old keys read what the client sends");
        let mut anew = [true, false].map(|of_client| Hand::reader(crypto, &upgraded.keys, of_client));
        assert_eq!(
            anew[0].read_all(&cells).unwrap().0,
            RelayCommand::BEGIN,
            "{crypto:?}: something of the old layer goes on"
        );
        let cells = relay.cells(RelayCommand::END, 1, &[1]);
        assert_eq!(of_relay.read_all(&cells), None, "{crypto:?}: the old keys read what the relay sends");
        assert_eq!(
            anew[1].read_all(&cells).unwrap().0,
            RelayCommand::END,
            "{crypto:?}: something of the old layer goes on"
        );
        circuit.deliver(cells);
        assert!(matches!(circuit.news(), Some(ClientAction::Ended { .. })));
    }
}

/// A damaged UPGRADE ends the circuit at the relay; the undamaged one, in the same place, is answered.
#[test]
fn a_relay_refuses_an_upgrade_that_is_damaged_or_out_of_turn() {
    let good = || Upgrade::new(MlKem768::new()).unwrap().start().unwrap().1;
    type Damage = fn(&mut Vec<u8>);
    // A coefficient has twelve bits, the low ones first; q is 0xd01.
    let damages: [(&str, bool, Damage); 9] = [
        ("none", true, |_| {}),
        ("suite", false, |body| body[0] ^= 1),
        ("short", false, |body| body.truncate(1184)),
        ("long", false, |body| body.push(0)),
        ("empty", false, Vec::clear),
        ("first coefficient is q", false, |body| (body[1], body[2]) = (0x01, body[2] & 0xf0 | 0x0d)),
        ("first coefficient is below q", true, |body| (body[1], body[2]) = (0x00, body[2] & 0xf0 | 0x0d)),
        ("last coefficient is above q", false, |body| body[1152] = 0xd1),
        ("last coefficient is below q", true, |body| body[1152] = 0xcf),
    ];
    for crypto in CRYPTOS {
        for (what, is_good, damage) in damages {
            let (mut relay, mut client) = relay_and_client(crypto, true, true);
            let mut body = good();
            damage(&mut body);
            hand::give(&mut relay, client.cells(RelayCommand::UPGRADE, 0, &body));
            assert_eq!(relay.is_closed(), !is_good, "{crypto:?}: {what}");
        }
        // One whose parts are not all under the same command, and one on a stream.
        let (mut relay, mut client) = relay_and_client(crypto, true, true);
        let mut cells = client.cells(RelayCommand::UPGRADE, 0, &good());
        cells.truncate(1);
        hand::give(&mut relay, cells);
        assert!(relay.unfinished() > 0 && relay.deadline().is_some());
        if crypto == Crypto::Tor1 {
            hand::give(&mut relay, client.cells(RelayCommand::DROP, 0, b""));
            assert!(relay.is_closed());
            // In V1 a message of this kind has no stream.
            for stream in [0, 7] {
                let (mut relay, mut client) = relay_and_client(crypto, true, true);
                hand::give(&mut relay, client.cells(RelayCommand::UPGRADE, stream, &good()));
                assert_eq!(relay.is_closed(), stream != 0);
            }
        }
        // Not agreed to: nobody asked, or the relay has none.
        for (asked, has) in [(false, true), (true, false)] {
            let (mut relay, mut client) = relay_and_client(crypto, asked, has);
            hand::give(&mut relay, client.cells(RelayCommand::UPGRADE, 0, &good()));
            assert!(relay.is_closed(), "{crypto:?}: {asked} {has}");
        }
    }
}

#[test]
fn a_relay_takes_one_upgrade_and_its_confirmation_once() {
    let good = || Upgrade::new(MlKem768::new()).unwrap().start().unwrap();
    for crypto in CRYPTOS {
        // Again while the work is under way, after its end, and after the whole upgrade.
        for moment in 0..4 {
            let (mut relay, mut client) = relay_and_client(crypto, true, true);
            let (waiting, request) = good();
            let job = hand::give_until_job(&mut relay, client.cells(RelayCommand::UPGRADE, 0, &request)).unwrap();
            if moment > 0 {
                relay.upgrade(job.run(&MlKem768::new()));
                let (_, reply) = client.read_all(&hand::drain(&mut relay).0).unwrap();
                let upgraded = waiting.finish(client.chain(), &reply).unwrap();
                let [out, back] = crypto.fresh(&upgraded.keys).unwrap();
                client.replace(&back);
                if moment > 1 {
                    let confirmation = client.cells(RelayCommand::UPGRADED, 0, upgraded.confirmation.as_bytes());
                    hand::give(&mut relay, confirmation);
                    client.replace(&out);
                }
            }
            assert!(!relay.is_closed(), "{crypto:?}, {moment}");
            match moment {
                3 => {
                    // The twin: something else in its place.
                    hand::give(&mut relay, client.cells(RelayCommand::BEGIN, 1, b"a.test:80\0\0\0\0\0"));
                    assert!(!relay.is_closed());
                    hand::give(&mut relay, client.cells(RelayCommand::UPGRADED, 0, &[0; 32]));
                }
                _ => drop(hand::give_until_job(&mut relay, client.cells(RelayCommand::UPGRADE, 0, &good().1))),
            }
            assert!(relay.is_closed(), "{crypto:?}, {moment}");
        }
        // A confirmation before anything was asked.
        let (mut relay, mut client) = relay_and_client(crypto, true, true);
        hand::give(&mut relay, client.cells(RelayCommand::UPGRADED, 0, &[0; 32]));
        assert!(relay.is_closed());
    }
}

#[test]
fn every_bit_of_the_confirmation_counts() {
    for crypto in CRYPTOS {
        // 32 and 33 change the length, 34 names a stream, where a message can.
        let last = if crypto == Crypto::Tor1 { 34 } else { 33 };
        for flip in std::iter::once(None).chain((0..=last).map(Some)) {
            let (mut relay, mut client) = relay_and_client(crypto, true, true);
            let (waiting, request) = Upgrade::new(MlKem768::new()).unwrap().start().unwrap();
            let cells = hand::give(&mut relay, client.cells(RelayCommand::UPGRADE, 0, &request));
            let (_, reply) = client.read_all(&cells).unwrap();
            let upgraded = waiting.finish(client.chain(), &reply).unwrap();
            let mut body = upgraded.confirmation.as_bytes().to_vec();
            match flip {
                None => {}
                Some(32) => body.push(0),
                Some(33) => body.truncate(31),
                Some(34) => {}
                Some(byte) => body[byte] ^= 1 << (byte % 8),
            }
            let stream = if flip == Some(34) { 7 } else { 0 };
            hand::give(&mut relay, client.cells(RelayCommand::UPGRADED, stream, &body));
            assert_eq!(relay.is_closed(), flip.is_some(), "{crypto:?}: {flip:?}");
        }
    }
}

#[test]
fn a_relay_that_is_not_the_last_is_not_upgraded_and_extends_nothing_meanwhile() {
    for crypto in CRYPTOS {
        let mut cases = 0;
        for order in ["extend, then upgrade", "upgrade, then extend", "upgrade"] {
            let (mut relay, mut client) = relay_and_client(crypto, true, true);
            let (_, request) = Upgrade::new(MlKem768::new()).unwrap().start().unwrap();
            for word in order.split(", then ") {
                let job = match word {
                    "upgrade" => hand::give_until_job(&mut relay, client.cells(RelayCommand::UPGRADE, 0, &request)),
                    _ => hand::give_until_job(&mut relay, client.early(RelayCommand::EXTEND2, &asked())),
                };
                cases += usize::from(job.is_some());
            }
            assert_eq!(relay.is_closed(), order != "upgrade", "{crypto:?}: {order}");
        }
        assert_eq!(cases, 2);
    }
}

#[test]
fn a_client_refuses_an_answer_that_nobody_asked_for_or_that_comes_from_another_hop() {
    let out_of_turn = PeerMisbehaved::UpgradeOutOfTurn { command: RelayCommand::UPGRADED };
    let unexpected = PeerMisbehaved::MessageUnexpected { command: RelayCommand::UPGRADED };
    for crypto in CRYPTOS {
        for (agrees, why) in [(true, out_of_turn), (false, unexpected)] {
            let (mut circuit, mut relay) = client_and_relay(crypto, true, agrees);
            circuit.deliver(relay.cells(RelayCommand::UPGRADED, 0, &[0; 32]));
            let cause = Cause::Protocol(why.into());
            assert_eq!(circuit.failure(), Some(Failure { hop: Some(1), cause }), "{crypto:?}");
        }
        // UPGRADE is the client's.
        let (mut circuit, mut relay) = client_and_relay(crypto, true, true);
        circuit.deliver(relay.cells(RelayCommand::UPGRADE, 0, &[0; 32]));
        let cause = Cause::Protocol(PeerMisbehaved::MessageUnexpected { command: RelayCommand::UPGRADE }.into());
        assert_eq!(circuit.failure(), Some(Failure { hop: Some(1), cause }));

        // A second hop stands behind the one that we move by hand, and is to be upgraded.
        for from_the_first in [true, false] {
            let (mut circuit, mut relay) = client_and_relay(crypto, true, true);
            let mut second = relay.extend(&mut circuit, crypto);
            circuit.upgrade(&MlKem768::new(), std::time::Instant::now()).unwrap();
            if from_the_first {
                circuit.sent();
                circuit.deliver(relay.cells(RelayCommand::UPGRADED, 0, &[0; 32]));
                let cause = Cause::Protocol(PeerMisbehaved::HopUnexpected { hop: 1 }.into());
                assert_eq!(circuit.failure(), Some(Failure { hop: Some(1), cause }));
            } else {
                let (_, request) = second.read_all(&relay.pass_on(circuit.sent())).unwrap();
                let (reply, _) = second.answer(&request);
                let cells = second.cells(RelayCommand::UPGRADED, 0, &reply);
                circuit.deliver(relay.pass_back(cells));
                assert!(circuit.is_upgraded());
            }
        }
    }
}

/// Whatever is changed in the answer, the client sees by AUTH_R. Lengths it sees by themselves.
#[test]
fn every_byte_of_the_answer_and_of_the_request_counts() {
    let (keys, others) = (hand::keys(), hand::keys());
    let chain = |keys: &Keys, crypto: Crypto| Chain::new(keys, crypto.name(), crypto.key_length()).unwrap();
    let upgrade = Upgrade::new(MlKem768::new()).unwrap();
    let run = |at_relay: &dyn Fn(&mut Vec<u8>), at_client: &dyn Fn(&mut Vec<u8>), relays: Chain| {
        let (waiting, mut request) = upgrade.start().unwrap();
        at_relay(&mut request);
        let (mut reply, theirs) = upgrade.answer(&request)?.finish(relays);
        at_client(&mut reply);
        let ours = waiting.finish(chain(&keys, Crypto::Cgo), &reply)?;
        assert_eq!(ours.keys.expand(160), theirs.keys.expand(160));
        theirs.confirmation.check(ours.confirmation.as_bytes())
    };
    let nothing: &dyn Fn(&mut Vec<u8>) = &|_| {};
    let same = || chain(&keys, Crypto::Cgo);
    assert_eq!(run(nothing, nothing, same()), Ok(()));
    for byte in 0..Upgrade::<MlKem768>::REPLY {
        let flip = move |body: &mut Vec<u8>| body[byte] ^= 1 << (byte % 8);
        assert_eq!(run(nothing, &flip, same()), Err(Error::Confirmation), "byte {byte} of the answer");
    }
    for byte in 0..Upgrade::<MlKem768>::REQUEST {
        let flip = move |body: &mut Vec<u8>| body[byte] ^= 1 << (byte % 8);
        let refused = run(&flip, nothing, same());
        let suite = PeerMisbehaved::UpgradeSuite { expected: 0x68, got: 0x69 };
        match byte {
            0 => assert_eq!(refused, Err(suite.into())),
            // A coefficient that is not below q is the relay's to refuse.
            _ => assert!(
                matches!(refused, Err(Error::Confirmation | Error::Kem(KemError::PublicKey))),
                "byte {byte}: {refused:?}"
            ),
        }
    }
    // Without the circuit's own keys, or with those of another kind of layer.
    assert_eq!(run(nothing, nothing, chain(&others, Crypto::Cgo)), Err(Error::Confirmation));
    assert_eq!(run(nothing, nothing, chain(&keys, Crypto::Tor1)), Err(Error::Confirmation));
    let layer = Chain::new(&keys, Crypto::Tor1.name(), Crypto::Cgo.key_length()).unwrap();
    assert_eq!(run(nothing, nothing, layer), Err(Error::Confirmation));
    for length in [0, 32, 1119, 1121] {
        let resize = move |body: &mut Vec<u8>| body.resize(length, 0);
        let expected = Error::Length { what: "UPGRADED", expected: 1120, at_least: false, got: length };
        assert_eq!(run(nothing, &resize, same()), Err(expected));
    }
    assert_eq!(Upgrade::new(candor_primitives::kem::ml_kem::MlKem512::new()).unwrap_err(), Error::NoNumber);
}

/// A wrong answer closes the client's circuit before it has sent anything under new keys.
#[test]
fn a_client_that_gets_a_wrong_answer_ends_the_circuit() {
    for crypto in CRYPTOS {
        for damaged in [true, false] {
            let (mut circuit, mut relay) = client_and_relay(crypto, true, true);
            circuit.upgrade(&MlKem768::new(), std::time::Instant::now()).unwrap();
            let (_, request) = relay.read_all(&circuit.sent()).unwrap();
            let (mut reply, _) = relay.answer(&request);
            reply[700] ^= u8::from(damaged);
            circuit.deliver(relay.cells(RelayCommand::UPGRADED, 0, &reply));
            let failure = Failure { hop: Some(1), cause: Cause::Handshake(Error::Confirmation) };
            match damaged {
                true => {
                    assert_eq!(circuit.sent(), [Message::Destroy(DestroyReason::PROTOCOL)]);
                    assert_eq!(circuit.failure(), Some(failure));
                }
                false => assert!(circuit.is_upgraded()),
            }
        }
    }
}

/// Cells that are changed on the way end the circuit, whichever message of the upgrade they hold.
#[test]
fn a_cell_of_an_upgrade_that_is_changed_on_the_way_ends_the_circuit() {
    for crypto in CRYPTOS {
        for (way, cells) in [(Way::Out, 4), (Way::In, 3)] {
            for nth in 0..=cells {
                let mut paper = three(crypto);
                let mut seen = 0;
                paper.wiretap = Some(Box::new(move |link, going, mut message| {
                    if let (true, Message::Relay(payload)) = ((link, going) == (1, way), &mut message) {
                        payload[250] ^= u8::from(seen == nth);
                        seen += 1;
                    }
                    vec![message]
                }));
                begin_upgrade(&mut paper);
                paper.run();
                // There is no cell of that number in the twin.
                assert_eq!(paper.client.is_closed(), nth < cells, "{crypto:?} {way:?} {nth}");
                assert!(paper.client.is_closed() || paper.client.is_upgraded());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However much is in flight at each moment, nothing is lost where the keys change.
    #[test]
    fn an_upgrade_at_any_moment_loses_nothing(
        cgo: bool,
        ahead in 0..60_000usize,
        meanwhile in 0..60_000usize,
        behind in 0..60_000usize,
    ) {
        let mut paper = three(if cgo { Crypto::Cgo } else { Crypto::Tor1 });
        let stream = paper.begin();
        let (mut sent, mut back) = (Vec::new(), Vec::new());
        let mut put = |paper: &mut Paper, seed, length| {
            let data = bytes(seed, length);
            let taken = paper.client.send(stream, &data, paper.now).unwrap();
            sent.extend_from_slice(&data[..taken]);
        };
        put(&mut paper, 1, ahead);
        paper.upgrades = Some(Vec::new());
        begin_upgrade(&mut paper);
        put(&mut paper, 2, meanwhile);
        collect(&mut paper, &mut back);
        put(&mut paper, 3, behind);
        paper.upgrade();
        put(&mut paper, 4, behind);
        collect(&mut paper, &mut back);
        prop_assert!(paper.client.is_upgraded());
        prop_assert!(back == sent);
    }

    /// No message from anywhere is taken for an answer, and a relay answers what has a good key.
    #[test]
    fn strange_messages_are_refused(request in prop::collection::vec(any::<u8>(), 0..1300), reply in prop::collection::vec(any::<u8>(), 0..1300)) {
        let upgrade = Upgrade::new(MlKem768::new()).unwrap();
        prop_assert!(upgrade.answer(&request).is_err(), "random coefficients are not all below q");
        let (waiting, good) = upgrade.start().unwrap();
        prop_assert!(upgrade.answer(&good).is_ok());
        let keys = hand::keys();
        prop_assert!(waiting.finish(Chain::new(&keys, "cgo", 160).unwrap(), &reply).is_err());
    }
}
