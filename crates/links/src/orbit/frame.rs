//! The Earth's rotation and figure: from SGP4's frame to the ground, and from a site to a satellite.
//!
//! SGP4 answers in TEME, the true equator and mean equinox of date. Greenwich mean sidereal time turns that to the Earth-fixed frame
//! (Vallado, Crawford, Hujsak and Kelso, *Revisiting Spacetrack Report #3*, AIAA 2006-6753, appendix C). `docs/orbits.md` says what is left out.

use super::error::Error;
use jiff::Timestamp;
use std::time::Duration;

/// Three components in kilometres or kilometres a second.
pub(super) type Vector = [f64; 3];

/// Kilometres a second.
pub const SPEED_OF_LIGHT: f64 = 299792.458;

/// Semi-major axis in kilometres and flattening of the WGS-84 ellipsoid (NIMA TR8350.2, table 3.1).
const SEMI_MAJOR_AXIS: f64 = 6378.137;
const FLATTENING: f64 = 1.0 / 298.257223563;
/// First eccentricity, squared.
const ECCENTRICITY_2: f64 = FLATTENING * (2.0 - FLATTENING);

/// 2000-01-01T12:00:00 on the clock of UTC, in seconds since 1970.
const J2000: i64 = 946728000;

/// Turn of the Earth against the mean equinox, radians a second: the derivative of GMST in 2000.
pub(super) const EARTH_RATE: f64 = 7.292115855e-5;

/// Greenwich mean sidereal time in radians, by the expression of the IAU of 1982, for Julian centuries of UT1 since J2000.
pub(super) fn sidereal_time(centuries: f64) -> f64 {
    let seconds = 67310.54841 + (876600.0 * 3600.0 + 8640184.812866) * centuries + 0.093104 * centuries.powi(2)
        - 6.2e-6 * centuries.powi(3);
    (seconds.rem_euclid(86400.0) / 86400.0) * std::f64::consts::TAU
}

/// Seconds in a Julian century.
pub(super) const CENTURY: f64 = 36525.0 * 86400.0;

/// Julian centuries since J2000 on the clock of UTC.
pub(super) fn centuries(time: Timestamp) -> f64 {
    let seconds = (time.as_second() - J2000) as f64 + f64::from(time.subsec_nanosecond()) / 1e9;
    seconds / CENTURY
}

/// Where a satellite is and how fast, in the Earth-fixed frame of WGS-84 (ITRF, but for polar motion).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Kilometres from the Earth's centre: x to 0° E, y to 90° E, z to the north pole.
    pub position: [f64; 3],
    /// Kilometres a second, as seen by somebody who turns with the Earth.
    pub velocity: [f64; 3],
}

impl State {
    /// Turns a state of TEME to the Earth-fixed frame, at a time in Julian centuries of UT1 since J2000.
    pub(super) fn from_teme(position: Vector, velocity: Vector, ut1: f64) -> Self {
        let (sin, cos) = sidereal_time(ut1).sin_cos();
        let turn = |[x, y, z]: Vector| [cos * x + sin * y, cos * y - sin * x, z];
        let (position, [vx, vy, vz]) = (turn(position), turn(velocity));
        // The frame turns under the satellite: v - ω × r.
        let velocity = [vx + EARTH_RATE * position[1], vy - EARTH_RATE * position[0], vz];
        Self { position, velocity }
    }

    /// The point below on the ellipsoid: latitude and longitude in degrees, height in kilometres.
    pub fn ground(&self) -> GroundPoint {
        let [x, y, z] = self.position;
        let across = x.hypot(y);
        // Fixed point of the latitude; its error shrinks by e² = 1/150 or more each time.
        let mut latitude = z.atan2(across * (1.0 - ECCENTRICITY_2));
        for _ in 0..8 {
            let sin = latitude.sin();
            latitude = (z + curvature(sin) * ECCENTRICITY_2 * sin).atan2(across);
        }
        let (sin, cos) = latitude.sin_cos();
        // Along the normal; this form stays exact at the poles.
        let height = across * cos + z * sin - SEMI_MAJOR_AXIS.powi(2) / curvature(sin);
        GroundPoint { latitude: latitude.to_degrees(), longitude: y.atan2(x).to_degrees(), height }
    }
}

/// The radius of curvature in the prime vertical, in kilometres.
fn curvature(sin_latitude: f64) -> f64 {
    SEMI_MAJOR_AXIS / (1.0 - ECCENTRICITY_2 * sin_latitude.powi(2)).sqrt()
}

/// A point by its geodetic coordinates on WGS-84.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundPoint {
    /// Degrees, north positive.
    pub latitude: f64,
    /// Degrees from -180 to 180, east positive.
    pub longitude: f64,
    /// Kilometres above the ellipsoid.
    pub height: f64,
}

/// A place on the ground from which satellites are seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    position: Vector,
    east: Vector,
    north: Vector,
    up: Vector,
}

impl Site {
    /// Geodetic latitude and longitude in degrees (north and east positive), height above the WGS-84 ellipsoid in metres.
    pub fn new(latitude: f64, longitude: f64, height: f64) -> Result<Self, Error> {
        let within = |what, value: f64, low, high, allowed| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(Error::OutOfRange { what, value, allowed }),
        };
        within("latitude", latitude, -90.0, 90.0, "degrees from -90 to 90")?;
        within("longitude", longitude, -180.0, 360.0, "degrees from -180 to 360")?;
        within("height", height, -1000.0, 100000.0, "metres from -1000 to 100000")?;
        let (sin, cos) = latitude.to_radians().sin_cos();
        let (sin_long, cos_long) = longitude.to_radians().sin_cos();
        let radius = curvature(sin);
        let height = height / 1000.0;
        let across = (radius + height) * cos;
        Ok(Self {
            position: [across * cos_long, across * sin_long, (radius * (1.0 - ECCENTRICITY_2) + height) * sin],
            east: [-sin_long, cos_long, 0.0],
            north: [-sin * cos_long, -sin * sin_long, cos],
            up: [cos * cos_long, cos * sin_long, sin],
        })
    }

    /// Where the site is in the Earth-fixed frame, in kilometres.
    pub fn position(&self) -> [f64; 3] {
        self.position
    }

    /// Where a satellite stands in the sky, and how far away it is.
    ///
    /// Both are taken at one instant: the way that the satellite goes while the signal is under way is left out, as is refraction.
    pub fn look(&self, at: &State) -> Look {
        let line = minus(at.position, self.position);
        let range = norm(line);
        let (east, north, up) = (dot(line, self.east), dot(line, self.north), dot(line, self.up));
        Look {
            azimuth: east.atan2(north).to_degrees().rem_euclid(360.0),
            elevation: up.atan2(east.hypot(north)).to_degrees(),
            range,
            range_rate: dot(line, at.velocity) / range,
        }
    }

    /// Elevation in degrees, and a number with the sign of its rate: that of its sine, in 1/s.
    pub(super) fn elevation_and_rate(&self, at: &State) -> (f64, f64) {
        let line = minus(at.position, self.position);
        let range = norm(line);
        let sine = dot(line, self.up) / range;
        let rate = dot(at.velocity, self.up) / range - sine * dot(line, at.velocity) / range.powi(2);
        (self.look(at).elevation, rate)
    }
}

/// A satellite as a site sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Degrees from north over east.
    pub azimuth: f64,
    /// Degrees above the horizontal plane.
    pub elevation: f64,
    /// Straight distance in kilometres.
    pub range: f64,
    /// How fast the range grows, kilometres a second.
    pub range_rate: f64,
}

impl Look {
    /// How long light takes for the range.
    pub fn delay(&self) -> Duration {
        light_time(self.range)
    }

    /// By how much a carrier is received too high, in the carrier's unit: -f·ṙ/c. The second order, 4 Hz of 12 GHz in a low orbit, is left out.
    pub fn doppler(&self, carrier: f64) -> f64 {
        -carrier * self.range_rate / SPEED_OF_LIGHT
    }
}

/// How long light takes for a distance in kilometres.
pub(super) fn light_time(kilometres: f64) -> Duration {
    Duration::from_secs_f64(kilometres / SPEED_OF_LIGHT)
}

pub(super) fn minus([a, b, c]: Vector, [x, y, z]: Vector) -> Vector {
    [a - x, b - y, c - z]
}

pub(super) fn norm(v: Vector) -> f64 {
    dot(v, v).sqrt()
}

pub(super) fn dot([a, b, c]: Vector, [x, y, z]: Vector) -> f64 {
    a * x + b * y + c * z
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of AIAA 2006-6753, appendix C: 2004-04-06T07:51:28.386009 UTC, with UT1 - UTC = -0.439961 s. The paper also applies
    /// polar motion; its PEF values come before that.
    #[test]
    fn teme_turns_to_the_papers_earth_fixed_frame() {
        let ut1 = centuries("2004-04-06T07:51:28.386009Z".parse().unwrap()) - 0.439961 / CENTURY;
        let state = State::from_teme(
            [5094.18016210, 6127.64465950, 6380.34453270],
            [-4.746131487, 0.785818041, 5.531931288],
            ut1,
        );
        let expected = [-1033.47503130, 7901.30558560, 6380.34453270];
        let speed = [-3.225632747, -2.872442511, 5.531931288];
        assert!(norm(minus(state.position, expected)) < 1e-4, "{:?}", state.position);
        assert!(norm(minus(state.velocity, speed)) < 1e-7, "{:?}", state.velocity);
    }

    #[test]
    fn a_site_lies_at_its_own_coordinates() {
        for latitude in [-90.0, -53.16, -0.18, 0.0, 18.17, 78.23, 90.0] {
            for longitude in [-70.91, 0.0, 47.41, 179.9] {
                for height in [-100.0, 0.0, 2850.0, 99000.0] {
                    let site = Site::new(latitude, longitude, height).unwrap();
                    let point = State { position: site.position(), velocity: [0.0; 3] }.ground();
                    assert!((point.latitude - latitude).abs() < 1e-9, "{point:?}");
                    assert!((point.height - height / 1000.0).abs() < 1e-8, "{point:?}");
                    assert!(latitude.abs() == 90.0 || (point.longitude - longitude).abs() < 1e-9, "{point:?}");
                }
            }
        }
    }

    #[test]
    fn a_satellite_overhead_is_overhead_and_shifts_nothing() {
        let site = Site::new(45.0, 10.0, 0.0).unwrap();
        let above = Site::new(45.0, 10.0, 100000.0).unwrap();
        let look = site.look(&State { position: above.position(), velocity: [1.0, 0.0, 0.0] });
        assert!((look.elevation - 90.0).abs() < 1e-6 && (look.range - 100.0).abs() < 1e-9, "{look:?}");
        let still = site.look(&State { position: above.position(), velocity: [0.0; 3] });
        assert_eq!((still.range_rate, still.doppler(12e9)), (0.0, 0.0));
    }

    #[test]
    fn what_comes_closer_is_received_too_high() {
        let look = Look { azimuth: 0.0, elevation: 10.0, range: 1000.0, range_rate: -6.88 };
        assert!((look.doppler(12e9) - 275.4e3).abs() < 100.0, "{}", look.doppler(12e9));
    }

    #[test]
    fn sites_that_are_nowhere_are_refused() {
        assert!(Site::new(90.0, 360.0, 100000.0).is_ok());
        for (latitude, longitude, height) in [
            (90.1, 0.0, 0.0),
            (f64::NAN, 0.0, 0.0),
            (0.0, 361.0, 0.0),
            (0.0, f64::INFINITY, 0.0),
            (0.0, 0.0, 100001.0),
            (0.0, 0.0, f64::NAN),
        ] {
            assert!(matches!(Site::new(latitude, longitude, height), Err(Error::OutOfRange { .. })));
        }
    }
}
