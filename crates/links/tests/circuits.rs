//! Circuits in virtual time, over every topology that candor brings.

use candor_links::DelayTrace;
use candor_links::costs::{Costs, Steps};
use candor_links::model::Loss;
use candor_links::simulator::setup::LIMIT;
use candor_links::simulator::{Cryptography, Plan, Start, World};
use candor_links::survey::series;
use candor_links::topology::{BUILT_IN, Topology};
use candor_onion::circuit::{Cause, Failure};
use candor_onion::handshake::HandshakeType;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

fn topology(name: &str) -> Topology {
    Topology::built_in(name).expect("candor brings it").expect("it is good")
}

fn plan(name: &str, handshake: HandshakeType) -> Plan {
    Plan::new(topology(name), handshake)
}

#[test]
fn delays_alone_make_the_time_that_arithmetic_gives_on_every_topology_with_every_handshake() {
    for built_in in BUILT_IN {
        let topology = topology(built_in.name).ideal();
        if topology.flight().is_some() {
            continue; // delays change meanwhile
        }
        let sets = topology.sets().into_iter().map(|set| Some(set.to_owned())).chain([None]).collect::<Vec<_>>();
        for set in sets {
            for handshake in HandshakeType::ALL {
                for start in [Start::Warm, Start::Cold] {
                    let plan = Plan { set: set.clone(), start, ..Plan::new(topology.clone(), handshake) };
                    let built = World::new(&plan).unwrap().build().built.expect("nothing is lost");
                    let expected = plan.delays_alone().unwrap();
                    assert_eq!(built, expected, "{} {handshake} {start:?}", built_in.name);
                }
            }
        }
    }
}

#[test]
fn hosts_are_charged_for_each_crossing_of_the_handshake_that_is_built() {
    let plan = Plan::new(topology("sagin-05").ideal(), HandshakeType::Hybrid768);
    let alone = plan.delays_alone().unwrap();
    let built = |of| {
        let costs = Costs::none().with_crossings(of, vec![Duration::from_micros(10)]);
        World::new(&Plan { costs, ..plan.clone() }).unwrap().build().built.unwrap()
    };
    // To the first hop and back two, to the second four, to the third six.
    assert_eq!(built(HandshakeType::Hybrid768), alone + Duration::from_micros(120));
    assert_eq!(built(HandshakeType::Ntor), alone, "another handshake's");
}

#[test]
fn the_arithmetic_is_twelve_traversals_and_eighteen_more_for_the_links() {
    // Three links of 10 ms each.
    let text = r#"
        title = "row"
        source = "test"
        node = [{ name = "a", kind = "ground" }, { name = "b", kind = "server" }, { name = "c", kind = "server" }, { name = "d", kind = "server" }]
        link = [
            { between = ["a", "b"], delay_ms = 10 }, { between = ["b", "c"], delay_ms = 10 }, { between = ["c", "d"], delay_ms = 10 },
        ]
        roles = { client = "a", guard = "b", middle = "c", exit = "d", target = "d" }
    "#;
    let mut plan = Plan::new(Topology::parse("row", text).unwrap(), HandshakeType::Ntor);
    assert_eq!(plan.delays_alone().unwrap(), Duration::from_millis(120));
    plan.start = Start::Cold;
    assert_eq!(plan.delays_alone().unwrap(), Duration::from_millis(300));
    plan.more_round_trips = 1;
    assert_eq!(plan.delays_alone().unwrap(), Duration::from_millis(360));
    assert_eq!(World::new(&plan).unwrap().build().built, Some(Duration::from_millis(360)));
}

#[test]
fn computation_is_on_top() {
    let ms = |ms| vec![Duration::from_millis(ms)];
    let steps = Steps { start: ms(1), answer: ms(10), finish: ms(100) };
    let costs = Costs::none().with(HandshakeType::Hybrid768, steps);
    let ideal = Plan::new(topology("leo-isl").ideal(), HandshakeType::Hybrid768);
    let without = World::new(&ideal).unwrap().build().built.unwrap();
    let with = World::new(&Plan { costs, ..ideal }).unwrap().build();
    assert_eq!(with.built.unwrap() - without, Duration::from_millis(333));
    assert_eq!(with.hops.iter().sum::<Duration>(), with.built.unwrap());
}

#[test]
fn a_page_comes_through_the_circuit() {
    for handshake in [HandshakeType::Ntor, HandshakeType::Hybrid768] {
        let mut plan = plan("terrestrial-continent", handshake);
        plan.fetch = Some(3_000_000);
        let outcome = World::new(&plan).unwrap().build();
        assert_eq!(outcome.fetched, 3_000_000);
        // BEGIN to the exit, SYN to the target and back, CONNECTED; the request all the way, and the first byte back.
        let first = outcome.first_byte.unwrap().as_secs_f64() * 1e3;
        assert!((120.0..125.0).contains(&first), "{first}");
        let goodput = outcome.goodput().unwrap();
        assert!(goodput > 1e6 && goodput < 100e6, "{goodput}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let trace = |seed| {
        let mut plan = plan("sagin-11", HandshakeType::Hybrid768);
        (plan.seed, plan.start, plan.fetch) = (seed, Start::Cold, Some(100_000));
        let mut world = World::new(&plan).unwrap();
        world.record();
        for _ in 0..20 {
            world.build();
        }
        world.trace().to_owned()
    };
    let one = trace(1);
    assert!(one.lines().count() > 1000);
    assert!(one == trace(1), "the same seed");
    assert!(one != trace(2), "another seed");
    let digest: String = Sha256::digest(one.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, TRACE, "the model has changed: say so in the changelog");
}

/// SHA-256 of the trace of seed 1.
const TRACE: &str = "b20b2f905cf67a4ace82a2565a71944465afd501a96a45c943d8380adb0cbdc6";

#[test]
fn real_cryptography_and_its_stand_ins_send_the_same() {
    for handshake in HandshakeType::ALL {
        let mut plan = plan("leo-bent-pipe", handshake);
        plan.fetch = Some(50_000);
        let scripted = World::new(&plan).unwrap().build();
        plan.cryptography = Cryptography::Real;
        assert_eq!(World::new(&plan).unwrap().build(), scripted, "{handshake}");
    }
}

#[test]
fn post_quantum_circuits_need_more_cells() {
    let cells = |handshake| {
        let outcome = World::new(&plan("leo-bent-pipe", handshake)).unwrap().build();
        outcome.cells[0]
    };
    // The creation, and EXTEND2 and EXTENDED2 for two more hops: one cell each, or three, or five of which the answer is as long.
    assert_eq!(cells(HandshakeType::Ntor), [3, 3]);
    assert_eq!(cells(HandshakeType::NtorV3), [3, 3]);
    assert_eq!(cells(HandshakeType::Hybrid768), [7, 7]);
    assert_eq!(cells(HandshakeType::Hybrid768Auth), [11, 11]);
}

#[test]
fn losses_make_circuits_slower_and_they_are_built_all_the_same() {
    let mut plan = plan("sagin-01", HandshakeType::Hybrid768);
    plan.topology = plan.topology.lossless();
    let alone = World::new(&plan).unwrap().build().built.unwrap();
    plan.topology = topology("sagin-01");
    let mut world = World::new(&plan).unwrap();
    let times: Vec<_> = (0..300).map(|_| world.build()).collect();
    assert!(times.iter().all(|outcome| outcome.built.unwrap() >= alone));
    let slower = times.iter().filter(|outcome| outcome.built.unwrap() > alone + Duration::from_millis(100)).count();
    assert!((30..290).contains(&slower), "{slower} of 300 waited for a timer");
    assert!(times.iter().filter(|outcome| outcome.resent > 0).count() >= slower);
}

#[test]
fn a_link_that_goes_away_ends_the_build_with_a_reason() {
    let delay = Duration::from_millis(5);
    let gone = DelayTrace { samples: vec![(Duration::ZERO, Some(delay)), (Duration::from_millis(20), None)] };
    let stays = DelayTrace { samples: vec![(Duration::ZERO, Some(delay)), (Duration::from_secs(3600), Some(delay))] };
    let build = |trace: DelayTrace| {
        let mut plan = plan("leo-bent-pipe", HandshakeType::Hybrid768);
        plan.topology.vary(["leo", "terminal"], &Arc::new(trace)).unwrap();
        World::new(&plan).unwrap().build()
    };
    let outcome = build(gone);
    assert_eq!(outcome.built, None);
    let failure = outcome.failure.unwrap();
    assert_eq!((failure.hop, failure.cause), (Some(1), Cause::Timeout));
    assert!(outcome.dropped[0] > 0, "packets found no link");
    let outcome = build(stays);
    assert!(outcome.built.is_some() && outcome.failure.is_none() && outcome.dropped[0] == 0);
}

/// Three links in a row, without losses; a packet over the first takes so long.
fn row(first_ms: u64) -> Plan {
    let text = format!(
        r#"
        title = "row"
        source = "test"
        node = [{{ name = "a", kind = "ground" }}, {{ name = "b", kind = "server" }}, {{ name = "c", kind = "server" }}, {{ name = "d", kind = "server" }}]
        link = [
            {{ between = ["a", "b"], delay_ms = {first_ms} }}, {{ between = ["b", "c"], delay_ms = 10 }}, {{ between = ["c", "d"], delay_ms = 10 }},
        ]
        roles = {{ client = "a", guard = "b", middle = "c", exit = "d", target = "d" }}
    "#
    );
    Plan { start: Start::Cold, ..Plan::new(Topology::parse("row", &text).unwrap(), HandshakeType::Hybrid768) }
}

#[test]
fn a_link_that_takes_longer_than_the_client_waits_ends_the_build_and_a_quicker_one_does_not() {
    // Six times over the first link, for TCP, TLS and the link handshake; then no hop takes as long.
    let quick = World::new(&row(1666)).unwrap().build();
    assert_eq!((quick.link, quick.failure), (Duration::from_millis(9996), None));
    assert!(quick.built.is_some());
    let slow = World::new(&row(1667)).unwrap().build();
    assert_eq!((slow.built, slow.failed_at), (None, Some(LIMIT)));
    assert_eq!(slow.failure, Some(Failure { hop: Some(1), cause: Cause::Timeout }));
    // Links that are there have no limit.
    assert!(World::new(&Plan { start: Start::Warm, ..row(1667) }).unwrap().build().built.is_some());
}

#[test]
fn a_link_that_never_answers_ends_the_build_in_time_beside_one_that_does() {
    let mut plan = row(10);
    for way in &mut plan.topology.links[0].ways {
        way.loss = Loss::Bernoulli(1.0);
    }
    let mut world = World::new(&plan).unwrap();
    for outcome in world.build_together(2, Duration::from_secs(1)) {
        let lasted = outcome.failed_at.map(|at| at - outcome.began);
        assert_eq!((outcome.built, lasted, outcome.link), (None, Some(LIMIT), Duration::ZERO));
        assert_eq!(outcome.failure, Some(Failure { hop: Some(1), cause: Cause::Timeout }));
    }
    assert!(World::new(&row(10)).unwrap().build().built.is_some());
}

#[test]
fn a_link_that_comes_about_after_its_circuit_was_given_up_changes_nothing() {
    // The second circuit keeps the world going until the first one's link is there.
    let outcomes = World::new(&row(1700)).unwrap().build_together(2, Duration::from_secs(8));
    for outcome in outcomes {
        assert_eq!((outcome.built, outcome.link), (None, Duration::ZERO));
    }
}

/// A pass of a satellite, out of sight for ten seconds between two.
#[test]
fn circuits_follow_a_delay_that_varies() {
    let (second, ms) = (Duration::from_secs, |ms| Some(Duration::from_millis(ms)));
    let samples =
        vec![(second(0), ms(8)), (second(50), ms(3)), (second(100), ms(8)), (second(110), ms(4)), (second(200), ms(9))];
    let mut samples = samples;
    samples.insert(3, (second(100) + Duration::from_nanos(1), None));
    let mut plan = Plan::new(topology("leo-bent-pipe").ideal(), HandshakeType::Hybrid768);
    assert!(plan.topology.vary(["leo", "guard"], &Arc::new(DelayTrace::default())).is_err(), "no such link");
    plan.topology.vary(["terminal", "leo"], &Arc::new(DelayTrace { samples })).unwrap();
    let points = series(&plan, second(5), 40).unwrap();
    let built = |at: u64| points[at as usize / 5].1.as_ref().and_then(|outcome| outcome.built);
    for (at, delay) in [(0, 8.0), (50, 3.0), (110, 4.0), (155, 6.5)] {
        let expected = 6.0 * (delay + 2.71 + 5.0) + 6.0 * 10.0;
        let built = built(at).unwrap().as_secs_f64() * 1e3;
        assert!((built - expected).abs() < 0.5, "{at} s: {built} for {expected}: the delay changes meanwhile");
    }
    assert_eq!(points[21].1, None, "no way at 105 s");
    assert!(built(195).unwrap() > built(110).unwrap());
}

#[test]
fn circuits_at_once_share_the_links_and_the_relays() {
    let ms = |ms| vec![Duration::from_millis(ms)];
    let steps = Steps { start: ms(0), answer: ms(10), finish: ms(0) };
    let mut plan = plan("terrestrial-continent", HandshakeType::Hybrid768);
    plan.costs = Costs::none().with(HandshakeType::Hybrid768, steps);
    let mut world = World::new(&plan).unwrap();
    let alone = world.build().built.unwrap();
    let together = world.build_together(50, Duration::ZERO);
    let last = together.iter().map(|outcome| outcome.built.unwrap()).max().unwrap();
    // The guard answers fifty onionskins, one after the other.
    assert!(last > alone + Duration::from_millis(400), "{last:?}");
    let apart = world.build_together(50, Duration::from_secs(1));
    assert!(apart.iter().all(|outcome| outcome.built.unwrap() == alone));
}

#[test]
fn an_unknown_set_is_refused() {
    let mut plan = plan("sagin-01", HandshakeType::Ntor);
    plan.set = Some("papers".into());
    let error = World::new(&plan).err().unwrap().to_string();
    assert_eq!(error, "topology sagin-01 has no set `papers`; it has: paper");
    plan.set = Some("paper".into());
    assert!(World::new(&plan).is_ok());
}

/// Rate and memory of the simulator; run with `--release --ignored --nocapture`.
#[test]
#[ignore = "a measurement; takes a minute"]
fn a_hundred_thousand_circuits_at_once() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("VmRSS: 0 kB").to_owned();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    for cryptography in [Cryptography::Scripted, Cryptography::Real] {
        let mut world = World::new(&Plan { cryptography, ..plan("leo-bent-pipe", HandshakeType::Hybrid768) }).unwrap();
        let began = std::time::Instant::now();
        let count = 5000;
        assert!((0..count).all(|_| world.build().built.is_some()));
        println!(
            "{cryptography:?}: {:.0} builds/s one after another",
            f64::from(count) / began.elapsed().as_secs_f64()
        );
    }
    for count in [1000, 10_000, 100_000] {
        let mut plan = plan("leo-bent-pipe", HandshakeType::Hybrid768);
        plan.topology = plan.topology.ideal();
        let mut world = World::new(&plan).unwrap();
        let began = std::time::Instant::now();
        let outcomes = world.build_together(count, Duration::from_micros(10));
        assert!(outcomes.iter().all(|outcome| outcome.built.is_some()));
        println!(
            "{count} at once: {:.1} us each, {} MiB resident",
            began.elapsed().as_secs_f64() * 1e6 / f64::from(count),
            resident()
        );
    }
}
