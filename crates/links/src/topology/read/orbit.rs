//! The table `[orbit]`.

use super::Reader;
use crate::orbit::{Selection, Site, Terminal};
use crate::topology::{Orbit, Satellites, TopologyError};
use jiff::Timestamp;
use serde::Deserialize;
use std::time::Duration;
use toml::Spanned;

/// Longest stretch of time in seconds, and most samples in it.
const LONGEST: f64 = 86400.0;
const MOST_SAMPLES: f64 = 100_000.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileOrbit {
    satellites: Spanned<Satellites>,
    from: Option<Spanned<String>>,
    seconds: Spanned<f64>,
    user: FileTerminal,
    gateway: FileTerminal,
    #[serde(default)]
    route: Route,
    #[serde(default)]
    selection: Choice,
    slot_s: Option<Spanned<f64>>,
    outage_ms: Option<Spanned<f64>>,
    step_s: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTerminal {
    latitude: Spanned<f64>,
    longitude: Spanned<f64>,
    height_m: Option<Spanned<f64>>,
    mask: Spanned<f64>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Route {
    #[default]
    BentPipe,
    BetweenSatellites,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    #[default]
    Highest,
    Longest,
}

impl Reader<'_> {
    pub(super) fn orbit(&self, orbit: &FileOrbit) -> Result<Orbit, TopologyError> {
        let satellites = *orbit.satellites.get_ref();
        let between_satellites = orbit.route == Route::BetweenSatellites;
        if between_satellites && satellites != Satellites::Shell {
            let what = "route `between-satellites` needs satellites = \"shell\"; no other satellites have links";
            return Err(self.at(&orbit.satellites, what));
        }
        let from = orbit.from.as_ref().map(|from| self.timestamp(from)).transpose()?;
        if satellites == Satellites::Shell && from.is_none() {
            return Err(self.at(&orbit.satellites, "the shell needs `from`: it is generated for that time"));
        }
        let seconds = |name, value: &Option<Spanned<f64>>, default: f64, low, high, unit: f64| {
            let value = value.as_ref().map_or(Ok(default), |value| self.within(name, value, low, high))?;
            Ok::<_, TopologyError>(Duration::from_secs_f64(value * unit))
        };
        let length = self.within("seconds", &orbit.seconds, 1.0, LONGEST)?;
        let step = seconds("step_s", &orbit.step_s, 1.0, 0.01, 60.0, 1.0)?;
        if length / step.as_secs_f64() > MOST_SAMPLES {
            let what = format!("more than {MOST_SAMPLES} steps; choose a longer step_s");
            return Err(self.at(&orbit.seconds, what));
        }
        let slot = seconds("slot_s", &orbit.slot_s, 15.0, 0.1, LONGEST, 1.0)?;
        let outage = seconds("outage_ms", &orbit.outage_ms, 0.0, 0.0, slot.as_secs_f64() * 500.0, 1e-3)?;
        Ok(Orbit {
            satellites,
            from,
            length: Duration::from_secs_f64(length),
            user: self.terminal(&orbit.user)?,
            gateway: self.terminal(&orbit.gateway)?,
            between_satellites,
            selection: match orbit.selection {
                Choice::Highest => Selection::HighestElevation,
                Choice::Longest => Selection::LongestRemaining,
            },
            slot,
            outage,
            step,
        })
    }

    fn terminal(&self, terminal: &FileTerminal) -> Result<Terminal, TopologyError> {
        let latitude = self.within("latitude", &terminal.latitude, -90.0, 90.0)?;
        let longitude = self.within("longitude", &terminal.longitude, -180.0, 360.0)?;
        let height = terminal.height_m.as_ref();
        let height = height.map_or(Ok(0.0), |height| self.within("height_m", height, -1000.0, 100_000.0))?;
        let mask = self.within("mask", &terminal.mask, 0.0, 90.0)?;
        let site = Site::new(latitude, longitude, height);
        Ok(Terminal { site: site.map_err(|error| self.at(&terminal.latitude, error.to_string()))?, mask })
    }

    fn timestamp(&self, text: &Spanned<String>) -> Result<Timestamp, TopologyError> {
        text.get_ref().parse().map_err(|_| {
            let what = format!("from is `{}`; expected a time such as 2025-03-09T16:57:00Z", text.get_ref());
            self.at(text, what)
        })
    }
}
