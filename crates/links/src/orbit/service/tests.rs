use super::*;
use crate::orbit::{EXAMPLE, SPEED_OF_LIGHT, Walker, ground_track, passes, read, serving_tracks};
use proptest::prelude::*;

fn start() -> Timestamp {
    "2025-03-09T16:50:00Z".parse().unwrap()
}

fn terminal(latitude: f64, longitude: f64, mask: f64) -> Terminal {
    Terminal { site: Site::new(latitude, longitude, 0.0).unwrap(), mask }
}

fn one_satellite() -> Vec<Satellite> {
    read(EXAMPLE.as_bytes()).unwrap().iter().map(|elements| Satellite::new(elements).unwrap()).collect()
}

fn shell() -> Vec<Satellite> {
    Walker::SHELL.satellites(start()).unwrap()
}

fn bent_pipe(satellites: &[Satellite]) -> Connection<'_> {
    Connection {
        satellites,
        user: terminal(18.17, 47.41, 10.0),
        gateway: terminal(21.5, 39.2, 10.0),
        route: Route::BentPipe,
        selection: Selection::HighestElevation,
        slot: Duration::from_secs(15),
        outage: Duration::ZERO,
        step: Duration::from_secs(1),
    }
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// What every plan must be.
fn check(plan: &Plan, connection: &Connection<'_>, length: Duration) {
    assert_eq!((plan.samples[0].at, plan.samples[plan.samples.len() - 1].at), (Duration::ZERO, length));
    for pair in plan.samples.windows(2) {
        assert!(pair[0].at < pair[1].at && pair[1].at - pair[0].at <= connection.step, "{pair:?}");
        // Whoever interpolates must not draw a line from one satellite to another, or into a gap.
        let (one, other) = (pair[0].link.map(|link| link.satellite), pair[1].link.map(|link| link.satellite));
        assert!(one == other || pair[1].at - pair[0].at == STEP_WIDTH, "{pair:?}");
    }
    for link in plan.samples.iter().filter_map(|sample| sample.link) {
        // Where a satellite was lost, to the millisecond.
        assert!(link.user.elevation > connection.user.mask - 1e-3, "{link:?}");
        assert!(link.gateway.elevation > connection.gateway.mask - 1e-3, "{link:?}");
    }
    for pair in plan.stretches.windows(2) {
        assert!(pair[0].from <= pair[0].until && pair[0].until <= pair[1].from, "{pair:?}");
    }
}

#[test]
fn a_pass_carries_both_ways_of_the_pipe_and_nothing_outside() {
    let satellites = one_satellite();
    let connection = bent_pipe(&satellites);
    let plan = connection.plan(start(), minutes(30)).unwrap();
    check(&plan, &connection, minutes(30));
    let until = start() + minutes(30);
    let seen = |terminal: &Terminal| passes(&satellites[0], &terminal.site, terminal.mask, start(), until).unwrap()[0];
    let (user, gateway) = (seen(&connection.user), seen(&connection.gateway));
    // Both must see it: from the later rise until the earlier set.
    let rise = user.rise.unwrap().time.max(gateway.rise.unwrap().time).duration_since(start()).as_secs_f64();
    let set = user.set.unwrap().time.min(gateway.set.unwrap().time).duration_since(start()).as_secs_f64();
    assert_eq!(plan.stretches.len(), 1);
    assert!((plan.stretches[0].from.as_secs_f64() - rise).abs() < 2e-3, "{:?} {rise}", plan.stretches);
    assert!((plan.stretches[0].until.as_secs_f64() - set).abs() < 2e-3, "{:?} {set}", plan.stretches);
    for sample in &plan.samples {
        let at = sample.at.as_secs_f64();
        match sample.link {
            Some(link) => {
                let time = after(start(), at);
                let up = satellites[0].look(&connection.user.site, time).unwrap();
                let down = satellites[0].look(&connection.gateway.site, time).unwrap();
                let delay = (up.range + down.range) / SPEED_OF_LIGHT;
                assert!((link.delay.as_secs_f64() - delay).abs() < 2e-9, "{link:?}");
            }
            None => assert!(at < rise + 2e-3 || at > set - 2e-3, "{at}"),
        }
    }
    let hand_overs: Vec<_> = plan.hand_overs.iter().map(|change| (change.from, change.to)).collect();
    assert_eq!(hand_overs, [(None, Some((0, 0))), (Some((0, 0)), None)]);
}

#[test]
fn the_highest_satellite_serves_from_slot_to_slot() {
    let satellites = shell();
    let connection =
        Connection { user: terminal(52.5, 13.4, 25.0), gateway: terminal(50.1, 8.7, 25.0), ..bent_pipe(&satellites) };
    let plan = connection.plan(start(), minutes(10)).unwrap();
    check(&plan, &connection, minutes(10));
    assert!(plan.samples.iter().all(|sample| sample.link.is_some()));
    assert!(plan.hand_overs.len() > 3, "{:?}", plan.hand_overs);
    for change in &plan.hand_overs {
        assert_eq!(change.at.as_nanos() % connection.slot.as_nanos(), 0, "{change:?}");
        let time = after(start(), change.at.as_secs_f64());
        let both = |satellite: &Satellite| {
            let gateway = satellite.look(&connection.gateway.site, time).unwrap().elevation;
            Some(satellite.look(&connection.user.site, time).unwrap().elevation).filter(|_| gateway >= 25.0)
        };
        let highest = satellites.iter().filter_map(both).fold(0.0, f64::max);
        let (chosen, _) = change.to.unwrap();
        assert_eq!(both(&satellites[chosen]), Some(highest));
        assert_ne!(change.from, change.to);
    }
}

#[test]
fn the_longest_remaining_satellite_is_kept_until_it_sets() {
    let satellites = shell();
    let user = terminal(52.5, 13.4, 25.0);
    let highest = Connection { user, gateway: user, ..bent_pipe(&satellites) };
    let longest = Connection { selection: Selection::LongestRemaining, ..highest };
    let plan = longest.plan(start(), minutes(15)).unwrap();
    check(&plan, &longest, minutes(15));
    assert!(plan.hand_overs.len() >= 3, "{:?}", plan.hand_overs);
    assert!(plan.hand_overs.len() < highest.plan(start(), minutes(15)).unwrap().hand_overs.len());
    for change in &plan.hand_overs {
        let Some((old, _)) = change.from else { continue };
        let elevation = satellites[old].look(&user.site, after(start(), change.at.as_secs_f64())).unwrap().elevation;
        assert!((elevation - 25.0).abs() < 1e-3, "{elevation}");
    }
}

#[test]
fn an_outage_lasts_as_long_as_it_should() {
    let satellites = shell();
    let user = terminal(-33.9, 18.4, 25.0);
    let outage = Duration::from_millis(300);
    let connection = Connection { user, gateway: user, outage, ..bent_pipe(&satellites) };
    let plan = connection.plan(start(), minutes(5)).unwrap();
    check(&plan, &connection, minutes(5));
    let changes: Vec<_> =
        plan.hand_overs.iter().filter(|change| change.from.is_some() && change.to.is_some()).collect();
    assert!(!changes.is_empty());
    for change in changes {
        let dark =
            |sample: &&Sample| sample.link.is_none() && sample.at >= change.at && sample.at < change.at + minutes(1);
        let begin = plan.samples.iter().find(dark).unwrap().at;
        let end = plan.samples.iter().find(|sample| sample.at > begin && sample.link.is_some()).unwrap().at;
        assert_eq!((begin - change.at, end - change.at), (STEP_WIDTH, outage));
        assert!(change.before.is_some() && change.behind.is_some() && change.before != change.behind);
    }
}

#[test]
fn between_satellites_the_signal_takes_the_shortest_way() {
    let satellites = shell();
    let grid = Walker::SHELL.grid().unwrap();
    let connection = Connection {
        user: terminal(51.5, -0.1, 25.0),
        gateway: terminal(40.7, -74.0, 25.0),
        route: Route::BetweenSatellites(&grid),
        step: Duration::from_secs(5),
        ..bent_pipe(&satellites)
    };
    let plan = connection.plan(start(), minutes(3)).unwrap();
    check(&plan, &connection, minutes(3));
    assert!(plan.samples.iter().all(|sample| sample.link.is_some()));
    for stretch in &plan.stretches {
        assert!(
            stretch.way.len() > 2 && stretch.way.windows(2).all(|pair| grid.neighbours(pair[0]).contains(&pair[1])),
            "{stretch:?}"
        );
        // No other way is shorter: distances from the first satellite by relaxing all links until nothing changes.
        let time = after(start(), stretch.from.as_secs_f64());
        let states: Vec<State> = satellites.iter().map(|satellite| satellite.at(time).unwrap()).collect();
        let length = |a: usize, b: usize| norm(minus(states[a].position, states[b].position));
        let mut best = vec![f64::INFINITY; states.len()];
        best[stretch.way[0]] = 0.0;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for here in 0..states.len() {
                for &next in grid.neighbours(here) {
                    let reached = best[here] + length(here, next);
                    if reached < best[next] - 1e-6 {
                        best[next] = reached;
                        changed = true;
                    }
                }
            }
        }
        let taken: f64 = stretch.way.windows(2).map(|pair| length(pair[0], pair[1])).sum();
        assert!((taken - best[stretch.way[stretch.way.len() - 1]]).abs() < 0.01, "{taken}");
    }
    let parts = [Part::Up, Part::Between, Part::Down].map(|part| plan.trace(part).samples);
    for (index, (_, whole)) in plan.trace(Part::Whole).samples.iter().enumerate() {
        let [up, between, down] = [0, 1, 2].map(|part: usize| parts[part][index].1.unwrap());
        assert_eq!(up + between + down, whole.unwrap());
        assert!(
            up < Duration::from_millis(4) && down < Duration::from_millis(4) && between > Duration::from_millis(15)
        );
    }
    // 5570 km over the ground; light in vacuum needs 18.6 ms for that, and fibre 27.9 ms.
    let delays: Vec<f64> =
        plan.trace(Part::Whole).samples.iter().map(|sample| sample.1.unwrap().as_secs_f64() * 1e3).collect();
    assert!(delays.iter().all(|delay| (20.0..40.0).contains(delay)), "{delays:?}");
}

#[test]
fn a_link_through_the_earth_is_none() {
    let satellites =
        [Satellite::geostationary("west", -100.0).unwrap(), Satellite::geostationary("east", 78.0).unwrap()];
    let near = [Satellite::geostationary("west", -100.0).unwrap(), Satellite::geostationary("east", 20.0).unwrap()];
    let mut grid = Grid::new(2);
    grid.link(0, 1);
    let plan = |satellites: &[Satellite], longitude| {
        let route = Route::BetweenSatellites(&grid);
        let (user, gateway) = (terminal(0.0, -100.0, 40.0), terminal(0.0, longitude, 40.0));
        Connection { user, gateway, route, ..bent_pipe(satellites) }.plan(start(), minutes(2)).unwrap()
    };
    assert!(plan(&satellites, 78.0).samples.iter().all(|sample| sample.link.is_none()));
    // Two hops of 35786 km and a chord of 2 · 42164.7 · sin 60°.
    let delay = plan(&near, 20.0).samples[0].link.unwrap().delay.as_secs_f64();
    assert!((delay - (2.0 * 35786.5 + 73031.4) / SPEED_OF_LIGHT).abs() < 1e-5, "{delay}");
}

#[test]
fn geostationary_delay_is_that_of_the_facts() {
    let satellites = [Satellite::geostationary("GEO", 13.4).unwrap()];
    let connection =
        Connection { user: terminal(0.0, 13.4, 10.0), gateway: terminal(0.0, 13.4, 10.0), ..bent_pipe(&satellites) };
    let plan = connection.plan(start(), minutes(2)).unwrap();
    assert!(plan.hand_overs.is_empty() && plan.stretches.len() == 1);
    // 119.4 ms one way at the zenith, twice.
    assert!(
        plan.trace(Part::Whole).samples.iter().all(|sample| (sample.1.unwrap().as_secs_f64() - 0.2387).abs() < 1e-4)
    );
}

#[test]
fn without_satellites_there_is_no_link() {
    let connection = bent_pipe(&[]);
    let plan = connection.plan(start(), minutes(1)).unwrap();
    check(&plan, &connection, minutes(1));
    assert!(plan.samples.iter().all(|sample| sample.link.is_none()) && plan.hand_overs.is_empty());
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let satellites = one_satellite();
    let good = bent_pipe(&satellites);
    assert!(good.plan(start(), minutes(1)).is_ok());
    let bad_mask = Terminal { mask: f64::NAN, ..good.user };
    for bad in [
        Connection { user: bad_mask, ..good },
        Connection { gateway: bad_mask, ..good },
        Connection { slot: Duration::ZERO, ..good },
        Connection { step: Duration::ZERO, ..good },
        Connection { step: Duration::from_secs(61), ..good },
        Connection { outage: Duration::from_secs(8), ..good },
    ] {
        assert!(matches!(bad.plan(start(), minutes(1)), Err(Error::OutOfRange { .. })));
    }
    let error = good.plan(start(), minutes(60 * 24 * 367)).unwrap_err().to_string();
    assert_eq!(error, "length of the plan in seconds is 31708800; expected from 0 to a year");
    let fine = Connection { step: Duration::from_millis(1), ..good };
    assert!(fine.plan(start(), minutes(200)).unwrap_err().to_string().starts_with("number of samples is 12000000"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Sixty-six satellites that leave gaps, over any two sites near each other.
    #[test]
    fn every_plan_is_in_order(
        latitude in -80.0..80.0f64,
        longitude in -180.0..180.0f64,
        apart in 0.0..8.0f64,
        mask in 5.0..50.0f64,
        slot in 1.0..60.0f64,
        step in 0.3..20.0f64,
        outage in prop_oneof![Just(0.0), 0.0..0.5f64],
        longest in any::<bool>(),
        links in any::<bool>(),
        seconds in 1.0..1500.0f64,
    ) {
        let shell = Walker { inclination: 86.4, planes: 6, per_plane: 11, phasing: 2, altitude: 780.0 };
        let satellites = shell.satellites(start()).unwrap();
        let grid = shell.grid().unwrap();
        let connection = Connection {
            user: terminal(latitude, longitude, mask),
            gateway: terminal(latitude + apart, longitude, mask),
            route: if links { Route::BetweenSatellites(&grid) } else { Route::BentPipe },
            selection: if longest { Selection::LongestRemaining } else { Selection::HighestElevation },
            slot: Duration::from_secs_f64(slot),
            outage: Duration::from_secs_f64(outage),
            step: Duration::from_secs_f64(step),
            ..bent_pipe(&satellites)
        };
        let length = Duration::from_secs_f64(seconds);
        let plan = connection.plan(start(), length).unwrap();
        check(&plan, &connection, length);
        for stretch in &plan.stretches {
            let inside = |sample: &&Sample| sample.at > stretch.from + STEP_WIDTH && sample.at < stretch.until;
            for sample in plan.samples.iter().filter(inside) {
                prop_assert_eq!(sample.link.map(|link| link.satellite), Some(stretch.way[0]), "{:?}", sample);
            }
        }
    }
}

/// Links interpolate between the samples.
#[test]
fn a_step_of_a_second_is_fine_enough_to_interpolate() {
    let satellites = shell();
    let user = terminal(52.5, 13.4, 25.0);
    let connection = Connection { user, gateway: user, ..bent_pipe(&satellites) };
    let plan = connection.plan(start(), minutes(5)).unwrap();
    let mut worst: f64 = 0.0;
    for pair in plan.samples.windows(2) {
        let (one, other) = (pair[0].link.unwrap(), pair[1].link.unwrap());
        if one.satellite == other.satellite {
            let middle = (pair[0].at.as_secs_f64() + pair[1].at.as_secs_f64()) / 2.0;
            let truth = connection.link(&[one.satellite], after(start(), middle)).unwrap().delay.as_secs_f64();
            worst = worst.max((truth - (one.delay.as_secs_f64() + other.delay.as_secs_f64()) / 2.0).abs());
        }
    }
    // v²/r is 0.1 km/s² overhead; an eighth of that, twice, is 26 m.
    assert!(worst > 1e-9 && worst < 0.1e-6, "{worst}");
}

#[test]
fn tracks_lie_below_the_satellites_that_serve() {
    let satellites = shell();
    let user = terminal(52.5, 13.4, 25.0);
    let plan = Connection { user, gateway: user, ..bent_pipe(&satellites) }.plan(start(), minutes(5)).unwrap();
    let tracks = serving_tracks(&satellites, &plan, start(), 5.0).unwrap();
    assert_eq!(tracks.len(), plan.hand_overs.len() + 1);
    for track in &tracks {
        assert!(track.points.len() >= 2);
        for (at, point) in &track.points {
            assert_eq!(*point, satellites[track.satellite].at(after(start(), *at)).unwrap().ground());
            // From 550 km above 25° a user sees 940 km far.
            assert!((point.latitude - 52.5).abs() < 9.0, "{point:?}");
        }
    }
    let around = ground_track(&satellites, 0, start(), 0.0, 5700.0, 10.0).unwrap();
    assert_eq!(around.points.len(), 571);
    let north = around.points.iter().map(|(_, point)| point.latitude).fold(0.0, f64::max);
    assert!((north - 53.0).abs() < 0.4, "{north}");
    assert!(ground_track(&satellites, 0, start(), 0.0, 1.0, 0.0).is_err());
}
