//! Mean elements: what SGP4 starts from.

use super::error::Problem;
use jiff::Timestamp;
use std::f64::consts::TAU;

/// The Earth's equatorial radius and gravitational parameter in WGS-72, with which mean elements are fitted: kilometres, km³/s².
pub(super) const EARTH_RADIUS: f64 = 6378.135;
pub(super) const EARTH_GRAVITY: f64 = 398600.8;

/// Mean elements of an orbit, in the units of a TLE: what NORAD's analytical model SGP4 takes (Hoots and Roehrich, *Spacetrack Report 3*, 1980).
///
/// They are averages that belong to that model, not the ellipse on which the satellite is at that instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    /// Name of the satellite; its catalogue number if it has none.
    pub name: String,
    /// Catalogue number, with Alpha-5 letters as numbers of six digits.
    pub number: u64,
    /// International designator, if there is one.
    pub designator: Option<String>,
    /// When the elements hold.
    pub epoch: Timestamp,
    /// Kozai mean motion, revolutions a day.
    pub mean_motion: f64,
    /// Below 1.
    pub eccentricity: f64,
    /// Degrees from 0 to 180.
    pub inclination: f64,
    /// Right ascension of the ascending node, degrees.
    pub right_ascension: f64,
    /// Degrees.
    pub argument_of_perigee: f64,
    /// Degrees.
    pub mean_anomaly: f64,
    /// B*, the drag term, in inverse Earth radii.
    pub drag: f64,
}

impl Elements {
    /// Elements of a circular orbit without drag, of a satellite that is on no list.
    ///
    /// Altitude in kilometres above the equatorial radius, angles in degrees; `argument_of_latitude` counts from the ascending node.
    pub fn circular(
        name: impl Into<String>,
        epoch: Timestamp,
        altitude: f64,
        inclination: f64,
        right_ascension: f64,
        argument_of_latitude: f64,
    ) -> Self {
        Self {
            name: name.into(),
            number: 0,
            designator: None,
            epoch,
            mean_motion: mean_motion(EARTH_RADIUS + altitude),
            eccentricity: 0.0,
            inclination,
            right_ascension: right_ascension.rem_euclid(360.0),
            argument_of_perigee: 0.0,
            mean_anomaly: argument_of_latitude.rem_euclid(360.0),
            drag: 0.0,
        }
    }

    /// Height of the perigee above the equatorial radius in kilometres, by Kepler's third law.
    pub fn perigee(&self) -> f64 {
        let axis = (EARTH_GRAVITY / (self.mean_motion * TAU / 86400.0).powi(2)).cbrt();
        axis * (1.0 - self.eccentricity) - EARTH_RADIUS
    }

    /// Whether SGP4 can start from these elements.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let within = |field, value: f64, low: f64, high: f64, allowed| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(Problem::OutOfRange { field, value, allowed }),
        };
        // 0.05 revolutions a day lie beyond the Moon. Above, where the perigee would be inside the Earth, is caught below.
        within("mean motion", self.mean_motion, 0.05, 20.0, "revolutions a day from 0.05 to 20")?;
        within("eccentricity", self.eccentricity, 0.0, 1.0f64.next_down(), "at least 0, below 1")?;
        within("inclination", self.inclination, 0.0, 180.0, "degrees from 0 to 180")?;
        within("right ascension", self.right_ascension, 0.0, 360.0, "degrees from 0 to 360")?;
        within("argument of perigee", self.argument_of_perigee, 0.0, 360.0, "degrees from 0 to 360")?;
        within("mean anomaly", self.mean_anomaly, 0.0, 360.0, "degrees from 0 to 360")?;
        within("B*", self.drag, -10.0, 10.0, "from -10 to 10 inverse Earth radii")?;
        match self.perigee() {
            perigee if perigee < 0.0 => Err(Problem::Decayed { depth: -perigee }),
            _ => Ok(()),
        }
    }
}

/// Revolutions a day on an orbit with this semi-major axis in kilometres.
fn mean_motion(axis: f64) -> f64 {
    (EARTH_GRAVITY / axis.powi(3)).sqrt() * 86400.0 / TAU
}
