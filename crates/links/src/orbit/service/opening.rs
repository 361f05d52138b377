//! When a connection has a link for the first time.

use super::{Connection, Error, after, choice, turn};
use jiff::Timestamp;
use std::time::Duration;

/// How often it is looked, in seconds. A link that is shorter may be missed.
const STEP: f64 = 30.0;

impl Connection<'_> {
    /// The first instant from `start` on, within some time, at which user and gateway have a link: the next full second behind it. `None` if there is none.
    ///
    /// Fails if a satellite has no place at some instant.
    pub fn opens(&self, start: Timestamp, within: Duration) -> Result<Option<Timestamp>, Error> {
        let within = within.as_secs_f64();
        let open = |at: f64| Ok(choice::choose(self, after(start, at), None)?.is_some());
        let (mut before, mut now) = (0.0, 0.0);
        while !open(now)? {
            if now >= within {
                return Ok(None);
            }
            (before, now) = (now, (now + STEP).min(within));
        }
        let second = turn(before, now, 1e-3, open)?.ceil();
        Ok(Some(after(start, second)))
    }
}
