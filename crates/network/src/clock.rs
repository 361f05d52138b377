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

/// Seconds that the time of day must go on evenly before it is believed: long enough for a clock to be set after a start.
pub(crate) const BELIEVED: u64 = 3600;
/// Seconds by which it may be ahead or behind meanwhile.
pub(crate) const UNEVEN: u64 = 600;

/// Since when the time of day has gone on evenly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Even {
    since: Moment,
}

impl Even {
    pub(crate) fn since(at: Moment) -> Self {
        Self { since: at }
    }

    /// Whether it has gone on evenly for [`BELIEVED`]. If it has jumped, that begins anew.
    pub(crate) fn is_believed(&mut self, at: Moment) -> bool {
        if !self.is_even(at) {
            self.since = at;
        }
        at.steady.saturating_sub(self.since.steady) >= BELIEVED
    }

    /// Whether it has not jumped.
    fn is_even(&self, at: Moment) -> bool {
        self.course(at).abs_diff(at.now) <= UNEVEN
    }

    /// What the time of day would be if it had not jumped.
    fn course(&self, at: Moment) -> u64 {
        self.since.now.saturating_add(at.steady.saturating_sub(self.since.steady))
    }
}

/// A clock that is believed from the start, and after a jump only when it is back where it was, or has gone on evenly since for [`BELIEVED`], or somebody
/// else vouches for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steadfast {
    course: Even,
    /// Since the jump.
    trial: Option<Even>,
}

impl Steadfast {
    pub(crate) fn new(at: Moment) -> Self {
        Self { course: Even::since(at), trial: None }
    }

    /// The seconds by which it has jumped, if it is not believed.
    pub(crate) fn doubt(&mut self, at: Moment) -> Option<u64> {
        if self.course.is_even(at) {
            self.trial = None;
            return None;
        }
        let trial = self.trial.get_or_insert(Even::since(at));
        if trial.is_believed(at) {
            self.vouched(at);
            return None;
        }
        Some(self.course.course(at).abs_diff(at.now))
    }

    /// It is right.
    pub(crate) fn vouched(&mut self, at: Moment) {
        *self = Self::new(at);
    }

    /// What the time of day would be if it had not jumped.
    pub(crate) fn course(&self, at: Moment) -> u64 {
        self.course.course(at)
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

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000;

    fn at(now: u64, steady: u64) -> Moment {
        Moment { now, steady }
    }

    #[test]
    fn a_clock_is_doubted_after_a_jump_until_it_is_back_or_even_or_vouched_for() {
        let mut clock = Steadfast::new(at(START, 0));
        assert_eq!(clock.doubt(at(START + 10, 10)), None, "it is believed from the start");
        assert_eq!(clock.doubt(at(START + 50 + UNEVEN, 50)), None, "it may be set by a little");
        assert_eq!(clock.doubt(at(START + 100 + 86_400, 100)), Some(86_400));
        assert_eq!(clock.course(at(START + 100 + 86_400, 100)), START + 100);
        assert_eq!(clock.doubt(at(START + 200, 200)), None, "it is back");
        // An hour of even time after a jump, which another jump begins anew.
        assert_eq!(clock.doubt(at(START - 5000, 300)), Some(5300));
        assert!(clock.doubt(at(START - 5000 + 3599, 300 + 3599)).is_some());
        assert!(clock.doubt(at(START + 86_400, 300 + 3600)).is_some());
        assert!(clock.doubt(at(START + 86_400 + 3599, 300 + 3600 + 3599)).is_some());
        assert_eq!(clock.doubt(at(START + 86_400 + 3600, 300 + 3600 + 3600)), None);
        assert_eq!(clock.doubt(at(START + 86_400 + 3700, 300 + 3600 + 3700)), None);
        // The others say that it is right.
        let jumped = at(START, 8000);
        assert!(clock.doubt(jumped).is_some());
        clock.vouched(jumped);
        assert_eq!(clock.doubt(jumped), None);
    }
}
