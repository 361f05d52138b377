//! Element sets of satellites.

use candor_links::orbit::{Satellite, Site, read};
use std::time::Duration;

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
