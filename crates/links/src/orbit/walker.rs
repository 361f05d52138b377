//! Generated constellations: Walker's delta pattern of circular orbits.

use super::elements::Elements;
use super::error::Error;
use super::grid::Grid;
use super::satellite::Satellite;
use jiff::Timestamp;

/// A shell of circular orbits: `planes` of them around the whole equator, `per_plane` satellites evenly in each.
///
/// In Walker's notation `i: t/p/f` (Walker, *Satellite constellations*, JBIS 37, 1984) t is their product and f the phasing: a satellite of one plane
/// is f·360°/t further on its way than that of the plane to its west.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walker {
    /// Degrees.
    pub inclination: f64,
    /// How many orbital planes.
    pub planes: usize,
    /// How many satellites in each.
    pub per_plane: usize,
    /// From 0 to one less than `planes`.
    pub phasing: usize,
    /// Kilometres above the equatorial radius.
    pub altitude: f64,
}

impl Walker {
    /// A shell like the first of Starlink: 72 planes of 22 at 53° and 550 km. Of the 72 phasings it has the one that keeps satellites of different
    /// planes furthest apart (on circles, 71 km); the operator's own is not public.
    pub const SHELL: Self = Self { inclination: 53.0, planes: 72, per_plane: 22, phasing: 65, altitude: 550.0 };

    /// All satellites, plane after plane, as they are at an epoch.
    pub fn satellites(&self, epoch: Timestamp) -> Result<Vec<Satellite>, Error> {
        self.elements(epoch)?.iter().map(Satellite::new).collect()
    }

    /// Their elements. Drag is left out, since satellites are kept at their altitude.
    pub fn elements(&self, epoch: Timestamp) -> Result<Vec<Elements>, Error> {
        self.check()?;
        let slot = 360.0 / self.per_plane as f64;
        let places = (0..self.planes).flat_map(|plane| (0..self.per_plane).map(move |place| (plane, place)));
        Ok(places
            .map(|(plane, place)| {
                let turn = plane as f64 / self.planes as f64;
                let along = slot * (place as f64 + self.phasing as f64 * turn);
                let name = format!("plane {plane} satellite {place}");
                Elements::circular(name, epoch, self.altitude, self.inclination, 360.0 * turn, along)
            })
            .collect())
    }

    /// Links between satellites: to the one before and behind in the same plane, and to the nearest in phase of the planes to the east and west.
    pub fn grid(&self) -> Result<Grid, Error> {
        self.check()?;
        let (planes, places) = (self.planes, self.per_plane);
        // By how many places the neighbour in the next plane is further back, so that it is at most half a slot ahead.
        let back = (self.phasing + planes / 2) / planes;
        let mut grid = Grid::new(planes * places);
        for plane in 0..planes {
            // All around the equator, the phases have shifted by `phasing` slots.
            let seam = if plane + 1 == planes { self.phasing } else { 0 };
            for place in 0..places {
                let here = plane * places + place;
                grid.link(here, plane * places + (place + 1) % places);
                grid.link(here, (plane + 1) % planes * places + (place + seam + places - back) % places);
            }
        }
        Ok(grid)
    }

    fn check(&self) -> Result<(), Error> {
        let within = |what, value: usize, low: usize, high: usize, allowed| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(Error::OutOfRange { what, value: value as f64, allowed }),
        };
        within("number of planes", self.planes, 1, 1000, "from 1 to 1000")?;
        within("number of satellites in a plane", self.per_plane, 1, 1000, "from 1 to 1000")?;
        within("phasing", self.phasing, 0, self.planes - 1, "from 0 to one less than the number of planes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orbit::frame::{light_time, minus, norm};

    fn epoch() -> Timestamp {
        "2025-03-09T00:00:00Z".parse().unwrap()
    }

    /// How close satellites of different planes come on circles, for a pattern on the unit sphere.
    ///
    /// Two satellites that are Δ apart in phase, on circles whose nodes are Ω apart, see each other under an angle whose cosine is at most
    /// (P + Q)/2 cos Δ + |P - Q|/2 - cos i sin Ω sin Δ, with P = cos Ω and Q = cos² i cos Ω + sin² i.
    fn closest(shell: &Walker) -> f64 {
        let (sin_i, cos_i) = shell.inclination.to_radians().sin_cos();
        let mut cosine: f64 = -1.0;
        for plane in 1..shell.planes {
            let turn = plane as f64 / shell.planes as f64;
            let (sin, p) = (std::f64::consts::TAU * turn).sin_cos();
            let q = cos_i.powi(2) * p + sin_i.powi(2);
            for place in 0..shell.per_plane {
                let apart = (place as f64 + shell.phasing as f64 * turn) / shell.per_plane as f64;
                let (sin_d, cos_d) = (std::f64::consts::TAU * apart).sin_cos();
                cosine = cosine.max((p + q) / 2.0 * cos_d + (p - q).abs() / 2.0 - cos_i * sin * sin_d);
            }
        }
        (2.0 - 2.0 * cosine).max(0.0).sqrt()
    }

    #[test]
    fn the_shells_phasing_keeps_planes_furthest_apart() {
        let distance = |phasing| closest(&Walker { phasing, ..Walker::SHELL });
        let best = (0..72).max_by(|&one, &other| distance(one).total_cmp(&distance(other)));
        assert_eq!(best, Some(Walker::SHELL.phasing));
        let kilometres = distance(Walker::SHELL.phasing) * 6928.0;
        assert!((kilometres - 71.5).abs() < 0.5, "{kilometres}");
    }

    #[test]
    fn the_shell_is_where_it_should_be() {
        let satellites = Walker::SHELL.satellites(epoch()).unwrap();
        assert_eq!(satellites.len(), 1584);
        let mut north: f64 = 0.0;
        for (index, satellite) in satellites.iter().enumerate() {
            let point = satellite.at(epoch()).unwrap().ground();
            // Earth's flattening lets the height vary by 14 km between 53° and the equator, J₂ the orbit by 10.
            assert!((535.0..585.0).contains(&point.height), "{index}: {point:?}");
            north = north.max(point.latitude);
        }
        assert!((north - 53.0).abs() < 0.5, "{north}");
    }

    #[test]
    fn each_satellite_has_four_neighbours_that_stay_near() {
        let shell = Walker::SHELL;
        let (grid, satellites) = (shell.grid().unwrap(), shell.satellites(epoch()).unwrap());
        let mut longest = std::time::Duration::ZERO;
        for minutes in [0, 20, 40] {
            let time = epoch() + jiff::SignedDuration::from_mins(minutes);
            let states: Vec<_> = satellites.iter().map(|satellite| satellite.at(time).unwrap()).collect();
            for (index, state) in states.iter().enumerate() {
                assert_eq!(grid.neighbours(index).len(), 4, "{index}");
                for &next in grid.neighbours(index) {
                    assert!(grid.neighbours(next).contains(&index));
                    longest = longest.max(light_time(norm(minus(states[next].position, state.position))));
                }
            }
        }
        // 1/22 of the circle is a chord of 1972 km, 6.6 ms.
        assert!((6.4e-3..6.8e-3).contains(&longest.as_secs_f64()), "{longest:?}");
    }

    #[test]
    fn patterns_that_are_none_are_refused() {
        let good = Walker { inclination: 86.4, planes: 6, per_plane: 11, phasing: 2, altitude: 780.0 };
        assert_eq!(good.satellites(epoch()).unwrap().len(), 66);
        for bad in [
            Walker { planes: 0, ..good },
            Walker { per_plane: 1001, ..good },
            Walker { phasing: 6, ..good },
            Walker { altitude: -1.0, ..good },
            Walker { altitude: f64::NAN, ..good },
            Walker { inclination: 181.0, ..good },
        ] {
            assert!(bad.satellites(epoch()).is_err(), "{bad:?}");
        }
        assert!(good.grid().is_ok() && Walker { planes: 0, ..good }.grid().is_err());
    }
}
