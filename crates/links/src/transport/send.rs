//! The sending half of an end: windows, timers, and what is lost.

use super::SEGMENT;
use std::collections::VecDeque;
use std::time::Duration;

/// Segments that may be in flight at first (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;
/// What is left of the window after a loss: Reno's half (RFC 5681, section 3.1).
const BETA: f64 = 0.5;
/// Linux, `TCP_RTO_MIN`: how far the timeout is above the smoothed round trip, at least.
const MARGIN: Duration = Duration::from_millis(200);
/// Linux, `tcp_retries2`: timeouts in a row that an end bears.
const MOST_TIMEOUTS: u32 = 15;
/// The timeout before a round trip is measured (RFC 6298, section 2.1).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);
/// Linux, `TCP_TIMEOUT_MIN`: two jiffies of 4 ms on top of a probe's two round trips.
const PROBE_MARGIN: Duration = Duration::from_millis(8);
/// Later segments that must have arrived for one to be lost without waiting (RFC 5681).
const LATER: usize = 3;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    end: u64,
    at: Duration,
    arrived: bool,
    lost: bool,
    again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// Nothing has been heard: all is lost.
    Timeout,
    /// Send the last segment once more, to hear what has arrived.
    Probe,
    /// A segment that later ones have overtaken will now be lost.
    Overtaken,
}

#[derive(Debug)]
pub(super) struct Sending {
    written: u64,
    /// Where what has never been sent begins.
    next: u64,
    acknowledged: u64,
    flight: VecDeque<Sent>,
    pub(super) window: f64,
    threshold: f64,
    /// Losses below this have already shrunk the window.
    recovering_to: Option<u64>,
    smoothed: Option<Duration>,
    variation: Duration,
    shortest: Duration,
    latest: Duration,
    backoff: u32,
    timer: Option<(Duration, Timer)>,
    /// No second probe until something is heard.
    probed: bool,
    probe: bool,
    resent: u64,
}

impl Sending {
    pub(super) fn new() -> Self {
        Self {
            written: 0,
            next: 0,
            acknowledged: 0,
            flight: VecDeque::new(),
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            recovering_to: None,
            smoothed: None,
            variation: Duration::ZERO,
            shortest: Duration::MAX,
            latest: Duration::ZERO,
            backoff: 0,
            timer: None,
            probed: false,
            probe: false,
            resent: 0,
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    pub(super) fn unsent(&self) -> u64 {
        self.written - self.next
    }

    pub(super) fn front(&self) -> u64 {
        self.next
    }

    pub(super) fn resent(&self) -> u64 {
        self.resent
    }

    /// Whether nothing has been heard for too long.
    pub(super) fn is_hopeless(&self) -> bool {
        self.backoff > MOST_TIMEOUTS
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.timer.map(|(at, _)| at)
    }

    /// A round trip was measured (RFC 6298, section 2).
    pub(super) fn measured(&mut self, round_trip: Duration) {
        self.latest = round_trip;
        self.shortest = self.shortest.min(round_trip);
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(round_trip), round_trip / 2),
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(round_trip)) / 4;
                self.smoothed = Some((smoothed * 7 + round_trip) / 8);
            }
        }
    }

    fn timeout(&self) -> Duration {
        let base = match self.smoothed {
            Some(smoothed) => smoothed + (self.variation * 4).max(MARGIN),
            None => INITIAL_TIMEOUT,
        };
        base.saturating_mul(1 << self.backoff.min(10)).min(LONGEST_TIMEOUT)
    }

    /// Starts the timer that fits what is in flight.
    fn arm(&mut self, now: Duration) {
        if self.flight.iter().all(|sent| sent.arrived) {
            self.timer = None;
            return;
        }
        let timeout = now + self.timeout();
        let may_probe = !self.probed && self.recovering_to.is_none() && self.backoff == 0;
        self.timer = Some(match self.smoothed.filter(|_| may_probe) {
            Some(smoothed) => {
                let margin = if self.flight.len() == 1 { MARGIN } else { PROBE_MARGIN };
                ((now + smoothed * 2 + margin).min(timeout), Timer::Probe)
            }
            None => (timeout, Timer::Timeout),
        });
    }

    /// Takes an acknowledgement of all bytes below `ack`, and of `ranges` beyond.
    pub(super) fn acknowledged(&mut self, ack: u64, ranges: &[(u64, u64)], now: Duration) {
        let in_flight = self.in_flight();
        let mut newly = 0;
        // Of the segments that have now arrived, the one that was sent last: when, its end, and whether it was sent once.
        let mut last: Option<(Duration, u64, bool)> = None;
        for sent in self.flight.iter_mut().filter(|sent| !sent.arrived) {
            if sent.end <= ack || ranges.iter().any(|&(from, to)| from <= sent.start && sent.end <= to) {
                sent.arrived = true;
                newly += 1;
                last = last.max(Some((sent.at, sent.end, !sent.again)));
            }
        }
        while self.flight.front().is_some_and(|sent| sent.end <= ack) {
            self.flight.pop_front();
        }
        if self.flight.is_empty() {
            self.flight = VecDeque::new();
        }
        let advanced = ack > self.acknowledged;
        self.acknowledged = self.acknowledged.max(ack);
        let Some((at, end, once)) = last else { return };
        if once {
            self.measured(now.saturating_sub(at));
        }
        if advanced {
            self.backoff = 0;
            self.probed = false;
            if self.recovering_to.is_some_and(|to| ack >= to) {
                self.recovering_to = None;
            }
            self.grow(newly, in_flight);
        }
        self.arm(now);
        self.find_lost(at, end, now);
    }

    /// A larger window, if the one there was is in use.
    fn grow(&mut self, newly: usize, in_flight: usize) {
        if self.recovering_to.is_some() {
            return;
        }
        let (newly, in_flight) = (newly as f64, in_flight as f64);
        if self.window < self.threshold {
            if self.window < 2.0 * in_flight {
                self.window += newly;
            }
        } else if in_flight >= self.window.floor() {
            self.window += newly / self.window;
        }
    }

    /// Segments that one sent at `at`, with the end `end`, has overtaken are lost, or soon will be.
    fn find_lost(&mut self, at: Duration, end: u64, now: Duration) {
        let arrived = self.flight.iter().filter(|sent| sent.arrived).count();
        let patience =
            if arrived >= LATER || self.recovering_to.is_some() { Duration::ZERO } else { self.shortest / 4 };
        let (mut found, mut next) = (false, None::<Duration>);
        for sent in self.flight.iter_mut().filter(|sent| !sent.arrived && !sent.lost) {
            if (sent.at, sent.end) < (at, end) {
                let lost_at = sent.at + self.latest + patience;
                if lost_at <= now || patience.is_zero() {
                    (sent.lost, found) = (true, true);
                } else {
                    next = Some(next.map_or(lost_at, |next| next.min(lost_at)));
                }
            }
        }
        if let Some(next) = next {
            self.timer = Some((next, Timer::Overtaken));
        }
        if found {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.recovering_to.is_none() {
            self.recovering_to = Some(self.next);
            self.threshold = (self.window * BETA).max(2.0);
            self.window = self.threshold;
        }
    }

    pub(super) fn tick(&mut self, now: Duration) {
        let Some((_, timer)) = self.timer.filter(|(at, _)| *at <= now) else { return };
        self.timer = None;
        match timer {
            Timer::Probe => {
                (self.probed, self.probe) = (true, true);
            }
            Timer::Overtaken => {
                // Everything that was sent before the last arrival and is not there.
                let last = self.flight.iter().filter(|sent| sent.arrived).map(|sent| (sent.at, sent.end)).max();
                for sent in self.flight.iter_mut().filter(|sent| !sent.arrived) {
                    sent.lost |= last.is_some_and(|last| (sent.at, sent.end) < last);
                }
                self.shrink();
                self.arm(now);
            }
            Timer::Timeout => {
                self.threshold = (self.window * BETA).max(2.0);
                self.window = 1.0;
                self.recovering_to = Some(self.next);
                self.backoff += 1;
                self.flight.iter_mut().filter(|sent| !sent.arrived).for_each(|sent| sent.lost = true);
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.flight.iter().filter(|sent| !sent.arrived && !sent.lost).count()
    }

    /// The next segment that may be sent: from where to where.
    pub(super) fn next(&mut self, now: Duration) -> Option<(u64, u64)> {
        let probe = std::mem::take(&mut self.probe);
        let room = (self.in_flight() as f64) < self.window.floor();
        let lost = self.flight.iter_mut().find(|sent| sent.lost).filter(|_| room);
        let fresh = self.next < self.written && (room || probe);
        let segment = if let Some(lost) = lost {
            (lost.lost, lost.again, lost.at) = (false, true, now);
            self.resent += 1;
            (lost.start, lost.end)
        } else if fresh {
            let sent = Sent {
                start: self.next,
                end: self.written.min(self.next + SEGMENT),
                at: now,
                arrived: false,
                lost: false,
                again: false,
            };
            self.next = sent.end;
            self.flight.push_back(sent);
            (sent.start, sent.end)
        } else if let Some(last) = self.flight.iter_mut().rev().find(|sent| probe && !sent.arrived) {
            (last.again, last.at) = (true, now);
            self.resent += 1;
            (last.start, last.end)
        } else {
            return None;
        };
        self.arm(now);
        Some(segment)
    }
}
