//! Figures of satellites that pass: the delay and the time to circuit over time, and where the satellites are meanwhile.

use super::saver;
use crate::Failure;
use crate::cli::CircuitArguments;
use crate::commands::circuit::pass::Circuits;
use crate::output::Talk;
use candor_lab::figure::{Axis, Figure, Panel, Series};
use candor_links::orbit::{GroundPoint, Link, State, Terminal, Track};
use candor_links::simulator::{Outcome, Plan};
use candor_links::topology::Flight;
use candor_network::HandshakeType;
use std::time::Duration;

/// Points of a line over time, about.
const POINTS: usize = 600;
/// So many satellites have their names at the line of the delay; more would stand on each other.
const NAMED: usize = 4;
/// Degrees between user and gateway, below which they share one word.
const CLOSE: f64 = 2.0;

/// Draws what was asked for: `TOPOLOGY-pass` and `TOPOLOGY-ground-track`.
pub(in crate::commands::circuit) fn write(
    arguments: &CircuitArguments,
    plan: &Plan,
    flight: &Flight,
    costs: &str,
    all: &[(HandshakeType, Circuits)],
    talk: Talk,
) -> Result<(), Failure> {
    let Some(save) = saver(arguments, plan, talk) else { return Ok(()) };
    let name = &plan.topology.name;
    let ends = plan.topology.orbit.as_ref().map(|orbit| [orbit.user, orbit.gateway]);
    let figures = [over_time(name, flight, costs, all), ends.and_then(|ends| ground_track(name, flight, ends))];
    for figure in figures.into_iter().flatten() {
        save(&figure)?;
    }
    Ok(())
}

fn minutes(at: Duration) -> f64 {
    at.as_secs_f64() / 60.0
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The delay above, the time to circuit by each handshake below.
fn over_time(name: &str, flight: &Flight, costs: &str, all: &[(HandshakeType, Circuits)]) -> Option<Figure> {
    let samples = &flight.plan.samples;
    // A time without a link interrupts the line, however short it is.
    let points = samples.chunks(samples.len().div_ceil(POINTS).max(1)).map(|some| {
        let shown = some.iter().find(|sample| sample.link.is_none()).unwrap_or(&some[0]);
        shown.link.map(|link| (minutes(shown.at), ms(link.delay)))
    });
    let delay = Series { name: "delay".into(), points: points.collect(), marks: satellites(flight) };
    let circuits = all.iter().map(|(handshake, circuits)| {
        let point = |(at, outcome): &(Duration, Option<Outcome>)| {
            let built = outcome.as_ref()?.built?;
            Some((minutes(*at), ms(built)))
        };
        Series { name: handshake.to_string(), points: circuits.iter().map(point).collect(), marks: Vec::new() }
    });
    let across = format!("minutes after {:.0}", flight.start);
    let axes = (Axis::Linear, Axis::Linear);
    let panels = [
        Panel { across: across.clone(), up: "delay from user to gateway, ms".into(), axes, series: vec![delay] },
        Panel { across, up: "time to circuit, ms".into(), axes, series: circuits.collect() },
    ];
    let title = format!("{name}: delay and time to circuit, SIMULATED");
    let caption = format!(
        "SIMULATED in virtual time. A ring is where another satellite begins to serve; a line is interrupted where there is no link, or a circuit was not built. \
         Computation: {costs}."
    );
    Panel::draw(&panels, Figure::titled("pass", &title, caption).narrow())
}

/// Where another satellite begins to serve the user; with its name, if they are few.
fn satellites(flight: &Flight) -> Vec<(f64, f64, String)> {
    let mut last = None;
    let mut marks = Vec::new();
    for stretch in &flight.plan.stretches {
        let satellite = stretch.way.first().copied();
        let link = flight.link(stretch.from).or_else(|| flight.link(stretch.from + Duration::from_nanos(1)));
        if let (Some(satellite), Some(Link { delay, .. })) = (satellite.filter(|_| satellite != last), link) {
            marks.push((minutes(stretch.from), ms(delay), flight.name(satellite).to_owned()));
        }
        last = satellite;
    }
    if marks.len() > NAMED {
        marks.iter_mut().for_each(|(.., word)| word.clear());
    }
    marks
}

/// The points below the serving satellites, with user and gateway.
fn ground_track(name: &str, flight: &Flight, ends: [Terminal; 2]) -> Option<Figure> {
    let mut series: Vec<Series> = flight.tracks.iter().map(|track| line(flight, track)).collect();
    // There are more satellites than colours.
    if series.len() > 1 {
        for (number, track) in (1..).zip(&mut series) {
            track.name = format!("{number} {}", track.name);
            track.marks.iter_mut().for_each(|(.., word)| *word = number.to_string());
        }
    }
    let [user, gateway] = ends.map(|end| place(&State { position: end.site.position(), velocity: [0.0; 3] }.ground()));
    let close = (user.0 - gateway.0).abs() + (user.1 - gateway.1).abs() < CLOSE;
    let words = if close { ["user, gateway", ""] } else { ["user", "gateway"] };
    series.push(Series {
        name: "on the ground".into(),
        points: vec![Some(user), None, Some(gateway)],
        marks: [user, gateway].into_iter().zip(words).map(|((x, y), word)| (x, y, word.to_owned())).collect(),
    });
    let panel =
        Panel { across: "degrees east".into(), up: "degrees north".into(), axes: (Axis::Linear, Axis::Linear), series };
    let title = format!("{name}: points below the serving satellites");
    let caption = format!(
        "By SGP4, from {:.0} until {:.0}. A ring is where a satellite begins to serve the user.",
        flight.start,
        flight.time(flight.ends())
    );
    Panel::draw(&[panel], Figure::titled("ground-track", &title, caption).narrow())
}

/// A satellite's way while it serves.
fn line(flight: &Flight, track: &Track) -> Series {
    let mut points: Vec<Option<(f64, f64)>> = Vec::new();
    for (_, point) in &track.points {
        let to = place(point);
        // Over the date line, from one edge of the picture to the other.
        if let Some(Some(from)) = points.last()
            && (from.0 - to.0).abs() > 180.0
        {
            points.push(None);
        }
        points.push(Some(to));
    }
    let begins = points.first().copied().flatten().map(|(x, y)| (x, y, String::new()));
    Series { name: flight.name(track.satellite).to_owned(), points, marks: begins.into_iter().collect() }
}

fn place(point: &GroundPoint) -> (f64, f64) {
    (point.longitude, point.latitude)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_links::survey::series;
    use candor_links::topology::Topology;

    fn plan(name: &str) -> Plan {
        Plan { begin: Duration::ZERO, ..Plan::new(Topology::built_in(name).unwrap().unwrap(), HandshakeType::Ntor) }
    }

    #[test]
    fn a_pass_has_a_line_for_the_delay_and_one_for_each_handshake() {
        let plan = plan("leo-pass");
        let flight = plan.topology.flight().unwrap();
        let circuits = series(&plan, Duration::from_secs(200), 4).unwrap();
        let all = [(HandshakeType::Ntor, circuits)];
        let svg = over_time("leo-pass", flight, "none", &all).unwrap().svg();
        for word in ["SIMULATED", ">delay<", ">ntor<", ">time to circuit, ms<", ">minutes after 2025-03-09T16:56:50Z<"]
        {
            assert!(svg.contains(word), "{word}: {svg}");
        }
        assert_eq!(satellites(flight).len(), 1);
        assert!(svg.contains(&format!(">{}<", satellites(flight)[0].2)), "the only one is named");
    }

    #[test]
    fn hand_overs_are_marked_and_named_only_where_there_is_room() {
        let plan = plan("leo-shell");
        let flight = plan.topology.flight().unwrap();
        let marks = satellites(flight);
        assert!(marks.len() > NAMED && marks.iter().all(|(.., word)| word.is_empty()), "{marks:?}");
        assert!(marks.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn the_ground_track_shows_each_serving_satellite_and_both_ends() {
        let shown = |name: &str| {
            let plan = plan(name);
            let orbit = plan.topology.orbit.as_ref().unwrap();
            ground_track(name, plan.topology.flight().unwrap(), [orbit.user, orbit.gateway]).unwrap().svg()
        };
        let (pass, shell) = (shown("leo-pass"), shown("leo-shell"));
        assert!(pass.contains(">user, gateway<") && !pass.contains(">gateway<"), "51 km apart");
        assert!(shell.contains(">user<") && shell.contains(">gateway<"));
        let plan = plan("leo-shell");
        let flight = plan.topology.flight().unwrap();
        for (number, track) in (1..).zip(&flight.tracks) {
            assert!(shell.contains(&format!(">{number} {}<", flight.name(track.satellite))));
            assert!(shell.contains(&format!(">{number}<")), "at the line's beginning");
        }
    }

    #[test]
    fn a_way_over_the_date_line_is_interrupted_there() {
        let plan = plan("leo-pass");
        let point = |longitude| (0.0, GroundPoint { latitude: 1.0, longitude, height: 550.0 });
        let track = Track { satellite: 0, points: [178.0, 179.5, -179.0, -177.5].map(point).to_vec() };
        let points = line(plan.topology.flight().unwrap(), &track).points;
        assert_eq!(points.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, true, true]);
    }
}
