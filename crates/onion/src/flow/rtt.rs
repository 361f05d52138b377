//! Round-trip times of a circuit (prop 324 §2.1).

use std::time::Duration;

/// A time that exceeds the average by this factor, or falls below it by this factor, is a fault of the clock.
const IMPLAUSIBLE: u32 = 5000;

/// The smoothed and the least round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    /// The smoothed time in microseconds (N-EWMA).
    smoothed: Option<u64>,
    /// The least smoothed time in microseconds: an estimate of the path without queues.
    least: Option<u64>,
    stalled: bool,
}

impl RoundTrips {
    /// Takes a measurement; `weight` is N of N-EWMA. Returns whether it is plausible.
    pub(super) fn add(&mut self, measured: Duration, weight: u64, in_slow_start: bool, at_least_window: bool) -> bool {
        if self.is_implausible(measured, in_slow_start) {
            return false;
        }
        let measured = u64::try_from(measured.as_micros()).unwrap_or(u64::MAX / 4).clamp(1, u64::MAX / 4);
        let weight = weight.max(2);
        let smoothed = match self.smoothed {
            None => measured,
            // Computed in this order, so that every implementation rounds alike.
            Some(previous) => {
                let sum = u128::from(measured) * 2 + u128::from(previous) * u128::from(weight - 1);
                (sum / u128::from(weight + 1)) as u64
            }
        };
        self.smoothed = Some(smoothed);
        self.least = match self.least {
            Some(least) if !at_least_window => Some(least.min(smoothed)),
            // At the least window nothing queues, so the measurement is that of the path itself (`cc_rtt_reset_pct` =
            // 100: the larger of the two).
            Some(least) => Some(least.max(smoothed)),
            None => Some(smoothed),
        };
        true
    }

    fn is_implausible(&mut self, measured: Duration, in_slow_start: bool) -> bool {
        if measured.is_zero() {
            self.stalled = true;
            return true;
        }
        let Some(smoothed) = self.smoothed.filter(|_| !in_slow_start).map(Duration::from_micros) else { return false };
        if measured > smoothed.saturating_mul(IMPLAUSIBLE) {
            return true;
        }
        if smoothed > measured.saturating_mul(IMPLAUSIBLE) {
            return self.stalled;
        }
        self.stalled = false;
        false
    }

    /// The bandwidth-delay product in cells: `window` times the least over the smoothed time (§3.1.2). `window` itself
    /// while the clock stands still.
    pub(super) fn product(&self, window: u32) -> u32 {
        match (self.least, self.smoothed) {
            (Some(least), Some(smoothed)) if !self.stalled => {
                u32::try_from(u128::from(window) * u128::from(least) / u128::from(smoothed.max(1))).unwrap_or(u32::MAX)
            }
            _ => window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_test_support::vectors;

    const MS: Duration = Duration::from_millis(1);

    impl RoundTrips {
        /// The smoothed and the least time in microseconds.
        pub(in crate::flow) fn micros(&self) -> (u64, u64) {
            (self.smoothed.unwrap(), self.least.unwrap())
        }
    }

    fn rows(table: &str) -> Vec<Vec<u64>> {
        let file = vectors::load("vegas.json");
        let numbers = |row: &serde_json::Value| {
            row.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect::<Vec<_>>()
        };
        vectors::list(&file, table).iter().map(numbers).collect()
    }

    #[test]
    fn times_are_those_of_c_tor() {
        let mut trips = RoundTrips::default();
        for row in rows("round_trips") {
            let [sent, got, window, slow_start, measured, smoothed, least] = row[..] else { panic!("a short row") };
            assert_eq!(got - sent, measured);
            let at_least = window == 124 && slow_start == 0;
            assert!(trips.add(Duration::from_micros(measured), 2, slow_start == 1, at_least));
            assert_eq!(trips.micros(), (smoothed, least), "{row:?}");
        }
    }

    #[test]
    fn the_clock_is_trusted_where_c_tor_trusts_it() {
        let mut trips = RoundTrips::default();
        for row in rows("clock") {
            let [old, new, slow_start, cached, result] = row[..] else { panic!("a short row") };
            trips.smoothed = (old > 0).then_some(old);
            let implausible = trips.is_implausible(Duration::from_micros(new), slow_start == 1);
            assert_eq!((implausible, trips.stalled), (result == 1, cached == 1), "{row:?}");
        }
    }

    #[test]
    fn smoothing_follows_the_formula() {
        let mut trips = RoundTrips::default();
        for (measured, expected) in [(100, 100_000), (200, 166_666), (100, 122_222)] {
            assert!(trips.add(measured * MS, 2, true, false));
            assert_eq!(trips.smoothed, Some(expected));
        }
        assert_eq!(trips.least, Some(100_000));
        assert_eq!(trips.product(1000), 818);
    }

    #[test]
    fn a_clock_that_stalls_or_jumps_is_ignored() {
        let mut trips = RoundTrips::default();
        assert!(!trips.add(Duration::ZERO, 2, true, false));
        assert_eq!(trips.product(500), 500);
        assert!(trips.add(10 * MS, 2, true, false));
        assert!(!trips.add(60_000 * MS, 2, false, false), "more than 5000 times the average");
        assert_eq!(trips.smoothed, Some(10_000));
        assert!(trips.add(10 * MS, 2, false, false));
        assert!(!trips.stalled);
        assert!(trips.add(Duration::from_micros(1), 2, false, false), "short, but the clock has never stalled");
    }
}
