//! Removing what has expired, by a clock that is believed.
//!
//! The clock may be wrong: a machine without a battery starts in 1970, and a time server can be wrong by years. What was removed by such a clock does not come back when
//! the clock is right again. So nothing is removed before the clock has gone on evenly for [`BELIEVED`], nor until a day after it has expired.

use super::{Pruned, Store, StoreError};
use crate::time::{Clock, Moment, UNEVEN};

/// Seconds that the time of day must go on evenly before anything is removed by it: long enough for a clock to be set after a start.
const BELIEVED: i64 = 3600;
/// Seconds for which what has expired is kept.
const KEPT: i64 = 24 * 3600;

/// Removes what has expired: sessions, registration tokens, and identifiers of logins. Nothing else in the store is removed because of the time.
#[derive(Debug)]
pub struct Upkeep {
    store: Store,
    clock: Clock,
    /// Since when the clock has gone on evenly.
    even_since: Moment,
}

impl Upkeep {
    /// From now on the clock is watched.
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        Self { store, even_since: clock.moment(), clock }
    }

    /// Removes what expired more than a day ago; nothing, and returns `None`, if the clock has not gone on evenly for an hour. Worth doing every hour.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn run(&mut self) -> Result<Option<Pruned>, StoreError> {
        let at = self.clock.moment();
        if !self.believes(at) {
            return Ok(None);
        }
        self.store.prune(at.now.plus(-KEPT)).await.map(Some)
    }

    /// Whether the clock has gone on evenly for long enough. If it has jumped, that begins anew.
    fn believes(&mut self, at: Moment) -> bool {
        let passed = at.steady.saturating_sub(self.even_since.steady);
        if self.even_since.now.plus(passed).0.abs_diff(at.now.0) > UNEVEN.unsigned_abs() {
            self.even_since = at;
        }
        at.steady.saturating_sub(self.even_since.steady) >= BELIEVED
    }
}
