//! A subject's turn in a round: what it is asked to do, and what a clock found.

use crate::outcomes::Outcomes;
use serde::{Deserialize, Serialize};

/// What a subject does when its turn comes in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Operations right before the epoch, outside the clock.
    pub unclocked: u64,
    /// Operations of the epoch.
    pub iterations: u64,
    /// When the phases are timed. Absent if they are not.
    pub phases: Option<Place>,
}

/// Whether the phases are timed before the whole or after it. They take turns, so that neither always profits from warm caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Before.
    First,
    /// After.
    Last,
}

/// What a clock found of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// Wall nanoseconds of the epoch, at least 1.
    pub ns: u64,
    /// Wall nanoseconds of each phase over as many operations. Empty if they were not timed.
    pub phases: Vec<u64>,
    /// CPU nanoseconds of the processes that did the work meanwhile, where the subject can tell ([`Subject::cpu_ns`](crate::Subject::cpu_ns)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Whether the kernel took the processor away meanwhile.
    pub disturbed: bool,
    /// Whether work failed in the epoch or its phases.
    pub failed: bool,
    /// Attempts and successes since the subject was made, for work that can fail.
    pub outcomes: Option<Outcomes>,
}
