//! The points on the ground below satellites over time, for a picture.

use super::error::Error;
use super::frame::GroundPoint;
use super::passes::after;
use super::satellite::Satellite;
use super::service::Plan;
use jiff::Timestamp;

/// A line over the ground: the points below one satellite while it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Index of the satellite.
    pub satellite: usize,
    /// One point every step, with seconds since the start. Where two neighbours lie more than 180° of longitude apart, the line crosses the
    /// date line.
    pub points: Vec<(f64, GroundPoint)>,
}

/// The way of one satellite over the ground, in steps of some seconds; both ends are points.
pub fn ground_track(
    satellites: &[Satellite],
    satellite: usize,
    start: Timestamp,
    from: f64,
    until: f64,
    step: f64,
) -> Result<Track, Error> {
    let steps = ((until - from) / step).ceil();
    if !(0.0..=1e6).contains(&steps) {
        return Err(Error::OutOfRange { what: "number of points", value: steps, allowed: "at most 1000000" });
    }
    let mut points = Vec::new();
    for index in 0..=steps as usize {
        let at = (from + index as f64 * step).min(until);
        points.push((at, satellites[satellite].at(after(start, at))?.ground()));
    }
    Ok(Track { satellite, points })
}

/// The ways of the satellites that serve the user of a plan, each while it does.
pub fn serving_tracks(satellites: &[Satellite], plan: &Plan, start: Timestamp, step: f64) -> Result<Vec<Track>, Error> {
    let mut tracks: Vec<Track> = Vec::new();
    for stretch in &plan.stretches {
        let (from, until) = (stretch.from.as_secs_f64(), stretch.until.as_secs_f64());
        let track = ground_track(satellites, stretch.way[0], start, from, until, step)?;
        match tracks.last_mut().filter(|last| last.satellite == track.satellite) {
            Some(last) => last.points.extend(track.points.into_iter().skip(1)),
            None => tracks.push(track),
        }
    }
    Ok(tracks)
}
