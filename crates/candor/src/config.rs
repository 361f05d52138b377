//! The optional `candor.toml` in the working directory. Flags override it; the run file records the resolved settings.

use crate::Failure;
use candor_lab::plan::MOST_PROCESSES;
use serde::Deserialize;
use std::path::PathBuf;

/// The directory of run files by default.
pub(crate) const RUNS: &str = "candor-runs";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Seconds for each task.
    pub(crate) budget: Option<f64>,
    /// Processes for each task.
    pub(crate) processes: Option<u32>,
    /// The directory of run files.
    runs: Option<PathBuf>,
    /// Measure only the subjects whose names begin with one of these.
    #[serde(default)]
    pub(crate) peer: Vec<String>,
}

impl Config {
    pub(crate) fn load() -> Result<Self, Failure> {
        let text = match std::fs::read_to_string("candor.toml") {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::Error(format!("can't read candor.toml: {error}"))),
        };
        let config: Self = toml::from_str(&text).map_err(|error| Failure::Error(format!("candor.toml: {error}")))?;
        let sound = config.budget.is_none_or(|budget| (0.01..=86_400.0).contains(&budget))
            && config.processes.is_none_or(|processes| (1..=MOST_PROCESSES).contains(&(processes as usize)));
        match sound {
            true => Ok(config),
            false => Err(Failure::Error(format!(
                "candor.toml: budget must be from 0.01 to 86400 seconds, and processes from 1 to {MOST_PROCESSES}"
            ))),
        }
    }

    /// The directory of run files: from the flag, or from the file, or the default.
    pub(crate) fn runs(&self, flag: Option<PathBuf>) -> PathBuf {
        flag.or_else(|| self.runs.clone()).unwrap_or_else(|| RUNS.into())
    }
}
