//! Links that follow satellites: what a topology says about them, and what comes of it for a stretch of time.

use super::{Link, Topology};
use crate::DelayTrace;
use crate::model::Delay;
use crate::orbit::{self, Connection, Elements, Grid, Route, Satellite, Selection, Terminal, Track, Walker};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// How long a pass is looked for where nobody says when one is.
const SEARCH: Duration = Duration::from_secs(86400);

/// Most satellites that may be given.
const MOST_SATELLITES: usize = 10_000;

/// Looks at a satellite that an error may take, about, to say how high they stand: a second or two.
const MOST_LOOKS: u64 = 2_000_000;

/// Seconds between the points of a satellite's way over the ground.
const TRACK_STEP: f64 = 10.0;

/// The satellites that links of a topology follow, and from where they are seen: `[orbit]` in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Orbit {
    /// The satellites that may serve.
    pub satellites: Satellites,
    /// When virtual time begins. `None` for when the first link opens after the epoch of the elements; the shell has no such epoch.
    pub from: Option<Timestamp>,
    /// For how long the links are known.
    pub length: Duration,
    /// The end where links of the part [`Up`](orbit::Part::Up) begin.
    pub user: Terminal,
    /// The end where links of the part [`Down`](orbit::Part::Down) end.
    pub gateway: Terminal,
    /// Whether the signal goes from satellite to satellite; otherwise one satellite serves both ends.
    pub between_satellites: bool,
    /// Which of the visible satellites serves.
    pub selection: Selection,
    /// How long a choice lasts.
    pub slot: Duration,
    /// How long there is no link while an end turns to another satellite.
    pub outage: Duration,
    /// How far apart the samples of delays are.
    pub step: Duration,
}

/// Which satellites may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Satellites {
    /// [`Walker::SHELL`].
    #[serde(rename = "shell")]
    Shell,
    /// That of [`orbit::EXAMPLE`].
    #[serde(rename = "57795")]
    Example,
    /// Those that the caller of [`Topology::fly`] gives.
    #[serde(rename = "given")]
    Given,
}

/// The satellites' way through the sky of a topology, for a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    /// What time 0 of the plan and of virtual time is.
    pub start: Timestamp,
    /// Which satellite serves when, and how far away it is.
    pub plan: orbit::Plan,
    /// The ways over the ground of the satellites that serve the user, each while it does, with a point every ten seconds.
    pub tracks: Vec<Track>,
    /// Names of the satellites, by the plan's indices.
    names: Vec<String>,
}

impl Flight {
    /// When the first link opens.
    pub fn opens(&self) -> Duration {
        self.plan.samples.iter().find(|sample| sample.link.is_some()).map_or(Duration::ZERO, |sample| sample.at)
    }

    /// When the plan ends.
    pub fn ends(&self) -> Duration {
        self.plan.samples.last().map_or(Duration::ZERO, |sample| sample.at)
    }

    /// The link at the last sample up to this time. `None` if there was none.
    pub fn link(&self, at: Duration) -> Option<orbit::Link> {
        let behind = self.plan.samples.partition_point(|sample| sample.at <= at);
        self.plan.samples[..behind].last()?.link
    }

    /// When, from one time until another, there is no link for the first time.
    pub fn lost(&self, from: Duration, until: Duration) -> Option<Duration> {
        let first = self.plan.samples.partition_point(|sample| sample.at < from);
        let gone = self.plan.samples[first..].iter().find(|sample| sample.link.is_none()).map(|sample| sample.at);
        gone.or(Some(self.ends())).filter(|at| *at <= until)
    }

    /// A time of the plan in UTC.
    pub fn time(&self, at: Duration) -> Timestamp {
        self.start.saturating_add(jiff::SignedDuration::try_from(at).unwrap_or_default()).unwrap_or(Timestamp::MAX)
    }

    /// Name of a satellite.
    pub fn name(&self, satellite: usize) -> &str {
        self.names.get(satellite).map_or("", String::as_str)
    }
}

/// Why the links of a topology can't follow satellites.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FlightError {
    /// There is no `[orbit]`.
    #[error("the delays of topology {topology} are constant; one with an [orbit] follows satellites, such as leo-pass")]
    Constant {
        /// The topology.
        topology: String,
    },
    /// `satellites = "given"`, and none are.
    #[error("topology {topology} brings no satellites; give it a file with a TLE or an OMM")]
    NoSatellites {
        /// The topology.
        topology: String,
    },
    /// Links between satellites, but not of the shell.
    #[error("topology {topology} goes from satellite to satellite, and only those of the generated shell have links")]
    NoGrid {
        /// The topology.
        topology: String,
    },
    /// More satellites than anybody can look through in time.
    #[error(
        "there are {found} satellites; expected at most {}: keep those that may serve topology {topology}",
        MOST_SATELLITES
    )]
    TooMany {
        /// The topology.
        topology: String,
        /// How many there are.
        found: usize,
    },
    /// No link opens.
    #[error(transparent)]
    NeverSeen(Box<NeverSeen>),
    /// Elements or times that make no orbit.
    #[error(transparent)]
    Orbit(#[from] orbit::Error),
}

/// No satellite serves both ends of a topology.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "no satellite serves user and gateway of topology {topology} between {from} and {until}: the user's highest is {highest} at {time}, \
     {elevation:.1}° above the horizon, where the gateway sees it at {gateway:.1}°; the masks are {masks}"
)]
pub struct NeverSeen {
    /// The topology.
    pub topology: String,
    /// Where the search began.
    pub from: Timestamp,
    /// Where it ended.
    pub until: Timestamp,
    /// The satellite that stands highest for the user, as far as a look every half minute shows it, or, where there are many satellites, one every few minutes.
    pub highest: String,
    /// When it does.
    pub time: Timestamp,
    /// Its elevation for the user.
    pub elevation: f64,
    /// Its elevation for the gateway then.
    pub gateway: f64,
    /// Both elevation masks.
    pub masks: String,
}

impl Topology {
    /// Lets the links follow their satellites. `elements` replace those that the file names, `from` replaces its time; with elements and without `from`,
    /// time begins when the first link opens after their epoch.
    ///
    /// # Errors
    /// [`FlightError`].
    pub fn fly(mut self, elements: Option<&[Elements]>, from: Option<Timestamp>) -> Result<Self, FlightError> {
        let topology = || self.name.clone();
        let orbit = self.orbit.as_ref().ok_or_else(|| FlightError::Constant { topology: topology() })?;
        let example = match (elements, orbit.satellites) {
            (None, Satellites::Example) => Some(orbit::read(orbit::EXAMPLE.as_bytes())?),
            _ => None,
        };
        let from = from.or(orbit.from.filter(|_| elements.is_none()));
        let (satellites, grid, epoch) = match (elements.or(example.as_deref()), orbit.satellites) {
            (Some([]), _) | (None, Satellites::Given) => {
                return Err(FlightError::NoSatellites { topology: topology() });
            }
            (Some(elements), _) if elements.len() > MOST_SATELLITES => {
                return Err(FlightError::TooMany { topology: topology(), found: elements.len() });
            }
            (Some(elements), _) => {
                let satellites = elements.iter().map(Satellite::new).collect::<Result<Vec<_>, _>>()?;
                (satellites, None, elements.iter().map(|elements| elements.epoch).max())
            }
            (None, _) => {
                let epoch = from.unwrap_or_default();
                (Walker::SHELL.satellites(epoch)?, Some(Walker::SHELL.grid()?), Some(epoch))
            }
        };
        let connection = orbit.connection(&satellites, grid.as_ref());
        let connection = connection.ok_or_else(|| FlightError::NoGrid { topology: topology() })?;
        let unseen = |start, length| never_seen(topology(), &connection, start, length);
        let start = match from {
            Some(from) => from,
            None => {
                let epoch = epoch.unwrap_or_default();
                connection.opens(epoch, SEARCH)?.ok_or_else(|| unseen(epoch, SEARCH))?
            }
        };
        let plan = connection.plan(start, orbit.length)?;
        if plan.samples.iter().all(|sample| sample.link.is_none()) {
            return Err(unseen(start, orbit.length));
        }
        for Link { follows, ways, sets, .. } in &mut self.links {
            let Some(part) = follows else { continue };
            let trace = Arc::new(plan.trace(*part));
            for profile in ways.iter_mut().chain(sets.iter_mut().flat_map(|(_, ways)| ways)) {
                profile.delay = Delay::Trace(trace.clone());
            }
        }
        let tracks = orbit::serving_tracks(&satellites, &plan, start, TRACK_STEP)?;
        let names = satellites.iter().map(|satellite| satellite.name().to_owned()).collect();
        self.flight = Some(Arc::new(Flight { start, plan, tracks, names }));
        Ok(self)
    }

    /// What the links follow, once they do.
    pub fn flight(&self) -> Option<&Flight> {
        self.flight.as_deref()
    }

    /// When there are links for the first time: 0, unless they follow satellites that rise later.
    pub fn begins(&self) -> Duration {
        self.flight().map_or(Duration::ZERO, Flight::opens)
    }
}

impl Orbit {
    /// `None` if there are no links between these satellites, and there should be.
    fn connection<'a>(&self, satellites: &'a [Satellite], grid: Option<&'a Grid>) -> Option<Connection<'a>> {
        let route = if self.between_satellites { Route::BetweenSatellites(grid?) } else { Route::BentPipe };
        let Self { user, gateway, selection, slot, outage, step, .. } = *self;
        Some(Connection { satellites, user, gateway, route, selection, slot, outage, step })
    }
}

/// No delay at any time, until the links follow their satellites.
pub(super) fn unknown() -> Delay {
    Delay::Trace(Arc::new(DelayTrace::default()))
}

fn never_seen(topology: String, connection: &Connection<'_>, from: Timestamp, length: Duration) -> FlightError {
    let Connection { satellites, user, gateway, .. } = connection;
    let at =
        |seconds: u64| from.saturating_add(jiff::SignedDuration::from_secs(seconds as i64)).unwrap_or(Timestamp::MAX);
    let times = (0..=length.as_secs()).step_by(looks_apart(satellites.len(), length)).map(at);
    let looks = times.flat_map(|time| {
        satellites.iter().filter_map(move |satellite| {
            let state = satellite.at(time).ok()?;
            Some((user.site.look(&state).elevation, gateway.site.look(&state).elevation, satellite, time))
        })
    });
    match looks.max_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((elevation, sees, satellite, time)) => FlightError::NeverSeen(Box::new(NeverSeen {
            topology,
            from,
            until: at(length.as_secs()),
            highest: satellite.name().to_owned(),
            time,
            elevation,
            gateway: sees,
            masks: format!("{}° and {}°", user.mask, gateway.mask),
        })),
        None => FlightError::NoSatellites { topology },
    }
}

/// How many seconds apart the looks are: half a minute, or as many as leave a number of them that can be borne.
fn looks_apart(satellites: usize, length: Duration) -> usize {
    (length.as_secs() * satellites as u64).div_ceil(MOST_LOOKS).max(30) as usize
}

#[cfg(test)]
mod tests;
