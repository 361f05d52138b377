//! Orbits: where satellites are, when a site sees them, and how long a signal takes through them.
//!
//! [`read`] takes element sets from a file, [`Walker`] and [`Satellite::geostationary`] make some up. A [`Satellite`] follows SGP4; a [`Site`] on
//! the ground sees it at a [`Look`]. [`passes()`] says when, and a [`Connection`] which satellites serve over time, with the delay as a
//! [`DelayTrace`](crate::DelayTrace). Times are UTC. `docs/orbits.md` has the mathematics, its sources and the error budget.
//!
//! # Example
//!
//! The passes of one satellite over a site, and the delay of a bent pipe over one of them:
//!
//! ```
//! use candor_links::orbit::{self, Connection, Part, Route, Satellite, Selection, Site, Terminal, passes};
//! use std::time::Duration;
//!
//! let satellites = orbit::read(orbit::EXAMPLE.as_bytes())?.iter().map(Satellite::new).collect::<Result<Vec<_>, _>>()?;
//! let site = Site::new(18.17, 47.41, 0.0)?;
//! let (from, until) = ("2025-03-09T00:00:00Z".parse()?, "2025-03-10T00:00:00Z".parse()?);
//!
//! let passes = passes(&satellites[0], &site, 10.0, from, until)?;
//! assert_eq!(passes.len(), 4);
//! assert!(passes[3].culmination.look.elevation > 89.9);
//! assert_eq!(passes[3].culmination.look.delay().as_micros(), 2714);
//!
//! let terminal = Terminal { site, mask: 10.0 };
//! let plan = Connection {
//!     satellites: &satellites,
//!     user: terminal,
//!     gateway: terminal,
//!     route: Route::BentPipe,
//!     selection: Selection::HighestElevation,
//!     slot: Duration::from_secs(15),
//!     outage: Duration::ZERO,
//!     step: Duration::from_secs(1),
//! }
//! .plan(passes[3].rise.unwrap().time, Duration::from_secs(600))?;
//! let delays: Vec<Duration> = plan.trace(Part::Whole).samples.iter().filter_map(|sample| sample.1).collect();
//! assert_eq!(delays.iter().min().unwrap().as_micros(), 2 * 2714);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod elements;
mod error;
mod frame;
mod grid;
mod ground_track;
mod omm;
mod passes;
mod satellite;
mod service;
mod tle;
mod walker;

pub use elements::Elements;
pub use error::{Error, Problem};
pub use frame::{GroundPoint, Look, SPEED_OF_LIGHT, Site, State};
pub use grid::Grid;
pub use ground_track::{Track, ground_track, serving_tracks};
pub use passes::{Event, Pass, passes, passes_of_all};
pub use satellite::Satellite;
pub use service::{Connection, HandOver, Link, Part, Plan, Route, Sample, Selection, Stretch, Terminal};
pub use walker::Walker;

/// The times of this module.
pub use jiff::Timestamp;

/// The one element set on which the satellite links of hmx615/pq-ntor-experiment rest (`sagin-experiments/satellite_orbit.py`).
pub const EXAMPLE: &str = include_str!("../../data/57795.tle");

/// Bytes that a file of element sets may have: ten thousand of them as XML.
pub const MOST_BYTES: usize = 1 << 25;

/// Reads all element sets of a file: TLEs of two or three lines, or OMMs as JSON, KVN or XML. Which of those it is, its first character says.
///
/// Errors name the line. Refused are files of more than [`MOST_BYTES`], and, among others, wrong checksums, other theories than SGP4, and orbits whose perigee lies inside the Earth.
pub fn read(bytes: &[u8]) -> Result<Vec<Elements>, Error> {
    if bytes.len() > MOST_BYTES {
        let what = "size of the file in bytes";
        return Err(Error::OutOfRange { what, value: bytes.len() as f64, allowed: "at most 33554432" });
    }
    let first = bytes.trim_ascii_start().first();
    match str::from_utf8(bytes) {
        Ok(text) if matches!(first, Some(b'{' | b'[')) => omm::read_json(text),
        Ok(text) if matches!(first, Some(b'<')) => omm::read_xml(text),
        Ok(text) if omm::kvn_begins(text) => omm::read_kvn(text),
        // A TLE says of each line whether it is ASCII; so does this of what is not UTF-8.
        _ => tle::read(bytes),
    }
}
