//! Points in time, as the database keeps them, and where they are read.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Seconds by which a clock may be ahead or behind without being wrong. What was made later than that is from a clock that was wrong.
pub(crate) const UNEVEN: i64 = 600;

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
///
/// The time of day can be set, and jump. So there is a second reading, of a clock that only goes on: how much time has passed.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> UnixTime + Send + Sync>,
    steady: Arc<dyn Fn() -> i64 + Send + Sync>,
}

/// The two readings of a [`Clock`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The time of day, as the clock is set.
    pub(crate) now: UnixTime,
    /// Seconds since some moment.
    pub(crate) steady: i64,
}

impl Clock {
    /// A clock that reads `now`. When it moves, that time has passed.
    pub fn new(now: impl Fn() -> UnixTime + Send + Sync + 'static) -> Self {
        let now = Arc::new(now);
        let steady = Arc::clone(&now);
        Self { now, steady: Arc::new(move || steady().0) }
    }

    /// A clock that may be wrong: `steady` reads seconds since any moment, and goes on evenly whatever `now` does.
    pub fn unsteady(
        now: impl Fn() -> UnixTime + Send + Sync + 'static,
        steady: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), steady: Arc::new(steady) }
    }

    /// What it says.
    #[must_use]
    pub fn now(&self) -> UnixTime {
        (self.now)()
    }

    /// Both readings.
    pub(crate) fn moment(&self) -> Moment {
        Moment { now: (self.now)(), steady: (self.steady)() }
    }
}

impl Default for Clock {
    /// The system's. Where the steady clock stands still while the machine sleeps, the time of day has jumped when it wakes.
    fn default() -> Self {
        let start = Instant::now();
        Self::unsteady(UnixTime::now, move || i64::try_from(start.elapsed().as_secs()).unwrap_or(i64::MAX))
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
