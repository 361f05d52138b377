//! A delay that varies in time.

use std::time::Duration;

/// One-way delay over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayTrace {
    /// Time since the start and one-way delay; `None` means no link. Linear interpolation between samples.
    pub samples: Vec<(Duration, Option<Duration>)>,
}
