//! Satellites that move: by SGP4, or fixed above the equator.

use super::elements::{EARTH_RADIUS, Elements};
use super::error::Error;
use super::frame::{CENTURY, Look, Site, State, centuries, norm, sidereal_time};
use jiff::Timestamp;
use sgp4::{Constants, MinutesSinceEpoch, Orbit, WGS72};

/// How far from their epoch elements are used, in days. Errors grow by kilometres a day; a year is beyond any use.
const REACH_DAYS: i64 = 366;

/// Distance of a geostationary satellite from the Earth's centre in kilometres: (μ/ω²)^⅓ with μ of WGS-84, and half a kilometre for J₂.
const GEOSTATIONARY_RADIUS: f64 = 42164.69;

/// A satellite that can be asked where it is.
#[derive(Clone, Debug)]
pub struct Satellite {
    name: String,
    motion: Motion,
    ut1_minus_utc: f64,
}

#[derive(Clone, Debug)]
enum Motion {
    Mean { epoch: Timestamp, constants: Box<Constants> },
    Fixed(State),
}

impl Satellite {
    /// A satellite that follows SGP4 from its elements, with the constants of WGS-72 for which TLEs are made, and sidereal time by IAU-82
    /// (the *improved* mode of AIAA 2006-6753, as Skyfield's).
    pub fn new(elements: &Elements) -> Result<Self, Error> {
        let malformed = |problem| Error::Elements { satellite: elements.name.clone(), problem };
        elements.check().map_err(malformed)?;
        let diverged =
            |reason: String| Error::Diverged { satellite: elements.name.clone(), time: elements.epoch, reason };
        let orbit = Orbit::from_kozai_elements(
            &WGS72,
            elements.inclination.to_radians(),
            elements.right_ascension.to_radians(),
            elements.eccentricity,
            elements.argument_of_perigee.to_radians(),
            elements.mean_anomaly.to_radians(),
            elements.mean_motion * std::f64::consts::PI / 720.0,
        )
        .map_err(|error| diverged(error.to_string()))?;
        let years = centuries(elements.epoch) * 100.0;
        let constants = Constants::new(WGS72, |years| sidereal_time(years / 100.0), years, elements.drag, orbit)
            .map_err(|error| diverged(error.to_string()))?;
        let motion = Motion::Mean { epoch: elements.epoch, constants: Box::new(constants) };
        Ok(Self { name: elements.name.clone(), motion, ut1_minus_utc: 0.0 })
    }

    /// A satellite that stays above a longitude on the equator, in degrees east, as station-keeping holds it to about 0.1°.
    pub fn geostationary(name: impl Into<String>, longitude: f64) -> Result<Self, Error> {
        if !(-180.0..=360.0).contains(&longitude) {
            return Err(Error::OutOfRange { what: "longitude", value: longitude, allowed: "degrees from -180 to 360" });
        }
        let (sin, cos) = longitude.to_radians().sin_cos();
        let position = [GEOSTATIONARY_RADIUS * cos, GEOSTATIONARY_RADIUS * sin, 0.0];
        Ok(Self {
            name: name.into(),
            motion: Motion::Fixed(State { position, velocity: [0.0; 3] }),
            ut1_minus_utc: 0.0,
        })
    }

    /// The same satellite above an Earth that has turned to UT1, in seconds as the IERS publishes them (Bulletin A). Without it UTC stands in for UT1:
    /// a site is then up to 46 m off for each tenth of a second, which since 2017 has been all.
    pub fn with_ut1_minus_utc(self, seconds: f64) -> Result<Self, Error> {
        match (-1.0..=1.0).contains(&seconds) {
            true => Ok(Self { ut1_minus_utc: seconds, ..self }),
            false => Err(Error::OutOfRange { what: "UT1 - UTC", value: seconds, allowed: "seconds from -1 to 1" }),
        }
    }

    /// Its name, or its catalogue number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, in the Earth-fixed frame.
    pub fn at(&self, time: Timestamp) -> Result<State, Error> {
        match &self.motion {
            Motion::Fixed(state) => Ok(*state),
            Motion::Mean { epoch, constants } => {
                let (position, velocity) = self.teme(*epoch, constants, time)?;
                Ok(State::from_teme(position, velocity, centuries(time) + self.ut1_minus_utc / CENTURY))
            }
        }
    }

    /// How a site sees it.
    pub fn look(&self, from: &Site, time: Timestamp) -> Result<Look, Error> {
        Ok(from.look(&self.at(time)?))
    }

    /// Position and velocity in TEME, kilometres and kilometres a second.
    fn teme(&self, epoch: Timestamp, constants: &Constants, time: Timestamp) -> Result<([f64; 3], [f64; 3]), Error> {
        let since = time.duration_since(epoch);
        if since.as_hours().abs() >= REACH_DAYS * 24 {
            return Err(Error::TooFar { satellite: self.name.clone(), epoch, time, limit: REACH_DAYS });
        }
        let diverged = |reason| Error::Diverged { satellite: self.name.clone(), time, reason };
        let state = constants
            .propagate(MinutesSinceEpoch(since.as_secs_f64() / 60.0))
            .map_err(|error| diverged(error.to_string()))?;
        let radius = norm(state.position);
        if !radius.is_finite() || !norm(state.velocity).is_finite() {
            return Err(diverged("position is not a number".to_owned()));
        }
        // The crate leaves out what Vallado's code reports as error 6.
        if radius < EARTH_RADIUS {
            return Err(Error::Decayed { satellite: self.name.clone(), time, depth: EARTH_RADIUS - radius });
        }
        Ok((state.position, state.velocity))
    }
}

#[cfg(test)]
mod tests;
