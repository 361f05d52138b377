//! How often work that can fail was tried, and how often it succeeded.

use crate::stats::clopper_pearson;
use serde::{Deserialize, Serialize};

/// Attempts and successes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcomes {
    /// How often the work was attempted.
    pub attempts: u64,
    /// How often it succeeded.
    pub successes: u64,
}

impl Outcomes {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            attempts: self.attempts.saturating_add(other.attempts),
            successes: self.successes.saturating_add(other.successes),
        }
    }

    /// The share of successes. `None` without attempts.
    pub fn rate(self) -> Option<f64> {
        (self.attempts > 0).then(|| self.successes.min(self.attempts) as f64 / self.attempts as f64)
    }

    /// A lower bound of the true rate: the lower end of the two-sided Clopper–Pearson interval at 95 %.
    pub fn at_least(self) -> f64 {
        clopper_pearson(self.successes, self.attempts).low
    }
}
