//! Tor's Vegas (prop 324 §3.3): a congestion window that follows the length of the queues that it causes.

use super::rtt::RoundTrips;
use std::time::Duration;

/// The consensus parameters of prop 324 §6.5, by their names there without `cc_`. The defaults are those for paths
/// through exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Initial window in cells.
    pub cwnd_init: u32,
    /// Least window.
    pub cwnd_min: u32,
    /// Greatest window. The peer accepts at most [`MOST_UNACKNOWLEDGED`](super::MOST_UNACKNOWLEDGED) cells.
    pub cwnd_max: u32,
    /// Step of the window in steady state.
    pub cwnd_inc: u32,
    /// Number of steps per window in steady state.
    pub cwnd_inc_rate: u32,
    /// Growth in slow start, as a percentage of the acknowledged cells.
    pub cwnd_inc_pct_ss: u32,
    /// Window at which slow start ends in any case.
    pub ss_max: u32,
    /// Window above which slow start grows more slowly (RFC 3742).
    pub sscap: u32,
    /// The window counts as full if at most this many acknowledgements' worth of cells are missing.
    pub cwnd_full_gap: u32,
    /// The window counts as not full below this percentage.
    pub cwnd_full_minpct: u32,
    /// Queue length below which the window grows.
    pub alpha: u32,
    /// Queue length above which the window shrinks.
    pub beta: u32,
    /// Queue length at which slow start ends.
    pub gamma: u32,
    /// Queue length above which the window drops at once.
    pub delta: u32,
    /// N-EWMA in steady state, as a percentage of the acknowledgements in a window.
    pub ewma_cwnd_pct: u32,
    /// Greatest N-EWMA in steady state.
    pub ewma_max: u32,
    /// N-EWMA in slow start.
    pub ewma_ss: u32,
}

/// Cells that a relay sends in one write (OUTBUF_CELLS); the queue parameters are multiples of it.
const OUTBUF_CELLS: u32 = 62;
/// The increment that our relays offer (`cc_sendme_inc`), the same as Tor's.
pub(crate) const SENDME_INCREMENT: u8 = 31;

impl Default for Parameters {
    fn default() -> Self {
        let increment = u32::from(SENDME_INCREMENT);
        Self {
            cwnd_init: 4 * increment,
            cwnd_min: 4 * increment,
            cwnd_max: super::MOST_UNACKNOWLEDGED,
            cwnd_inc: increment,
            cwnd_inc_rate: 1,
            cwnd_inc_pct_ss: 100,
            ss_max: 5000,
            sscap: 600,
            cwnd_full_gap: 4,
            cwnd_full_minpct: 25,
            alpha: 3 * OUTBUF_CELLS,
            beta: 4 * OUTBUF_CELLS,
            gamma: 3 * OUTBUF_CELLS,
            delta: 5 * OUTBUF_CELLS,
            ewma_cwnd_pct: 50,
            ewma_max: 10,
            ewma_ss: 2,
        }
    }
}

/// The congestion window of one direction.
#[derive(Clone, Debug)]
pub struct Vegas {
    parameters: Parameters,
    /// Cells per acknowledgement.
    increment: u32,
    window: u32,
    in_slow_start: bool,
    full: bool,
    blocked: bool,
    /// Acknowledgements until the window may change (`next_cc_event`).
    until_update: u32,
    /// Acknowledgements until a whole window has been acknowledged (`next_cwnd_event`).
    until_window: u32,
    trips: RoundTrips,
}

impl Vegas {
    /// The initial window. `increment` is the number of cells that an acknowledgement stands for.
    pub fn new(increment: u32, parameters: Parameters) -> Self {
        let window = parameters.cwnd_init.max(increment);
        Self {
            parameters,
            increment: increment.max(1),
            window,
            in_slow_start: true,
            full: false,
            blocked: false,
            until_update: 1,
            until_window: 0, // as C tor starts: the first acknowledgement ends a window
            trips: RoundTrips::default(),
        }
    }

    /// How many cells may be unacknowledged.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Whether the window is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.in_slow_start
    }

    /// Handles an acknowledgement that came `round_trip` after its cell was sent; `inflight` is the number of cells
    /// that were unacknowledged before it.
    pub fn acknowledged(&mut self, round_trip: Duration, inflight: u32, blocked: bool) {
        self.until_update = self.until_update.saturating_sub(1);
        self.until_window = self.until_window.saturating_sub(1);
        let at_least_window = self.window <= self.parameters.cwnd_min && !self.in_slow_start;
        if !self.trips.add(round_trip, self.smoothing_weight(), self.in_slow_start, at_least_window) {
            return;
        }
        // A link that becomes blocked or unblocked does not wait for the next update.
        if blocked != self.blocked {
            self.until_update = 0;
            self.blocked = blocked;
        }
        let product = self.trips.product(self.window);
        let queue = self.window.saturating_sub(product);
        self.note_fullness(inflight);
        if self.in_slow_start {
            self.start_slowly(product, queue);
        } else if self.until_update == 0 {
            self.adjust(product, queue);
        }
        if self.until_update == 0 {
            self.until_update = self.update_rate();
        }
        if self.until_window == 0 {
            self.until_window = self.acknowledgements_per_window();
            self.full = false; // cc_cwnd_full_per_cwnd = 1
        }
    }

    fn start_slowly(&mut self, product: u32, queue: u32) {
        let p = &self.parameters;
        if queue < p.gamma && !self.blocked {
            if self.full {
                let growth = self.limited_growth();
                self.window = self.window.saturating_add(growth);
                let per_window = growth.saturating_mul(self.acknowledgements_per_window());
                self.in_slow_start = per_window > p.cwnd_inc * p.cwnd_inc_rate;
            }
        } else {
            self.window = product.saturating_add(p.gamma).max(p.cwnd_min);
            self.in_slow_start = false;
        }
        if self.window >= p.ss_max {
            self.window = p.ss_max;
            self.in_slow_start = false;
        }
    }

    fn adjust(&mut self, product: u32, queue: u32) {
        let p = &self.parameters;
        if queue > p.delta {
            self.window = product.saturating_add(p.delta).saturating_sub(p.cwnd_inc);
        } else if queue > p.beta || self.blocked {
            self.window = self.window.saturating_sub(p.cwnd_inc);
        } else if self.full && queue < p.alpha {
            self.window = self.window.saturating_add(p.cwnd_inc);
        }
        self.window = self.window.min(p.cwnd_max).max(p.cwnd_min);
    }

    /// Limited slow start (RFC 3742): the full percentage below the cap, less and less above it, but at least one cell.
    fn limited_growth(&self) -> u32 {
        let p = &self.parameters;
        if self.window <= p.sscap {
            rounded(p.cwnd_inc_pct_ss * self.increment, 100)
        } else {
            rounded(self.increment * p.sscap, 2 * self.window).max(1)
        }
    }

    fn note_fullness(&mut self, inflight: u32) {
        let p = &self.parameters;
        if inflight.saturating_add(p.cwnd_full_gap * self.increment) >= self.window {
            self.full = true;
        } else if u64::from(inflight) * 100 < u64::from(p.cwnd_full_minpct) * u64::from(self.window) {
            self.full = false;
        }
    }

    /// SENDME_PER_CWND.
    fn acknowledgements_per_window(&self) -> u32 {
        rounded(self.window, self.increment)
    }

    /// CWND_UPDATE_RATE.
    fn update_rate(&self) -> u32 {
        if self.in_slow_start { 1 } else { rounded(self.window, self.parameters.cwnd_inc_rate * self.increment).max(1) }
    }

    fn smoothing_weight(&self) -> u64 {
        let p = &self.parameters;
        u64::from(match self.in_slow_start {
            true => p.ewma_ss,
            false => (self.update_rate() * p.ewma_cwnd_pct / 100).min(p.ewma_max),
        })
    }
}

fn rounded(dividend: u32, divisor: u32) -> u32 {
    let divisor = divisor.max(1);
    dividend.saturating_add(divisor / 2) / divisor
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_test_support::vectors;

    fn run(vegas: &mut Vegas, acknowledgements: u32, millis: u64) {
        for _ in 0..acknowledgements {
            let inflight = vegas.window();
            vegas.acknowledged(Duration::from_millis(millis), inflight, false);
        }
    }

    /// C tor's tables: the window after each acknowledgement.
    #[test]
    fn windows_are_those_of_c_tor() {
        let file = vectors::load("vegas.json");
        for table in vectors::list(&file, "windows") {
            let mut vegas = Vegas::new(31, Parameters { cwnd_inc: 1, cwnd_inc_rate: 31, ..Parameters::default() });
            for (step, row) in table.as_array().unwrap().iter().enumerate() {
                let row: Vec<u64> = row.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect();
                let [sent, got, blocked, inflight, expected @ ..] = &row[..] else { panic!("a short row") };
                vegas.acknowledged(Duration::from_micros(got - sent), *inflight as u32, *blocked == 1);
                let (smoothed, least) = vegas.trips.micros();
                let flags = [vegas.in_slow_start, vegas.full, vegas.blocked].map(u64::from);
                let ours = [&[smoothed, least, u64::from(vegas.window)], &flags[..]].concat();
                assert_eq!(ours, expected, "step {step}");
            }
        }
    }

    #[test]
    fn slow_start_grows_by_the_acknowledged_cells_up_to_the_cap() {
        let mut vegas = Vegas::new(31, Parameters::default());
        run(&mut vegas, 10, 50);
        assert_eq!(vegas.window(), 124 + 10 * 31);
        assert!(vegas.in_slow_start());
        run(&mut vegas, 6, 50);
        let above = vegas.window();
        run(&mut vegas, 1, 50);
        assert_eq!(vegas.window() - above, (31 * 600 + above) / (2 * above));
    }

    #[test]
    fn a_queue_ends_slow_start_at_the_product_and_gamma() {
        let mut vegas = Vegas::new(31, Parameters::default());
        run(&mut vegas, 16, 50);
        let before = vegas.window();
        run(&mut vegas, 3, 200);
        assert!(!vegas.in_slow_start());
        assert!(vegas.window() < before);
        assert!(vegas.window() >= Parameters::default().cwnd_min);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut vegas = Vegas::new(31, Parameters::default());
        run(&mut vegas, 16, 50);
        let window = vegas.window();
        // The window counts as full until the end of the current window.
        for _ in 0..200 {
            vegas.acknowledged(Duration::from_millis(50), 31, false);
        }
        let after = vegas.window();
        for _ in 0..200 {
            vegas.acknowledged(Duration::from_millis(50), 31, false);
        }
        assert_eq!(vegas.window(), after);
        assert!(after < window + 40 * 31);
    }

    #[test]
    fn a_blocked_link_shrinks_the_window_but_never_below_the_least() {
        let mut vegas = Vegas::new(31, Parameters::default());
        run(&mut vegas, 30, 50);
        for _ in 0..10_000 {
            vegas.acknowledged(Duration::from_millis(50), 31, true);
        }
        assert_eq!(vegas.window(), Parameters::default().cwnd_min);
    }

    #[test]
    fn no_sequence_of_times_breaks_it() {
        let mut vegas = Vegas::new(1, Parameters { cwnd_inc_rate: 0, ..Parameters::default() });
        for round in 0..10_000u64 {
            let time = Duration::from_nanos(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (round % 64));
            vegas.acknowledged(time, (round % 7000) as u32, round % 5 == 0);
            assert!(vegas.window() >= 1);
        }
    }
}
