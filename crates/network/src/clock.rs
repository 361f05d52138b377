//! Time: of day, and since whenever.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where a relay or a client reads the time of day, by which certificates expire and keys are renewed. Defaults to the system's; a test
/// brings its own and moves it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// A clock that reads seconds since 1970 from `now`.
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Seconds since 1970.
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

impl Default for Clock {
    /// The system's. It says 0 if it is set to a time before 1970.
    fn default() -> Self {
        Self::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }
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
