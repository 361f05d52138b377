//! Flow control of a circuit: how many DATA cells may be in flight to a hop, or from it.
//!
//! After a fixed number of DATA cells the receiver sends SENDME with the tag of the last of them, so that nobody can
//! acknowledge cells that did not arrive (prop 289). With tor1 that is every 100 cells, and at most 1000 may be
//! unacknowledged. With CGO the increment is negotiated and the sender's window follows [`Vegas`] (prop 324).
//!
//! A receiver that can't keep up holds its SENDMEs back. The sender then stops at its window, so what the receiver must
//! buffer is bounded whatever the number of streams.

mod rtt;
mod vegas;

pub(crate) use vegas::SENDME_INCREMENT;
pub use vegas::{Parameters, Vegas};

use crate::layer::Tag;
use crate::{Error, PeerMisbehaved};
use std::collections::VecDeque;
use std::time::Instant;

/// tor1: cells between SENDMEs of a circuit.
pub const CIRCUIT_INCREMENT: u32 = 100;
/// tor1: most unacknowledged cells of a circuit.
pub const CIRCUIT_WINDOW: u32 = 1000;
/// tor1: cells between SENDMEs of a stream.
pub const STREAM_INCREMENT: u32 = 50;
/// tor1: most unacknowledged cells of a stream.
pub const STREAM_WINDOW: u32 = 500;

/// With congestion control: most unacknowledged cells of a circuit, whatever the sender's window. A path of 100 Mbit/s
/// with a round trip of 600 ms (three hops, one of them over a geostationary satellite) holds 14,592 cells; this is the
/// next power of two.
pub const MOST_UNACKNOWLEDGED: u32 = 1 << 14;

/// One end's flow control, both for what it sends and for what it receives.
#[derive(Debug)]
pub(crate) struct Flow {
    increment: u32,
    window: Window,
    /// DATA cells sent and not acknowledged.
    inflight: u32,
    /// DATA cells sent since the last one that a SENDME will acknowledge.
    since_mark: u32,
    /// What each expected SENDME must acknowledge, in order.
    expected: VecDeque<Mark>,
    /// DATA cells received since a SENDME was last due.
    received: u32,
    /// Tags of the SENDMEs that are due and not yet sent.
    due: VecDeque<Tag>,
}

#[derive(Debug)]
enum Window {
    Fixed,
    /// Congestion control before the first acknowledgement: many ends of a circuit never send.
    Initial(u32),
    Vegas(Box<Vegas>),
}

#[derive(Debug)]
struct Mark {
    tag: Tag,
    sent: Instant,
}

impl Flow {
    /// Fixed windows, for tor1.
    pub(crate) fn fixed() -> Self {
        Self::new(CIRCUIT_INCREMENT, Window::Fixed)
    }

    /// Congestion control with the negotiated increment.
    pub(crate) fn vegas(increment: u8, parameters: &Parameters) -> Self {
        let increment = u32::from(increment.max(1));
        Self::new(increment, Window::Initial(Vegas::new(increment, *parameters).window()))
    }

    fn new(increment: u32, window: Window) -> Self {
        Self {
            increment,
            window,
            inflight: 0,
            since_mark: 0,
            expected: VecDeque::new(),
            received: 0,
            due: VecDeque::new(),
        }
    }

    /// How many DATA cells may be sent now.
    pub(crate) fn allowance(&self) -> u32 {
        self.window().saturating_sub(self.inflight)
    }

    /// How many DATA cells may be unacknowledged.
    pub(crate) fn window(&self) -> u32 {
        match &self.window {
            Window::Fixed => CIRCUIT_WINDOW,
            Window::Initial(cells) => *cells,
            Window::Vegas(vegas) => vegas.window(),
        }
    }

    /// Whether the next DATA cell is one that a SENDME will acknowledge.
    pub(crate) fn marks_next(&self) -> bool {
        self.since_mark + 1 == self.increment
    }

    /// Counts a DATA cell that was sent.
    pub(crate) fn sent(&mut self, tag: Tag, now: Instant) {
        self.inflight += 1;
        self.since_mark += 1;
        if self.since_mark == self.increment {
            self.since_mark = 0;
            self.expected.push_back(Mark { tag, sent: now });
        }
    }

    /// Handles a SENDME. `blocked` says whether cells are piling up on the way out of this process; `parameters` are those of [`Self::vegas`].
    pub(crate) fn acknowledged(
        &mut self,
        tag: Tag,
        blocked: bool,
        now: Instant,
        parameters: &Parameters,
    ) -> Result<(), Error> {
        let mark = self.expected.pop_front().ok_or(PeerMisbehaved::SendmeUnexpected { stream: 0 })?;
        if mark.tag != tag {
            return Err(PeerMisbehaved::SendmeTag.into());
        }
        if let Window::Initial(_) = self.window {
            self.window = Window::Vegas(Box::new(Vegas::new(self.increment, *parameters)));
        }
        if let Window::Vegas(vegas) = &mut self.window {
            vegas.acknowledged(now.saturating_duration_since(mark.sent), self.inflight, blocked);
        }
        self.inflight -= self.increment;
        Ok(())
    }

    /// Counts a DATA cell that arrived.
    ///
    /// # Errors
    /// [`PeerMisbehaved::CircuitWindow`].
    pub(crate) fn received(&mut self, tag: Tag) -> Result<(), Error> {
        let most = match self.window {
            Window::Fixed => CIRCUIT_WINDOW,
            Window::Initial(_) | Window::Vegas(_) => MOST_UNACKNOWLEDGED,
        };
        if self.received + self.due.len() as u32 * self.increment >= most {
            return Err(PeerMisbehaved::CircuitWindow { most }.into());
        }
        self.received += 1;
        if self.received == self.increment {
            self.received = 0;
            self.due.push_back(tag);
        }
        Ok(())
    }

    /// The tag of the next SENDME, if one is due. It counts as sent.
    pub(crate) fn next_sendme(&mut self) -> Option<Tag> {
        self.due.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn tag(number: u32) -> Tag {
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Tag::from_bytes(&bytes).unwrap()
    }

    #[test]
    fn a_fixed_window_closes_after_1000_cells_and_opens_by_100() {
        let (mut flow, now) = (Flow::fixed(), Instant::now());
        (1..=1000).for_each(|cell| flow.sent(tag(cell), now));
        assert_eq!(flow.allowance(), 0);
        flow.acknowledged(tag(100), false, now, &Parameters::default()).unwrap();
        assert_eq!(flow.allowance(), 100);
        assert_eq!(flow.expected.len(), 9);
    }

    #[test]
    fn an_acknowledgement_must_name_the_right_cell_and_come_when_due() {
        let (mut flow, now) = (Flow::fixed(), Instant::now());
        assert!(flow.acknowledged(tag(1), false, now, &Parameters::default()).is_err(), "nothing was sent");
        (1..=150).for_each(|cell| flow.sent(tag(cell), now));
        assert!(flow.acknowledged(tag(99), false, now, &Parameters::default()).is_err(), "another cell's tag");
    }

    #[test]
    fn the_receiver_acknowledges_every_hundredth_cell() {
        let mut flow = Flow::fixed();
        let due = |flow: &mut Flow, cell| {
            flow.received(tag(cell)).unwrap();
            flow.next_sendme()
        };
        let sent: Vec<_> = (1..=300).filter_map(|cell| due(&mut flow, cell)).collect();
        assert_eq!(sent, [100, 200, 300].map(tag));
    }

    #[test]
    fn a_sender_that_ignores_its_window_is_refused() {
        for (mut flow, window) in
            [(Flow::fixed(), 1000), (Flow::vegas(31, &Parameters::default()), MOST_UNACKNOWLEDGED)]
        {
            (1..=window).for_each(|cell| flow.received(tag(cell)).expect("the window allows it"));
            assert!(flow.received(tag(0)).is_err());
            // Once acknowledged, as many more may come as the SENDME stands for.
            assert!(flow.next_sendme().is_some());
            (0..flow.increment).for_each(|_| flow.received(tag(1)).expect("there is room again"));
            assert!(flow.received(tag(0)).is_err());
        }
    }

    #[test]
    fn congestion_control_starts_small_and_grows_while_round_trips_stay_short() {
        let (mut flow, start) = (Flow::vegas(31, &Parameters::default()), Instant::now());
        assert_eq!(flow.window(), 4 * 31);
        let mut cell = 0;
        for round in 0..40u32 {
            let now = start + Duration::from_millis(u64::from(round) * 10);
            while flow.allowance() > 0 {
                cell += 1;
                flow.sent(tag(cell), now);
            }
            while let Some(mark) = flow.expected.front() {
                let due = mark.tag;
                flow.acknowledged(due, false, now + Duration::from_millis(10), &Parameters::default()).unwrap();
            }
        }
        assert!(flow.window() > 1000, "{}", flow.window());
    }
}
