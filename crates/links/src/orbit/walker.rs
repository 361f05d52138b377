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
