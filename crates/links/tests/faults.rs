//! Circuits under faults: what must hold does, and each planted mistake is noticed.

use candor_links::faults::{
    Fault, FloodKind, Line, Outcome, Plant, Report, Row, Scenario, Sizes, Spot, Violation, What, Why, explore, run,
};
use candor_links::simulator::Cryptography;
use candor_onion::circuit::Limits;
use candor_onion::layer::Crypto;
use std::collections::BTreeSet;
use std::time::Duration;

/// How many scenarios the gate carries out.
const SCENARIOS: u64 = 200;

#[test]
fn what_must_hold_does_in_two_hundred_scenarios() {
    let exploration = explore(1, 0, SCENARIOS, &|| ());
    if let Some(found) = exploration.found {
        panic!("{}\n{}\n{:?}", found.scenario, found.report.trace, found.report.violation);
    }
    // They would hold in none as well.
    let mut all = Row::default();
    exploration.rows.values().for_each(|row| all.merge(row));
    assert_eq!((all.scenarios, exploration.scenarios), (SCENARIOS, SCENARIOS));
    assert!(exploration.rows.len() > 20, "kinds of faults: {:?}", exploration.rows.keys());
    assert!(all.missed > 10 && all.recovered > 30 && all.not_built > 10 && all.ended > 10, "{all:?}");
    assert!(all.hops.iter().all(|hops| *hops > 3), "every hop is named, and none: {:?}", all.hops);
}

#[test]
fn scenarios_have_every_handshake_layer_and_cryptography() {
    let drawn: Vec<_> = (0..SCENARIOS).map(|number| Scenario::draw(1, number)).collect();
    let kinds = |real| {
        let of = drawn.iter().filter(|scenario| (scenario.cryptography == Cryptography::Real) == real);
        of.map(|scenario| format!("{} {}", scenario.handshake, scenario.crypto.name())).collect::<BTreeSet<_>>()
    };
    // ntor leads to tor1 alone.
    assert_eq!((kinds(true).len(), kinds(false).len()), (7, 7));
    assert!(drawn.iter().any(|scenario| scenario.crypto == Crypto::Cgo && scenario.bystander && scenario.cold));
}

#[test]
fn the_exits_layer_is_upgraded_before_the_streams_or_beside_them_and_everything_arrives() {
    let mut seen = BTreeSet::new();
    for number in 0..60 {
        let scenario = Scenario::draw(1, number).undamaged();
        let report = run(&scenario, None, true);
        assert_eq!((report.violation, report.outcome), (None, Some(Outcome::Delivered)), "{scenario}");
        let trace = &report.trace;
        assert_eq!(trace.contains("client 0: hop 3 is upgraded"), scenario.upgrade.is_some(), "{scenario}");
        let kind = scenario.upgrade.map(|when| format!("{when:?} {}", scenario.crypto.name()));
        seen.extend(kind);
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn a_seed_and_a_number_are_one_scenario_and_its_events() {
    let report = |seed, number| run(&Scenario::draw(seed, number), None, true);
    assert_eq!(report(3, 5), report(3, 5));
    assert_ne!(report(3, 5).digest, report(3, 6).digest);
    assert_ne!(report(3, 5).digest, report(4, 5).digest);
}

/// Runs scenarios with a mistake until one violates what `is_it` wants; the same scenario without it violates nothing.
fn found(plant: Plant, is_it: impl Fn(&Violation) -> bool) {
    let mut others = BTreeSet::new();
    for number in 0..400 {
        let scenario = Scenario::draw(1, number);
        match run(&scenario, Some(plant), false).violation {
            Some(violation) if is_it(&violation) => {
                assert_eq!(run(&scenario, None, false).violation, None, "without {plant:?}");
                return;
            }
            other => others.extend(other.map(|violation| violation.to_string())),
        }
    }
    panic!("{plant:?} was not noticed, but {others:?}");
}

macro_rules! mistakes {
    ($($name:ident: $($plant:ident)|+ => $violation:pat,)+) => {
        $(#[test]
        fn $name() {
            $(found(Plant::$plant, |violation| matches!(violation, $violation));)+
        })+

        #[test]
        fn every_mistake_has_its_test() {
            let tested = [Plant::Hoard, Plant::Unfair, $($(Plant::$plant,)+)+];
            assert!(Plant::ALL.iter().all(|plant| tested.contains(plant)));
        }
    };
}

mistakes! {
    a_lost_piece_is_noticed: Lose => Violation::Altered { .. } | Violation::Short { .. },
    a_repeated_piece_is_noticed: Repeat => Violation::Altered { .. } | Violation::TooMany { .. },
    an_altered_byte_is_noticed: Alter => Violation::Altered { .. },
    bytes_that_nobody_sent_are_noticed: Forge => Violation::Forged { .. },
    a_stream_that_ends_early_is_noticed: EndEarly => Violation::Short { .. },
    plaintext_on_a_link_is_noticed: Plaintext => Violation::Plaintext { .. },
    a_client_that_never_gives_up_is_noticed: WaitForever => Violation::Waits { .. } | Violation::Forever { .. },
    events_without_end_are_noticed: Spin => Violation::Livelock,
    an_error_without_its_hop_is_noticed: Nameless => Violation::Unnamed { .. },
    a_queue_without_a_bound_is_noticed: LongQueue => Violation::Memory { what: "handshakes that wait at a relay", .. },
    circuits_that_are_not_forgotten_are_noticed: Forget => Violation::Kept { .. },
    others_that_suffer_are_noticed: Neighbours => Violation::Suffered { .. },
    what_no_seed_determines_is_noticed: Drift => Violation::Differs,
    a_panic_is_noticed: Panic => Violation::Panicked { .. },
}

#[test]
fn bytes_beyond_the_window_are_noticed() {
    let mut scenario = Scenario::draw(1, 0);
    (scenario.streams, scenario.crypto) = (vec![Sizes { up: 0, down: 1_000_000 }; 3], Crypto::Tor1);
    scenario.lines.iter_mut().for_each(|line| *line = Line { delay: Duration::from_millis(5), rate: 100_000_000 });
    let limits = Limits { streams: 4, unread: 10_000, circuit_unread: 20_000, ..Limits::default() };
    let what = What::ClientStops { time: Duration::from_secs(8) };
    let faults = vec![Fault { what, spot: Spot { link: 0, outward: false }, cell: 40 }];
    let scenario = Scenario { limits, faults, ..scenario };
    let violated = run(&scenario, Some(Plant::Hoard), false).violation;
    let of_bytes = matches!(violated, Some(Violation::Memory { what: "bytes of a circuit that nobody has read", .. }));
    assert!(of_bytes, "{violated:?}");
    let report = run(&scenario, None, false);
    assert_eq!((report.violation, report.struck, report.outcome), (None, 1, Some(Outcome::Delivered)));
}

#[test]
fn a_client_that_a_flood_keeps_out_is_noticed() {
    let mut scenario = Scenario::draw(1, 0);
    // The creation at the exit comes while its queue is full.
    scenario.lines.iter_mut().for_each(|line| *line = Line { delay: Duration::from_millis(30), rate: 10_000_000 });
    let what = What::Flood { relay: 2, creations: 550, kind: FloodKind::Noise };
    let faults = vec![Fault { what, spot: Spot { link: 0, outward: true }, cell: 1 }];
    let scenario = Scenario { faults, ..scenario };
    let violated = run(&scenario, Some(Plant::Unfair), false).violation;
    assert!(matches!(violated, Some(Violation::Suffered { client: 0, .. })), "{violated:?}");
    let report = run(&scenario, None, false);
    assert_eq!((report.violation, report.struck, report.outcome), (None, 1, Some(Outcome::Delivered)));
}

/// The first scenario of a seed that downloads something, with that fault alone.
fn with(what: What, spot: Spot, cell: u32) -> Report {
    let drawn = (0..).map(|number| Scenario::draw(2, number));
    let mut scenario =
        drawn.into_iter().find(|scenario| scenario.streams.iter().any(|sizes| sizes.down > 30_000)).unwrap();
    scenario.faults = vec![Fault { what, spot, cell }];
    let report = run(&scenario, None, false);
    assert_eq!((report.violation.clone(), report.struck), (None, 1), "{scenario}");
    report
}

#[test]
fn a_link_that_heals_loses_nothing_and_one_that_does_not_is_named() {
    let spot = Spot { link: 1, outward: false };
    let healed = with(What::Partition { time: Some(Duration::from_secs(2)) }, spot, 20);
    assert_eq!(healed.outcome, Some(Outcome::Delivered));
    let cut = with(What::Partition { time: None }, spot, 20);
    assert!(matches!(cut.outcome, Some(Outcome::Ended { hop: Some(2), is_built: true, .. })), "{:?}", cut.outcome);
    assert!(cut.time > Duration::from_secs(20) && healed.time < Duration::from_secs(20));
}

#[test]
fn a_relay_that_dies_is_named_whichever_it_is() {
    for relay in 0..3 {
        let spot = Spot { link: relay, outward: false };
        let report = with(What::Kill { relay, bytes: 100 }, spot, 20);
        // Its neighbour says so; otherwise the client would find out after twenty seconds.
        let Some(Outcome::Ended { hop, why: Why::Circuit(_), .. }) = report.outcome else {
            panic!("{relay}: {:?}", report.outcome)
        };
        assert_eq!(hop, Some(relay + 1));
    }
}
