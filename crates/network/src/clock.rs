//! Time: of day, and since whenever.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where a relay or a client reads the time of day, by which certificates expire and keys are renewed. Defaults to the system's; a test
/// brings its own and moves it.
///
/// The time of day can be set, and jump. So there is a second reading, of a clock that only goes on: what has really passed.
#[derive(Clone)]
pub struct Clock {
    now: Read,
    steady: Read,
}

type Read = Arc<dyn Fn() -> u64 + Send + Sync>;

impl Clock {
    /// A clock that reads seconds since 1970 from `now`. When it moves, that time has passed.
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let now: Read = Arc::new(now);
        Self { steady: Arc::clone(&now), now }
    }

    /// A clock that may be wrong: `steady` reads seconds since any moment, and goes on evenly whatever `now` does.
    pub fn unsteady(
        now: impl Fn() -> u64 + Send + Sync + 'static,
        steady: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), steady: Arc::new(steady) }
    }

    /// Seconds since 1970.
    pub fn now(&self) -> u64 {
        (self.now)()
    }

    /// Both readings.
    pub(crate) fn moment(&self) -> Moment {
        Moment { now: (self.now)(), steady: (self.steady)() }
    }
}

impl Default for Clock {
    /// The system's. It says 0 if it is set to a time before 1970.
    fn default() -> Self {
        let start = instant();
        Self::unsteady(
            || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            move || instant().saturating_duration_since(start).as_secs(),
        )
    }
}

/// The two readings of a [`Clock`], in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The time of day, since 1970, as the clock is set.
    pub(crate) now: u64,
    /// What has passed since some moment.
    pub(crate) steady: u64,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

/// The instant for timers: tokio's, so that a test that moves tokio's time moves every timer of this crate.
pub(crate) fn instant() -> Instant {
    tokio::time::Instant::now().into_std()
}
