//! Passes of random satellites over random sites, against a look every second.

use candor_links::orbit::{Elements, Error, Satellite, Site, passes, passes_of_all};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

fn start() -> Timestamp {
    "2025-03-09T00:00:00Z".parse().unwrap()
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn circular(altitude: f64, inclination: f64, node: f64, along: f64) -> Satellite {
    Satellite::new(&Elements::circular("made", start(), altitude, inclination, node, along)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_satellite_is_up_when_its_passes_say(
        altitude in 250.0..2000.0f64,
        inclination in 0.0..180.0f64,
        node in 0.0..360.0f64,
        latitude in -90.0..=90.0f64,
        longitude in -180.0..180.0f64,
        mask in 0.0..60.0f64,
    ) {
        let satellite = circular(altitude, inclination, node, 0.0);
        let site = Site::new(latitude, longitude, 0.0).unwrap();
        let length = 4 * 3600;
        let found = passes(&satellite, &site, mask, start(), start() + seconds(length)).unwrap();
        let mut last = start() - seconds(1);
        for pass in &found {
            let rise = pass.rise.map_or(start(), |event| event.time);
            let set = pass.set.map_or(start() + seconds(length), |event| event.time);
            prop_assert!(last < rise && rise <= pass.culmination.time && pass.culmination.time <= set, "{pass:?}");
            for event in pass.rise.iter().chain(&pass.set) {
                prop_assert!((event.look.elevation - mask).abs() < 1e-4, "{event:?}");
            }
            last = set;
        }
        for second in 0..length {
            let time = start() + seconds(second);
            let elevation = satellite.look(&site, time).unwrap().elevation;
            let pass = found.iter().find(|pass| {
                pass.rise.is_none_or(|rise| rise.time <= time) && pass.set.is_none_or(|set| time < set.time)
            });
            prop_assert_eq!(pass.is_some(), elevation >= mask, "at {}: {}", time, elevation);
            if let Some(pass) = pass {
                prop_assert!(elevation <= pass.culmination.look.elevation + 1e-9, "at {}", time);
            }
        }
    }
}

#[test]
fn a_pass_that_the_search_cuts_has_no_rise_or_no_set() {
    let satellite = circular(550.0, 53.0, 0.0, 0.0);
    let site = Site::new(0.0, 0.0, 0.0).unwrap();
    let day = passes(&satellite, &site, 10.0, start(), start() + seconds(86400)).unwrap();
    let whole = day.iter().find(|pass| pass.rise.is_some() && pass.set.is_some()).unwrap();
    let (rise, set) = (whole.rise.unwrap().time, whole.set.unwrap().time);
    let top = whole.culmination.time;
    let cut = |from, until| passes(&satellite, &site, 10.0, from, until).unwrap();
    let later = cut(rise + seconds(10), set + seconds(60));
    assert!(later.len() == 1 && later[0].rise.is_none() && later[0].set.is_some());
    let early = cut(rise - seconds(60), top - seconds(10));
    assert!(early.len() == 1 && early[0].rise.is_some() && early[0].set.is_none());
    assert_eq!(early[0].culmination.time, top - seconds(10), "it was still climbing");
    assert!(cut(set + seconds(1), set + seconds(60)).is_empty());
    assert!(cut(top, top).len() == 1, "a window may be an instant");
}

#[test]
fn a_geostationary_satellite_never_sets() {
    let satellite = Satellite::geostationary("GEO", 0.0).unwrap();
    let up = passes(&satellite, &Site::new(45.0, 10.0, 0.0).unwrap(), 10.0, start(), start() + seconds(86400)).unwrap();
    assert!(up.len() == 1 && up[0].rise.is_none() && up[0].set.is_none());
    let hidden =
        passes(&satellite, &Site::new(85.0, 10.0, 0.0).unwrap(), 10.0, start(), start() + seconds(86400)).unwrap();
    assert!(hidden.is_empty());
}

#[test]
fn passes_of_several_satellites_come_in_order() {
    let satellites =
        [circular(550.0, 53.0, 0.0, 0.0), circular(550.0, 53.0, 90.0, 0.0), circular(800.0, 98.6, 45.0, 0.0)];
    let site = Site::new(52.5, 13.4, 0.0).unwrap();
    let all = passes_of_all(&satellites, &site, 10.0, start(), start() + seconds(86400)).unwrap();
    assert!((0..3).all(|index| all.iter().any(|(satellite, _)| *satellite == index)));
    let begin = |pass: &candor_links::orbit::Pass| pass.rise.map_or(start(), |rise| rise.time);
    assert!(all.windows(2).all(|pair| begin(&pair[0].1) <= begin(&pair[1].1)));
}

#[test]
fn searches_that_make_no_sense_are_refused() {
    let satellite = circular(550.0, 53.0, 0.0, 0.0);
    let site = Site::new(0.0, 0.0, 0.0).unwrap();
    let search = |mask, length: i64| passes(&satellite, &site, mask, start(), start() + seconds(length));
    assert!(search(10.0, 60).is_ok());
    for mask in [f64::NAN, 90.1, -91.0] {
        assert!(matches!(search(mask, 60), Err(Error::OutOfRange { what: "elevation mask", .. })));
    }
    assert_eq!(search(10.0, -43200).unwrap_err().to_string(), "search in days is -0.5; expected from 0 to 366");
    assert!(matches!(search(10.0, 367 * 86400), Err(Error::OutOfRange { .. })));
    assert!(matches!(search(10.0, 366 * 86400), Err(Error::TooFar { .. })), "the elements are too old at its end");
}
