//! Circuits in virtual time, over every topology that candor brings.

use candor_links::DelayTrace;
use candor_links::costs::{Costs, Steps};
use candor_links::model::{Delay, Loss};
use candor_links::simulator::setup::{CONNECT, LIMIT, STREAM};
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
        let topology = frozen(topology(built_in.name).ideal());
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

/// The topology with the delays that it has when there are links for the first time: otherwise those of satellites change while a circuit is built.
fn frozen(mut topology: Topology) -> Topology {
    let begins = topology.begins();
    for link in &mut topology.links {
        for profile in link.ways.iter_mut().chain(link.sets.iter_mut().flat_map(|(_, ways)| ways)) {
            if let Delay::Trace(trace) = &profile.delay {
                profile.delay = Delay::Constant(trace.at(begins).expect("there is a link"));
            }
        }
    }
    topology
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
fn a_further_round_trip_follows_the_last_check_and_crosses_six_hosts_more() {
    let micros = |micros| vec![Duration::from_micros(micros)];
    let steps = Steps { start: micros(0), answer: micros(0), finish: micros(100_000) };
    let costs =
        Costs::none().with(HandshakeType::Hybrid768, steps).with_crossings(HandshakeType::Hybrid768, micros(10));
    let plan = Plan { costs, ..Plan::new(topology("sagin-05").ideal(), HandshakeType::Hybrid768) };
    let build = |more_round_trips, costs: Costs| {
        let plan = Plan { more_round_trips, costs, ..plan.clone() };
        let built = World::new(&plan).unwrap().build().built.unwrap();
        built - plan.delays_alone().unwrap()
    };
    let (none, one) = (build(0, plan.costs.clone()), build(1, plan.costs.clone()));
    assert_eq!(none, Duration::from_micros(300_000 + 120), "three checks, and twelve crossings");
    assert_eq!(one, none + Duration::from_micros(60), "six crossings, and not one check less");
    assert_eq!(build(3, plan.costs.clone()), none + Duration::from_micros(180));
    // A cell alone, as a message of ntor is.
    assert_eq!(
        build(1, plan.costs.clone().with_crossings(HandshakeType::Ntor, micros(4))),
        none + Duration::from_micros(24)
    );
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
fn hosts_are_charged_for_a_page_as_for_two_exchanges_of_a_cell() {
    let fetch = |costs| {
        let topology = topology("terrestrial-continent").ideal();
        let plan = Plan { fetch: Some(100_000), costs, ..Plan::new(topology, HandshakeType::Hybrid768) };
        World::new(&plan).unwrap().build()
    };
    let crossings = |of, micros| fetch(Costs::none().with_crossings(of, vec![Duration::from_micros(micros)]));
    let (without, with) = (fetch(Costs::none()), crossings(HandshakeType::Ntor, 10));
    assert_eq!(with.built, without.built, "samples of ntor are none of the handshake");
    // BEGIN and CONNECTED, the request and the first byte: three hosts each way.
    let more = Duration::from_micros(120);
    assert_eq!(with.first_byte.unwrap(), without.first_byte.unwrap() + more);
    assert_eq!(with.last_byte.unwrap(), without.last_byte.unwrap() + more);
    assert_eq!(crossings(HandshakeType::Hybrid768, 10).first_byte, with.first_byte);
}

#[test]
fn a_stream_that_is_not_open_in_time_is_given_up_by_the_client_or_by_the_exit() {
    let fetch = |exit_ms: u64, target_ms: u64| {
        let text = format!(
            r#"
            title = "row with a target"
            source = "test"
            node = [{{ name = "a", kind = "ground" }}, {{ name = "b", kind = "server" }}, {{ name = "c", kind = "server" }}]
            link = [{{ between = ["a", "b"], delay_ms = {exit_ms} }}, {{ between = ["b", "c"], delay_ms = {target_ms} }}]
            roles = {{ client = "a", guard = "b", middle = "b", exit = "b", target = "c" }}
        "#
        );
        let plan = Plan::new(Topology::parse("row", &text).unwrap(), HandshakeType::Ntor);
        World::new(&Plan { fetch: Some(1000), ..plan }).unwrap().build()
    };
    let given_up = |outcome: &candor_links::simulator::Outcome| {
        assert_eq!(outcome.failure, Some(Failure { hop: Some(3), cause: Cause::Timeout }));
        assert_eq!((outcome.first_byte, outcome.fetched), (None, 0));
        outcome.failed_at.unwrap() - outcome.began - outcome.built.unwrap()
    };
    // BEGIN, SYN, SYN-ACK, CONNECTED: 6 s to the exit and back, and 13.8 or 14.2 s to the target and back.
    assert_eq!(fetch(3000, 6900).failure, None);
    assert_eq!(given_up(&fetch(3000, 7100)), STREAM);
    // The exit hears of it after 1 s.
    assert_eq!(fetch(1000, 7400).failure, None);
    assert_eq!(given_up(&fetch(1000, 7600)), Duration::from_secs(1) + CONNECT);
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
const TRACE: &str = "6e7cc29d322a27c07966fe29c4548a5b7bb96448cca581d5e3bdf6f44affb3c3";

/// Costs with as many samples as the lab's tasks take.
fn sampled(handshake: HandshakeType) -> Costs {
    let samples = |least: u64| (0..48).map(|sample| Duration::from_nanos(least + 700 * sample)).collect::<Vec<_>>();
    let steps = Steps { start: samples(40_000), answer: samples(90_000), finish: samples(60_000) };
    Costs::none().with(handshake, steps).with_crossings(handshake, samples(15_000))
}

#[test]
fn the_same_seed_gives_the_same_trace_of_bursts_of_losses_drawn_costs_and_an_orbit() {
    let handshake = HandshakeType::Hybrid1024;
    let plan =
        Plan { costs: sampled(handshake), fetch: Some(20_000), more_round_trips: 1, ..plan("leo-pass", handshake) };
    let trace = |bursts, costs: Costs, at| {
        let mut plan = Plan { costs, begin: Duration::from_secs(at), ..plan.clone() };
        for way in plan.topology.links.iter_mut().flat_map(|link| &mut link.ways) {
            way.loss = Loss::GilbertElliott { to_bad: bursts, to_good: 0.3, in_good: 0.0, in_bad: 0.8 };
        }
        let mut world = World::new(&plan).unwrap();
        world.record();
        for _ in 0..10 {
            world.build();
        }
        world.trace().to_owned()
    };
    let one = trace(0.02, plan.costs.clone(), 100);
    assert!(one == trace(0.02, plan.costs.clone(), 100), "the same seed");
    assert!(
        one != trace(0.03, plan.costs.clone(), 100)
            && one != trace(0.02, Costs::none(), 100)
            && one != trace(0.02, plan.costs.clone(), 101)
    );
    let digest: String = Sha256::digest(one.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, TRACE_OF_ALL, "the model has changed: say so in the changelog");
}

/// SHA-256 of that trace.
const TRACE_OF_ALL: &str = "1a77bee7a509dc20c1d4560bb421a2f0d2970dd103518f55fbddca4ddd071a21";

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
        let costs = sampled(HandshakeType::Hybrid768);
        let plan = Plan { cryptography, costs, ..plan("leo-bent-pipe", HandshakeType::Hybrid768) };
        let mut world = World::new(&plan).unwrap();
        let began = std::time::Instant::now();
        let count = 5000;
        assert!((0..count).all(|_| world.build().built.is_some()));
        println!(
            "{cryptography:?}: {:.0} builds/s one after another",
            f64::from(count) / began.elapsed().as_secs_f64()
        );
    }
    let mut first = None;
    for count in [1000, 10_000, 100_000] {
        let mut plan = plan("leo-bent-pipe", HandshakeType::Hybrid768);
        plan.topology = plan.topology.ideal();
        // Relays answer one after another: with more of it, the last would wait for too long. What is drawn is what counts here.
        let samples = |least: u64| (0..48).map(|sample| Duration::from_nanos(least + 100 * sample)).collect::<Vec<_>>();
        let steps = Steps { start: samples(40_000), answer: samples(1_000), finish: samples(60_000) };
        plan.costs = Costs::none().with(plan.handshake, steps).with_crossings(plan.handshake, samples(15_000));
        let mut world = World::new(&plan).unwrap();
        let began = std::time::Instant::now();
        let outcomes = world.build_together(count, Duration::from_micros(10));
        let each = began.elapsed().as_secs_f64() * 1e6 / f64::from(count);
        assert!(outcomes.iter().all(|outcome| outcome.built.is_some()));
        let (first, resident) = (*first.get_or_insert(each), resident());
        println!(
            "{count} at once: {each:.1} us each, {:.2} times as long as the fewest, {resident} MiB resident",
            each / first
        );
        assert!(resident < 1430, "{resident} MiB: more than 1.5 GB");
    }
}
