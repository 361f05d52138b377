//! Element sets of satellites, topologies, and circuits as lines.

use candor_links::Record;
use candor_links::orbit::{Satellite, Site, read};
use candor_links::simulator::{Plan, World};
use candor_links::survey::Summary;
use candor_links::topology::{Role, Topology};
use candor_network::HandshakeType;
use std::time::Duration;

/// Samples of a flight that a topology may ask for here. Longer ones take seconds.
const MOST_SAMPLES: f64 = 300.0;

/// A file from anywhere: an error that names a line of it, or satellites that have a place or say why not.
pub fn elements(data: &[u8]) {
    let lines = data.split(|&byte| byte == b'\n').count();
    let sets = match read(data) {
        Ok(sets) => sets,
        Err(candor_links::orbit::Error::File { line, .. }) => {
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(!sets.is_empty());
    let site = Site::new(52.5, 13.4, 0.0).expect("a place on the Earth");
    for elements in sets.iter().take(4) {
        let Ok(satellite) = Satellite::new(elements) else { continue };
        for hours in [0, 1, 8000] {
            let Ok(time) = elements.epoch.checked_add(Duration::from_secs(3600 * hours)) else { continue };
            if let Ok(look) = satellite.look(&site, time) {
                assert!(look.range.is_finite() && (-90.0..=90.0).contains(&look.elevation), "{look:?}");
            }
        }
    }
}

/// A topology from anywhere: an error that names a line of it, or one with ways for a circuit, which a world carries or gives up.
pub fn topology(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let topology = match Topology::parse("fuzz", text) {
        Ok(topology) => topology,
        Err(error) => {
            let lines = text.split('\n').count();
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error} of {lines}");
            return;
        }
    };
    let topology = match &topology.orbit {
        None => topology,
        Some(orbit) if orbit.length.as_secs_f64() / orbit.step.as_secs_f64() > MOST_SAMPLES => return,
        Some(_) => match topology.fly(None, None) {
            Ok(flown) => flown,
            Err(error) => return assert!(!error.to_string().is_empty()),
        },
    };
    for set in topology.sets().into_iter().map(Some).chain([None]) {
        for pair in Role::ALL.windows(2) {
            assert!(topology.way(pair[0], pair[1], set).is_ok(), "{pair:?} {set:?}");
        }
        assert!(topology.picture(set).lines().count() >= 4);
    }
    let outcome = World::new(&Plan::new(topology, HandshakeType::Ntor)).expect("there are ways").build();
    assert!(outcome.built.is_some() != outcome.failure.is_some(), "{outcome:?}");
}

/// Lines from anywhere: an error, or circuits that are written again as they were read and can be counted together.
pub fn circuits(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut records = Vec::new();
    for line in text.lines() {
        match Record::parse(line) {
            Ok((handshake, record)) => {
                assert_eq!(Record::parse(&record.line(handshake)).as_ref(), Ok(&(handshake, record.clone())));
                records.push(record);
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
    let summary = Summary::of_records(&records);
    assert_eq!(summary.circuits, records.len());
    assert!(summary.goodput.is_none_or(f64::is_finite));
}
