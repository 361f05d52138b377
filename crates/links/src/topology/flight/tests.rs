use super::*;
use crate::simulator::{Plan, World};
use crate::survey::{series, survey};
use crate::topology::{BUILT_IN, Role};
use candor_onion::circuit::Cause;
use candor_onion::handshake::HandshakeType;

const SECOND: Duration = Duration::from_secs(1);

fn text(name: &str) -> &'static str {
    BUILT_IN.iter().find(|built_in| built_in.name == name).unwrap().text
}

fn topology(name: &str) -> Topology {
    Topology::built_in(name).unwrap().unwrap()
}

fn example() -> Vec<Elements> {
    orbit::read(orbit::EXAMPLE.as_bytes()).unwrap()
}

/// A topology with some of its text replaced, before its links follow anything.
fn changed(name: &str, changes: &[(&str, &str)]) -> Topology {
    let mut changed = text(name).to_owned();
    for (from, to) in changes {
        assert_eq!(changed.matches(from).count(), 1, "{from}");
        changed = changed.replace(from, to);
    }
    Topology::parse("t", &changed).unwrap()
}

#[test]
fn a_pass_has_the_delays_of_its_satellite_and_circuits_follow_them() {
    let mut plan = Plan::new(topology("leo-pass").ideal(), HandshakeType::Ntor);
    let flight = plan.topology.flight().unwrap().clone();
    assert_eq!((flight.opens(), flight.ends()), (Duration::ZERO, 670 * SECOND));
    assert_eq!(flight.lost(Duration::ZERO, 669 * SECOND), None);
    // The facts have it at the zenith at 17:02:24, 813.7 km away, and at 10 degrees at both ends.
    let zenith = flight.link(334 * SECOND).unwrap();
    assert!(zenith.user.elevation > 89.0 && (813.0..815.0).contains(&zenith.user.range), "{zenith:?}");
    assert_eq!(flight.time(334 * SECOND).to_string(), "2025-03-09T17:02:24Z");
    let edges = [Duration::ZERO, 670 * SECOND].map(|at| flight.link(at).unwrap().user.elevation);
    assert!(edges.iter().all(|elevation| (10.0..10.5).contains(elevation)), "{edges:?}");
    assert_eq!(flight.name(zenith.satellite), "57795");
    for (at, link) in [(0, flight.link(Duration::ZERO).unwrap()), (334, zenith)] {
        plan.begin = at * SECOND;
        let built = World::new(&plan).unwrap().build().built.unwrap().as_secs_f64() * 1e3;
        let expected = 6.0 * (link.delay.as_secs_f64() * 1e3 + 5.0) + 6.0 * 10.0;
        assert!((built - expected).abs() < 0.1, "{at} s: {built} for {expected}: the satellite moves meanwhile");
    }
}

#[test]
fn a_link_that_a_satellite_takes_away_ends_the_build() {
    let mut plan = Plan::new(topology("leo-pass").ideal(), HandshakeType::Hybrid768);
    let flight = plan.topology.flight().unwrap().clone();
    plan.begin = flight.ends() - Duration::from_millis(80);
    let outcome = World::new(&plan).unwrap().build();
    let failure = outcome.failure.unwrap();
    assert_eq!((outcome.built, failure.cause), (None, Cause::Timeout), "{failure}");
    assert!(outcome.dropped[0] > 0);
    assert_eq!(flight.lost(plan.begin, outcome.failed_at.unwrap()), Some(flight.ends()));
    // A page is given up as well, after TCP has tried for some minutes.
    (plan.begin, plan.fetch) = (flight.ends() - 2 * SECOND, Some(30_000_000));
    let outcome = World::new(&plan).unwrap().build();
    assert!(outcome.built.is_some() && outcome.last_byte.is_none());
    assert_eq!(outcome.failure.unwrap().cause, Cause::LinkClosed);
    plan.begin = flight.ends() + SECOND;
    assert!(World::new(&plan).is_err(), "no link to begin over");
}

#[test]
fn a_shell_hands_over_and_circuits_are_built_all_along() {
    let plan = Plan::new(topology("leo-shell").lossless(), HandshakeType::Hybrid768);
    let flight = plan.topology.flight().unwrap();
    let hand_overs = &flight.plan.hand_overs;
    assert!((10..=40).contains(&hand_overs.len()), "{}: one a slot at most", hand_overs.len());
    for hand_over in hand_overs {
        assert!(hand_over.before.is_some() && hand_over.behind.is_some(), "{hand_over:?}");
        assert!(flight.lost(hand_over.at, hand_over.at + SECOND).is_some(), "an outage of 30 ms");
    }
    let before = hand_overs[0].at - Duration::from_millis(1);
    assert_ne!(flight.link(before).unwrap().satellite, flight.link(before + SECOND).unwrap().satellite);
    let points = series(&plan, 20 * SECOND, 30).unwrap();
    assert!(points.iter().all(|(_, outcome)| outcome.as_ref().is_some_and(|outcome| outcome.built.is_some())));
    let summary = survey(&plan, 30).unwrap();
    assert_eq!((summary.circuits, summary.built.count()), (30, 30));
}

#[test]
fn given_elements_replace_the_topologys_and_begin_when_their_link_opens() {
    let flown = changed("leo-shell", &[]).fly(Some(&example()), None).unwrap();
    let flight = flown.flight().unwrap();
    let epoch = example()[0].epoch;
    let waited = flight.start.duration_since(epoch).as_secs_f64();
    assert!((0.0..86400.0).contains(&waited), "{waited}");
    let first = flight.link(Duration::ZERO).expect("it begins with a link");
    assert!((25.0..27.0).contains(&first.user.elevation.min(first.gateway.elevation)), "it has just risen: {first:?}");
    assert_eq!(flight.name(first.satellite), "57795");
    // The same links may fly once more, at another time.
    let from = "2025-03-09T12:00:00Z".parse().unwrap();
    assert_eq!(flown.fly(None, Some(from)).unwrap().flight().unwrap().start, from);
}

#[test]
fn so_many_satellites_may_be_given_and_not_one_more() {
    let brief = || changed("leo-pass", &[("seconds = 670", "seconds = 5")]);
    let (many, from) = (vec![example().remove(0); 10_001], topology("leo-pass").flight().unwrap().start);
    let flown = brief().fly(Some(&many[1..]), Some(from)).unwrap();
    assert_eq!(flown.flight().unwrap().name(9_999), "57795");
    let error = brief().fly(Some(&many), Some(from)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are 10001 satellites; expected at most 10000: keep those that may serve topology t"
    );
}

#[test]
fn an_error_looks_at_many_satellites_no_more_often_than_at_few() {
    let day = Duration::from_secs(86_400);
    assert_eq!((looks_apart(1, day), looks_apart(10_000, Duration::from_secs(20))), (30, 30));
    assert_eq!(looks_apart(10_000, day), 432);
    assert!(10_000 * (86_400 / looks_apart(10_000, day)) as u64 <= MOST_LOOKS);
}

#[test]
fn a_signal_goes_from_satellite_to_satellite() {
    let route = ("slot_s = 15", "slot_s = 15\nroute = \"between-satellites\"");
    // From Berlin to a gateway in New York, which no satellite sees together with Berlin.
    let far = ("latitude = 50.11, longitude = 8.68", "latitude = 40.71, longitude = -74.01");
    let part = ("orbit = \"down\"", "orbit = \"between\"");
    let flown = changed("leo-shell", &[route, far, part]).fly(None, None).unwrap();
    let flight = flown.flight().unwrap();
    assert!(flight.plan.stretches[0].way.len() > 3);
    let way = flown.way(Role::Client, Role::Guard, None).unwrap();
    let delay = flown.delay(&way, None, Duration::ZERO);
    assert!((25..60).contains(&delay.as_millis()), "6400 km, and not straight: {delay:?}");
    let error = changed("leo-shell", &[far]).fly(None, None).unwrap_err();
    assert!(matches!(error, FlightError::NeverSeen(_)), "{error}");
    let error = changed("leo-shell", &[route]).fly(Some(&example()), None).unwrap_err();
    assert!(matches!(error, FlightError::NoGrid { .. }), "{error}");
}

#[test]
fn what_can_not_be_followed_is_refused_with_the_reason() {
    let from = |time: &str| Some(time.parse::<Timestamp>().unwrap());
    let error = topology("leo-isl").fly(None, None).unwrap_err();
    assert!(error.to_string().contains("delays of topology leo-isl are constant"), "{error}");
    let given = ("\"57795\"\nfrom", "\"given\"\nfrom");
    let error = changed("leo-pass", &[given]).fly(None, None).unwrap_err();
    assert!(matches!(error, FlightError::NoSatellites { .. }), "{error}");
    assert!(changed("leo-pass", &[given]).fly(Some(&example()), None).is_ok());
    assert!(changed("leo-pass", &[given]).fly(Some(&[]), None).is_err());
    // Hours later it is elsewhere, and from the Arctic it is never seen.
    let error = changed("leo-pass", &[]).fly(None, from("2025-03-09T20:00:00Z")).unwrap_err().to_string();
    assert!(error.contains("no satellite serves user and gateway of topology t between"), "{error}");
    let arctic = ("latitude = 18.17", "latitude = 78.23");
    let error = changed("leo-pass", &[arctic]).fly(Some(&example()), None).unwrap_err();
    let FlightError::NeverSeen(never) = error else { panic!("{error}") };
    let elevation = never.elevation;
    assert!(elevation < 10.0, "{elevation}");
    let error = changed("leo-pass", &[]).fly(None, from("2030-01-01T00:00:00Z")).unwrap_err().to_string();
    assert!(error.contains("get newer ones"), "{error}");
    // With this drag it comes down within a week.
    let falling = Elements { drag: 0.5, ..example().remove(0) };
    let error = changed("leo-pass", &[]).fly(Some(&[falling]), from("2025-04-20T00:00:00Z")).unwrap_err();
    assert!(
        matches!(error, FlightError::Orbit(orbit::Error::Decayed { .. } | orbit::Error::Diverged { .. })),
        "{error}"
    );
}

#[test]
fn a_topology_that_does_not_fly_yet_has_no_ways() {
    let topology = changed("leo-pass", &[]);
    let error = topology.way(Role::Client, Role::Guard, None).unwrap_err();
    assert!(error.what.contains("before its links follow their satellites"), "{error}");
    assert!(topology.fly(None, None).unwrap().way(Role::Client, Role::Guard, None).is_ok());
}
