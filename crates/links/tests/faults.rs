//! Circuits under faults: what must hold does, and each planted mistake is noticed.

use candor_links::faults::{
    End, Fault, FloodKind, Garbage, Hurt, Kept, Line, Outcome, Plant, Report, Row, Scenario, Sizes, Spot, Violation,
    What, Why, Work, explore, run,
};
use candor_links::simulator::Cryptography;
use candor_onion::circuit::Limits;
use candor_onion::handshake::HandshakeType;
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
    for number in 0..1500 {
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
    ($($name:ident: $($plant:expr),+ => $violation:pat,)+) => {
        $(#[test]
        fn $name() {
            $(found($plant, |violation| matches!(violation, $violation));)+
        })+

        /// What the tests above plant in scenarios that are drawn.
        const DRAWN: &[Plant] = &[$($($plant),+),+];
    };
}

mistakes! {
    a_lost_piece_is_noticed: Plant::Lose(End::Client), Plant::Lose(End::Exit) => Violation::Altered { .. } | Violation::Short { .. },
    a_repeated_piece_is_noticed: Plant::Repeat(End::Client), Plant::Repeat(End::Exit) => Violation::Altered { .. } | Violation::TooMany { .. },
    an_altered_byte_is_noticed: Plant::Alter(End::Client), Plant::Alter(End::Exit) => Violation::Altered { .. },
    bytes_that_nobody_sent_are_noticed: Plant::Forge(End::Client), Plant::Forge(End::Exit) => Violation::Forged { .. },
    a_stream_that_ends_early_for_the_client_is_noticed: Plant::EndEarly(End::Client) => Violation::Short { way: "to the client", .. },
    a_stream_that_ends_early_for_the_target_is_noticed: Plant::EndEarly(End::Exit) => Violation::Short { way: "to the target", .. },
    plaintext_on_a_link_is_noticed: Plant::Plaintext(End::Exit) => Violation::Plaintext { link: "middle-exit" },
    plaintext_on_the_link_of_a_client_is_noticed: Plant::Plaintext(End::Client) => Violation::Plaintext { link: "client-guard" },
    a_client_that_never_gives_up_is_noticed: Plant::WaitForever => Violation::Waits { .. } | Violation::Forever { .. },
    events_without_end_are_noticed: Plant::Spin => Violation::Livelock,
    work_without_end_within_an_event_is_noticed: Plant::Churn(Work::Client), Plant::Churn(Work::Relay), Plant::Churn(Work::Links) => Violation::Livelock,
    an_error_without_its_hop_is_noticed: Plant::Nameless => Violation::Unnamed { .. },
    an_error_with_another_hop_is_noticed: Plant::Misname => Violation::Unnamed { .. },
    a_queue_of_cells_without_a_bound_is_noticed: Plant::Pile => Violation::Memory { what: "cells of a circuit in a link's queue", .. },
    a_queue_without_a_bound_is_noticed: Plant::LongQueue => Violation::Memory { what: "handshakes that wait at a relay", .. },
    cells_that_are_never_finished_are_noticed: Plant::Unfinished => Violation::Memory { what: "bytes of an unfinished cell", .. },
    streams_that_are_not_forgotten_are_noticed: Plant::Forget(Kept::Streams) => Violation::Kept { what: "streams", .. },
    circuits_that_are_not_forgotten_are_noticed: Plant::Forget(Kept::Circuits) => Violation::Kept { what: "circuits", .. },
    numbers_that_are_not_forgotten_are_noticed: Plant::Forget(Kept::Numbers) => Violation::Kept { what: "circuit numbers", .. },
    handshakes_that_are_not_forgotten_are_noticed: Plant::Forget(Kept::Handshakes) => Violation::Kept { what: "handshakes", .. },
    cells_that_are_not_forgotten_are_noticed: Plant::Forget(Kept::Cells) => Violation::Kept { what: "queues of cells", .. },
    others_that_suffer_are_noticed: Plant::Neighbours => Violation::Suffered { client: 1, .. },
    what_no_seed_determines_is_noticed: Plant::Drift => Violation::Differs,
    a_panic_is_noticed: Plant::Panic => Violation::Panicked { .. },
}

/// What is planted in scenarios that are made for it.
const MADE: [Plant; 10] = [
    Plant::GiveUpLate,
    Plant::Hoard(End::Client),
    Plant::Hoard(End::Exit),
    Plant::ManyCircuits,
    Plant::Unfair,
    Plant::Hurt(Hurt::Nothing),
    Plant::Hurt(Hurt::Padding),
    Plant::Hurt(Hurt::ClientReads),
    Plant::Hurt(Hurt::TargetReads),
    Plant::Hurt(Hurt::Outage),
];

#[test]
fn every_mistake_has_its_test() {
    for plant in Plant::ALL {
        assert!(DRAWN.contains(&plant) || MADE.contains(&plant), "{plant:?}");
    }
    assert_eq!(DRAWN.len() + MADE.len(), Plant::ALL.len());
}

/// A scenario with alike links, and with one fault or none.
fn made(line: (u64, u64), sizes: Sizes, fault: Option<(What, Spot, u32)>) -> Scenario {
    let (delay, rate) = (Duration::from_millis(line.0), line.1 * 1_000_000);
    let faults = fault.map(|(what, spot, cell)| Fault { what, spot, cell }).into_iter().collect();
    Scenario { lines: [Line { delay, rate }; 3], streams: vec![sizes], faults, ..Scenario::draw(1, 0) }
}

/// With the mistake the scenario violates what `is_it` wants. Without it nothing is violated, the faults strike, and everything arrives if `arrives`.
fn noticed(scenario: &Scenario, plant: Plant, arrives: bool, is_it: impl Fn(&Violation) -> bool) {
    let violated = run(scenario, Some(plant), false).violation;
    assert!(violated.as_ref().is_some_and(is_it), "{plant:?} in {scenario}: {violated:?}");
    let report = run(scenario, None, false);
    let got = (report.violation, report.struck, report.outcome == Some(Outcome::Delivered));
    assert_eq!(got, (None, scenario.faults.len(), arrives), "{scenario}");
}

/// A client does not have everything, although it must, because of this.
fn suffers(because: &'static str) -> impl Fn(&Violation) -> bool {
    move |violation| matches!(violation, Violation::Suffered { why, .. } if *why == because)
}

fn narrow() -> Limits {
    Limits { streams: 4, unread: 10_000, circuit_unread: 20_000, ..Limits::default() }
}

const OUT: Spot = Spot { link: 0, outward: true };
const IN: Spot = Spot { link: 0, outward: false };
const SOME: Sizes = Sizes { up: 20_000, down: 60_000 };

#[test]
fn a_client_that_gives_up_late_is_noticed() {
    // The kernel of a relay that stands still acknowledges all there is. Nothing happens then until the client looks.
    let scenario = made((5, 10), SOME, Some((What::Freeze { relay: 0, time: None }, IN, 20)));
    noticed(&scenario, Plant::GiveUpLate, false, |violation| matches!(violation, Violation::Waits { client: 0, .. }));
}

#[test]
fn bytes_beyond_the_window_are_noticed_at_either_end() {
    let time = Duration::from_secs(8);
    let large = 1_000_000;
    for (end, what, spot, up, down) in [
        (End::Client, What::ClientStops { time }, IN, 0, large),
        (End::Exit, What::TargetStops { time: Some(time) }, OUT, large, 0),
    ] {
        let streams = vec![Sizes { up, down }; 3];
        let scenario = made((5, 100), SOME, Some((what, spot, 40)));
        let scenario = Scenario { streams, limits: narrow(), crypto: Crypto::Tor1, ..scenario };
        noticed(&scenario, Plant::Hoard(end), true, |violation| {
            matches!(violation, Violation::Memory { what: "bytes of a circuit that nobody has read", .. })
        });
    }
}

#[test]
fn circuits_of_a_link_beyond_their_bound_are_noticed() {
    let what = What::Flood { relay: 1, creations: 550, kind: FloodKind::Good };
    let scenario = Scenario { handshake: HandshakeType::NtorV3, ..made((5, 10), SOME, Some((what, OUT, 1))) };
    noticed(&scenario, Plant::ManyCircuits, true, |violation| {
        matches!(violation, Violation::Memory { what: "circuits of a link", .. })
    });
}

#[test]
fn a_client_that_a_flood_keeps_out_is_noticed() {
    // The creation at the exit comes while its queue is full.
    let what = What::Flood { relay: 2, creations: 550, kind: FloodKind::Noise };
    let scenario = made((30, 10), SOME, Some((what, OUT, 1)));
    noticed(&scenario, Plant::Unfair, true, suffers("what went wrong concerned no cell of it"));
}

#[test]
fn a_client_that_nothing_hurts_is_noticed() {
    noticed(&made((5, 10), SOME, None), Plant::Hurt(Hurt::Nothing), true, suffers("nothing went wrong"));
}

#[test]
fn a_client_that_what_is_harmless_hurts_is_noticed() {
    let time = Duration::from_secs(1);
    let inward = Spot { link: 1, outward: false };
    for (hurt, what, spot) in [
        (Hurt::Padding, What::Garbage(Garbage::Padding { cells: 3 }), inward),
        (Hurt::ClientReads, What::ClientStops { time }, IN),
        (Hurt::TargetReads, What::TargetStops { time: Some(time) }, IN),
    ] {
        // More than what arrives while nobody reads.
        let sizes = Sizes { up: 20_000, down: 1_000_000 };
        let scenario = Scenario { limits: narrow(), ..made((5, 10), sizes, Some((what, spot, 20))) };
        noticed(&scenario, Plant::Hurt(hurt), true, suffers("what went wrong concerned no cell of it"));
    }
}

/// Outages that a circuit outlives: while it is built (`false`), and once it is open.
fn outages(is_open: bool) -> [What; 5] {
    let time = Some(Duration::from_secs(if is_open { 8 } else { 4 }));
    let delay = Duration::from_millis(1500);
    [
        What::Silence { relay: 1, time },
        What::Freeze { relay: 1, time: Some(Duration::from_secs(if is_open { 18 } else { 7 })) },
        What::Partition { time },
        What::Slow { rate: 100_000, delay, time },
        What::Loss { percent: 40, time },
    ]
}

#[test]
fn a_client_that_a_short_outage_hurts_is_noticed_whatever_the_outage() {
    let sizes = Sizes { up: 20_000, down: 600_000 };
    for what in outages(true) {
        let scenario = made((20, 10), sizes, Some((what, Spot { link: 1, outward: false }, 20)));
        noticed(&scenario, Plant::Hurt(Hurt::Outage), true, suffers("what went wrong was soon over"));
    }
}

#[test]
fn a_circuit_outlives_the_longest_outages_that_it_must_at_every_stage() {
    for (is_open, cells) in [(false, 1..6), (true, 20..23)] {
        for what in outages(is_open) {
            assert!(what.is_outlived(is_open), "{what}");
            for cell in cells.clone() {
                for spot in [(1, true), (1, false), (2, true)].map(|(link, outward)| Spot { link, outward }) {
                    let scenario = Scenario { cold: cell % 2 == 0, ..made((60, 2), SOME, Some((what, spot, cell))) };
                    let report = run(&scenario, None, false);
                    assert_eq!(report.violation, None, "{scenario}");
                }
            }
        }
    }
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
