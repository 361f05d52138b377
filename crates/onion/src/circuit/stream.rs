//! One stream's state, at either end.

use crate::flow;
use std::fmt;

/// A stream's number on its circuit, not 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub(super) u16);

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.0)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What the two ends of a stream owe each other.
#[derive(Debug)]
pub(super) struct Stream {
    /// CONNECTED has gone by.
    pub(super) connected: bool,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    /// The caller had more to send than it could.
    pub(super) starved: bool,
}

/// How much may be sent.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// So many DATA cells (stream SENDMEs).
    Window(u32),
    /// As much as the circuit allows, unless XOFF came.
    Switched { off: bool },
}

/// What was received.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Bytes that the caller has and did not report as consumed.
    pub(super) unread: usize,
    /// Cells since our last stream SENDME.
    pub(super) cells: u32,
    /// We have sent XOFF and not XON.
    pub(super) off: bool,
}

impl Stream {
    pub(super) fn new(windows: bool) -> Self {
        let outgoing = match windows {
            true => Outgoing::Window(flow::STREAM_WINDOW),
            false => Outgoing::Switched { off: false },
        };
        Self { connected: false, outgoing, incoming: Incoming { unread: 0, cells: 0, off: false }, starved: false }
    }

    /// How many DATA cells the stream's own flow control allows.
    pub(super) fn allowance(&self) -> u32 {
        match self.outgoing {
            Outgoing::Window(cells) => cells,
            Outgoing::Switched { off: true } => 0,
            Outgoing::Switched { off: false } => u32::MAX,
        }
    }
}
