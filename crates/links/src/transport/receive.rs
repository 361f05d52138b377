//! The receiving half of an end: what has arrived, and when to say so.

use super::SEGMENT;
use std::time::Duration;

/// Segments at the beginning of a connection that are acknowledged at once (Linux, `TCP_MAX_QUICKACKS`).
const QUICK: u32 = 16;
/// How long an acknowledgement waits for company (Linux, `TCP_DELACK_MIN`). Who answers sooner is in conversation (Linux, `TCP_ATO_MIN`, which is as long).
const DELAYED: Duration = Duration::from_millis(40);

#[derive(Debug)]
pub(super) struct Receiving {
    in_order: u64,
    /// What has arrived beyond a gap, in order and apart.
    ranges: Vec<(u64, u64)>,
    quick_left: u32,
    /// When data came last.
    heard_at: Option<Duration>,
    /// Bytes that have come since the last acknowledgement.
    unacknowledged: u64,
    now: bool,
    due_at: Option<Duration>,
}

impl Receiving {
    pub(super) fn new() -> Self {
        Self {
            in_order: 0,
            ranges: Vec::new(),
            quick_left: QUICK,
            heard_at: None,
            unacknowledged: 0,
            now: false,
            due_at: None,
        }
    }

    /// Of an end that has been in conversation for a while.
    pub(super) fn in_conversation() -> Self {
        Self { quick_left: 0, ..Self::new() }
    }

    /// Data is sent. If it answers what has just come, more answers are expected, which acknowledgements can ride on (Linux, `tcp_pingpong_thresh`, which is 1).
    pub(super) fn replies(&mut self, now: Duration) {
        if self.heard_at.is_some_and(|at| now - at < DELAYED) {
            self.quick_left = 0;
        }
    }

    pub(super) fn in_order(&self) -> u64 {
        self.in_order
    }

    /// Takes the bytes from `start` to `end`.
    pub(super) fn data(&mut self, start: u64, end: u64, now: Duration) {
        let in_sequence = start <= self.in_order && end > self.in_order && self.ranges.is_empty();
        if end > self.in_order {
            self.insert(start.max(self.in_order), end);
        }
        self.heard_at = Some(now);
        self.unacknowledged += end - start;
        let is_quick = self.quick_left > 0;
        self.quick_left = self.quick_left.saturating_sub(1);
        // Gaps, what fills them, and what has come before are reported at once (RFC 5681, section 4.2).
        if is_quick || !in_sequence || self.unacknowledged > SEGMENT {
            self.now = true;
        } else if self.due_at.is_none() {
            self.due_at = Some(now + DELAYED);
        }
    }

    fn insert(&mut self, mut start: u64, mut end: u64) {
        self.ranges.retain(|&(from, to)| {
            let apart = to < start || from > end;
            if !apart {
                (start, end) = (start.min(from), end.max(to));
            }
            apart
        });
        if start <= self.in_order {
            self.in_order = end;
        } else {
            let at = self.ranges.partition_point(|&(from, _)| from < start);
            self.ranges.insert(at, (start, end));
        }
    }

    pub(super) fn acknowledge_now(&mut self) {
        self.now = true;
    }

    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.now || self.due_at.is_some_and(|at| at <= now)
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.due_at
    }

    pub(super) fn tick(&mut self, now: Duration) {
        if self.due_at.is_some_and(|at| at <= now) {
            self.now = true;
        }
    }

    /// What an outgoing segment says; nothing is due after it.
    pub(super) fn acknowledgement(&mut self) -> (u64, Vec<(u64, u64)>) {
        (self.now, self.due_at, self.unacknowledged) = (false, None, 0);
        (self.in_order, self.ranges.clone())
    }
}
