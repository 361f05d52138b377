//! The state of one stream, at either end.

use crate::flow;
use std::fmt;

/// The number of a stream on its circuit; not 0.
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

/// The state of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// Whether CONNECTED has passed.
    pub(super) connected: bool,
    /// Whether it stands for a look-up: RESOLVED is all that it carries.
    pub(super) is_lookup: bool,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    /// Whether the caller wanted to send more than it could.
    pub(super) starved: bool,
}

/// What regulates sending.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// Window: the number of DATA cells that may be sent (stream SENDMEs).
    Window(u32),
    /// Limited only by the circuit, unless XOFF came.
    Switched { off: bool },
}

/// What has been received.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Bytes that the caller has and has not reported as consumed.
    pub(super) unread: usize,
    /// Cells received since our last stream SENDME.
    pub(super) cells: u32,
    /// Whether we have sent XOFF and not yet XON.
    pub(super) off: bool,
}

impl Stream {
    pub(super) fn new(windows: bool) -> Self {
        let outgoing = match windows {
            true => Outgoing::Window(flow::STREAM_WINDOW),
            false => Outgoing::Switched { off: false },
        };
        Self {
            connected: false,
            is_lookup: false,
            outgoing,
            incoming: Incoming { unread: 0, cells: 0, off: false },
            starved: false,
        }
    }

    /// Number of DATA cells that the stream's own flow control allows.
    pub(super) fn allowance(&self) -> u32 {
        match self.outgoing {
            Outgoing::Window(cells) => cells,
            Outgoing::Switched { off: true } => 0,
            Outgoing::Switched { off: false } => u32::MAX,
        }
    }
}
