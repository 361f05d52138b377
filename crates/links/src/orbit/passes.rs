//! When a site sees a satellite: rise, culmination, set.

use super::error::Error;
use super::frame::{Look, Site};
use super::satellite::Satellite;
use jiff::{SignedDuration, Timestamp};

/// How often elevation is looked at. Between two looks no orbit above the Earth's surface has both a peak and a trough.
const STEP: f64 = 30.0;

/// To how many seconds events are found.
const PRECISION: f64 = 1e-4;

/// Days that a search may cover.
const LONGEST: i64 = 366;

/// A satellite as it is seen at some instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// In UTC.
    pub time: Timestamp,
    /// Where it stands then.
    pub look: Look,
}

/// A stretch of time in which a satellite stands above the mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// When it comes above the mask; `None` if it was above at the beginning of the search.
    pub rise: Option<Event>,
    /// When it is highest, within the search.
    pub culmination: Event,
    /// When it goes below the mask; `None` if it is still above at the end of the search.
    pub set: Option<Event>,
}

/// Passes of a satellite over a site from one time until another, in their order.
///
/// `mask` is the elevation in degrees below which the site can't use a satellite. Events are found to 0.1 ms of the model, which is far closer
/// than the model is to the truth. Fails if the window is reversed or longer than 366 days, or the satellite has no place at some instant.
pub fn passes(
    satellite: &Satellite,
    site: &Site,
    mask: f64,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<Pass>, Error> {
    check_mask(mask)?;
    let window = until.duration_since(from);
    if window.is_negative() || window > SignedDuration::from_hours(LONGEST * 24) {
        let value = window.as_secs_f64() / 86400.0;
        return Err(Error::OutOfRange { what: "search in days", value, allowed: "from 0 to 366" });
    }
    Search { satellite, site, mask, from, seconds: window.as_secs_f64() }.passes()
}

/// Passes of several satellites, each with the satellite's index, in the order of their beginnings. See [`passes`].
pub fn passes_of_all(
    satellites: &[Satellite],
    site: &Site,
    mask: f64,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<(usize, Pass)>, Error> {
    let mut all = Vec::new();
    for (index, satellite) in satellites.iter().enumerate() {
        all.extend(passes(satellite, site, mask, from, until)?.into_iter().map(|pass| (index, pass)));
    }
    all.sort_by_key(|(index, pass)| (pass.rise.map_or(from, |rise| rise.time), *index));
    Ok(all)
}

pub(super) fn check_mask(mask: f64) -> Result<(), Error> {
    match (-90.0..=90.0).contains(&mask) {
        true => Ok(()),
        false => Err(Error::OutOfRange { what: "elevation mask", value: mask, allowed: "degrees from -90 to 90" }),
    }
}

/// Halves a span in which `late` turns from false to true until it is as short as `precision`; returns its end.
pub(super) fn turn(
    mut low: f64,
    mut high: f64,
    precision: f64,
    mut late: impl FnMut(f64) -> Result<bool, Error>,
) -> Result<f64, Error> {
    while high - low > precision {
        let middle = low + (high - low) / 2.0;
        match late(middle)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(high)
}

/// Times in here are seconds since `from`.
struct Search<'a> {
    satellite: &'a Satellite,
    site: &'a Site,
    mask: f64,
    from: Timestamp,
    seconds: f64,
}

/// An instant between which and the next elevation only grows or only falls.
#[derive(Clone, Copy)]
struct Knot {
    at: f64,
    elevation: f64,
    rate: f64,
}

impl Search<'_> {
    fn passes(&self) -> Result<Vec<Pass>, Error> {
        let knots = self.knots()?;
        let mut found = Vec::new();
        let mut rise = None;
        let mut highest: Option<Knot> = None;
        let mut last: Option<Knot> = None;
        for &knot in &knots {
            let above = knot.elevation >= self.mask;
            if let Some(before) = last
                && above != (before.elevation >= self.mask)
            {
                let edge =
                    turn(before.at, knot.at, PRECISION, |at| Ok((self.knot(at)?.elevation >= self.mask) == above))?;
                match (above, highest.take()) {
                    (false, Some(top)) => found.push(Pass {
                        rise: rise.take(),
                        culmination: self.event(top.at)?,
                        set: Some(self.event(edge)?),
                    }),
                    _ => rise = Some(self.event(edge)?),
                }
            }
            if above && highest.is_none_or(|top| knot.elevation > top.elevation) {
                highest = Some(knot);
            }
            last = Some(knot);
        }
        if let Some(top) = highest {
            found.push(Pass { rise, culmination: self.event(top.at)?, set: None });
        }
        Ok(found)
    }

    /// A grid, and the peaks and troughs between its points.
    fn knots(&self) -> Result<Vec<Knot>, Error> {
        let steps = (self.seconds / STEP).ceil() as usize;
        let mut knots = vec![self.knot(0.0)?];
        for step in 1..=steps {
            let knot = self.knot((step as f64 * STEP).min(self.seconds))?;
            let before = knots[knots.len() - 1];
            if before.rate * knot.rate < 0.0 {
                let at = turn(before.at, knot.at, PRECISION, |at| Ok(self.knot(at)?.rate * before.rate < 0.0))?;
                knots.push(self.knot(at)?);
            }
            knots.push(knot);
        }
        Ok(knots)
    }

    fn knot(&self, at: f64) -> Result<Knot, Error> {
        let (elevation, rate) = self.site.elevation_and_rate(&self.satellite.at(after(self.from, at))?);
        Ok(Knot { at, elevation, rate })
    }

    fn event(&self, at: f64) -> Result<Event, Error> {
        let time = after(self.from, at);
        Ok(Event { time, look: self.satellite.look(self.site, time)? })
    }
}

/// A time so many seconds later; the last there is, if that would be after the year 9999.
pub(super) fn after(start: Timestamp, seconds: f64) -> Timestamp {
    start.saturating_add(SignedDuration::from_nanos((seconds * 1e9) as i64)).unwrap_or(Timestamp::MAX)
}
