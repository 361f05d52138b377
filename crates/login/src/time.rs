//! Points in time, as the database keeps them.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970-01-01, UTC. Every method that depends on the time takes it as an argument, so that tests choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(pub i64);

impl UnixTime {
    /// The system's clock.
    #[must_use]
    pub fn now() -> Self {
        let seconds = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
        };
        Self(seconds)
    }

    /// That many seconds later; earlier, if they are negative.
    #[must_use]
    pub fn plus(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

/// As RFC 3339 writes it, in UTC.
impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{} s", self.0),
        }
    }
}

/// Where the server reads the time. Defaults to the system's clock; a test brings its own and moves it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixTime + Send + Sync>);

impl Clock {
    /// A clock that reads `now`.
    pub fn new(now: impl Fn() -> UnixTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// What it says.
    #[must_use]
    pub fn now(&self) -> UnixTime {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(UnixTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(UnixTime(1_800_000_000).to_string(), "2027-01-15T08:00:00Z");
        assert_eq!(UnixTime(i64::MAX).to_string(), format!("{} s", i64::MAX));
        assert_eq!(UnixTime(5).plus(i64::MAX), UnixTime(i64::MAX));
    }
}
