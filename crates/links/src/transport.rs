//! A reliable byte stream between two ends, modelled on Linux's TCP.
//!
//! An [`Endpoint`] knows no sockets, no clock and no bytes: it counts. It is told how many bytes the application writes, which segments arrive
//! and what time it is; it says which segments to send, and how many bytes have arrived in order.
//!
//! What it does as the kernel does:
//!
//! - SYN, SYN-ACK, ACK, sent again after 1 s, 2 s, 4 s … (RFC 6298), but a SYN five times after 1 s before that begins (Linux 6.5 and later); who hears
//!   nothing gives up after eleven SYNs, at 131 s, or six SYN-ACKs, at 63 s;
//! - an initial window of ten segments (RFC 6928), slow start, one segment more for each that is acknowledged, growth only where the window
//!   was in use;
//! - smoothed round-trip times, a retransmission timeout of at least 200 ms above them, doubled each time (RFC 6298, with Linux's minimum); the
//!   connection is given up after fifteen of them with nothing heard in between;
//! - selective acknowledgements; a segment is lost once three that were sent after it have arrived, or a quarter of the shortest round trip
//!   later (RACK, RFC 8985); a probe for the tail of a flight after two round trips (TLP, ibid.);
//! - the first sixteen segments are acknowledged at once, until the end has answered one with data within 40 ms; then whatever is more than one full segment, or after
//!   40 ms; with data to send, the acknowledgement rides on it. A gap is reported at once;
//! - small writes leave at once (TCP_NODELAY, as `network` sets it).
//!
//! Congestion control is Reno's, which every kernel has and `testbed` asks for. Where it differs from that: there is no receive window, no pacing, no slow start after
//! idleness, no ECN, no undoing of a reduction that was wrong; a window shrinks in one step and not over a round trip; a selective acknowledgement names every range and not the latest three; nothing closes. Timers are exact, while the kernel's count in jiffies.

mod receive;
mod send;

use receive::Receiving;
use send::Sending;
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of data in a full segment: an Ethernet frame's 1500 without the headers.
pub const SEGMENT: u64 = 1448;
/// Bytes of the headers of a segment: IPv4's 20, TCP's 20, and 12 of time stamps.
pub const HEADERS: usize = 52;

/// SYNs that are sent again after the same time before it doubles (Linux, `tcp_syn_linear_timeouts`, which is 4: the first doubling follows the fifth).
const LINEAR: u32 = 4;
/// Timeouts after which a SYN is sent once more: Linux adds `tcp_syn_retries`, which is 6, to those that are linear.
const MOST_SYNS: u32 = LINEAR + 6;
/// Timeouts after which the answer to a SYN is sent once more (Linux, `tcp_synack_retries`).
const MOST_ANSWERS: u32 = 5;

/// One segment, without its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Opens the connection; its answer opens it as well and acknowledges.
    pub syn: bool,
    /// Whether `ack` means anything: all but the first SYN.
    pub acknowledges: bool,
    /// Where its data begins in the stream.
    pub start: u64,
    /// Bytes of data.
    pub length: u64,
    /// Bytes of the other direction that have arrived in order.
    pub ack: u64,
    /// Bytes that have arrived out of order: where they begin and end.
    pub ranges: Vec<(u64, u64)>,
}

impl Segment {
    /// Bytes of the packet on a link.
    pub fn bytes(&self) -> usize {
        HEADERS + 8 * self.ranges.len().min(3) + if self.ranges.is_empty() { 0 } else { 4 } + self.length as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// SYN is on its way.
    Opening,
    /// SYN-ACK is on its way.
    Answering,
    Open,
    /// The other end has been silent for too long.
    GivenUp,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Endpoint {
    state: State,
    /// When SYN or SYN-ACK was last sent, how often, and when it is sent again.
    handshake: (Duration, u32),
    /// How often nothing had come by then. A second SYN is answered again and is no timeout.
    timeouts: u32,
    again_at: Option<Duration>,
    sending: Sending,
    receiving: Receiving,
    out: VecDeque<Segment>,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::new()
    }
}

impl Endpoint {
    /// An end without a connection; one that waits for the other end's SYN.
    pub fn new() -> Self {
        Self {
            state: State::Closed,
            handshake: (Duration::ZERO, 0),
            timeouts: 0,
            again_at: None,
            sending: Sending::new(),
            receiving: Receiving::new(),
            out: VecDeque::new(),
        }
    }

    /// Two ends of a connection that has been open for a while: its round trip is known, both ends have answered, and its windows are the initial ones.
    pub fn open_pair(round_trip: Duration) -> [Self; 2] {
        [(); 2].map(|()| {
            let mut end = Self::new();
            end.state = State::Open;
            end.sending.measured(round_trip);
            end.receiving = Receiving::in_conversation();
            end
        })
    }

    /// Opens the connection.
    pub fn connect(&mut self, now: Duration) {
        if self.state == State::Closed {
            self.state = State::Opening;
            self.shake(now);
        }
    }

    /// Takes this many bytes to be sent; they wait if the connection is not open yet.
    pub fn write(&mut self, bytes: u64, now: Duration) {
        self.sending.write(bytes);
        self.push(now);
    }

    /// Takes a segment that has arrived.
    pub fn receive(&mut self, segment: &Segment, now: Duration) {
        match self.state {
            State::Closed if segment.syn => {
                self.state = State::Answering;
                self.shake(now);
                return;
            }
            State::Closed | State::GivenUp => return,
            State::Opening if segment.syn && segment.acknowledges => {
                self.opened(now);
                self.receiving.acknowledge_now();
            }
            State::Opening => return,
            State::Answering if segment.syn => return self.shake(now),
            State::Answering => self.opened(now),
            // SYN-ACK once more: its acknowledgement was lost.
            State::Open if segment.syn => self.receiving.acknowledge_now(),
            State::Open => {}
        }
        if segment.length > 0 {
            self.receiving.data(segment.start, segment.start + segment.length, now);
        }
        self.sending.acknowledged(segment.ack, &segment.ranges, now);
        self.push(now);
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Duration) {
        let is_late = self.again_at.is_some_and(|at| at <= now);
        let most = if self.state == State::Answering { MOST_ANSWERS } else { MOST_SYNS };
        if is_late && self.timeouts == most {
            self.give_up();
        } else if is_late {
            self.timeouts += 1;
            self.shake(now);
        }
        if self.state == State::Open {
            self.sending.tick(now);
            if self.sending.is_hopeless() {
                return self.give_up();
            }
            self.receiving.tick(now);
            self.push(now);
        }
    }

    /// When [`Self::tick`] must be called next.
    pub fn deadline(&self) -> Option<Duration> {
        if self.has_given_up() {
            return None;
        }
        [self.again_at, self.sending.deadline(), self.receiving.deadline()].into_iter().flatten().min()
    }

    /// The next segment to send.
    pub fn poll(&mut self) -> Option<Segment> {
        let segment = self.out.pop_front();
        if segment.is_none() && self.out.capacity() > 0 {
            // A hundred thousand circuits have a million of these queues, empty most of the time.
            self.out = VecDeque::new();
        }
        segment
    }

    /// Whether data can flow.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether the other end has been silent for so long that nothing more is sent.
    pub fn has_given_up(&self) -> bool {
        self.state == State::GivenUp
    }

    /// Bytes that have arrived in order.
    pub fn received(&self) -> u64 {
        self.receiving.in_order()
    }

    /// Bytes that were written and have not been sent for the first time.
    pub fn unsent(&self) -> u64 {
        self.sending.unsent()
    }

    /// Segments that were sent more than once, SYNs included.
    pub fn resent(&self) -> u64 {
        self.sending.resent() + u64::from(self.handshake.1.saturating_sub(1))
    }

    fn shake(&mut self, now: Duration) {
        let (_, sent) = self.handshake;
        self.handshake = (now, sent + 1);
        let acknowledges = self.state == State::Answering;
        // 1 s, doubled each time (RFC 6298, section 2.1).
        let doublings = if acknowledges { self.timeouts } else { self.timeouts.saturating_sub(LINEAR) };
        self.again_at = Some(now + Duration::from_secs(1 << doublings));
        self.out.push_back(Segment { syn: true, acknowledges, start: 0, length: 0, ack: 0, ranges: Vec::new() });
    }

    fn give_up(&mut self) {
        self.state = State::GivenUp;
        self.out.clear();
    }

    fn opened(&mut self, now: Duration) {
        self.state = State::Open;
        self.again_at = None;
        let (at, sent) = self.handshake;
        // A SYN that was sent twice measures nothing (Karn).
        if sent == 1 {
            self.sending.measured(now.saturating_sub(at));
        }
    }

    /// Queues what may be sent now, and an acknowledgement that is due.
    fn push(&mut self, now: Duration) {
        if self.state != State::Open {
            return;
        }
        while let Some((start, end)) = self.sending.next(now) {
            self.receiving.replies(now);
            let segment = self.segment(start, end - start);
            self.out.push_back(segment);
        }
        if self.receiving.is_due(now) {
            let segment = self.segment(self.sending.front(), 0);
            self.out.push_back(segment);
        }
    }

    fn segment(&mut self, start: u64, length: u64) -> Segment {
        let (ack, ranges) = self.receiving.acknowledgement();
        Segment { syn: false, acknowledges: true, start, length, ack, ranges }
    }
}

#[cfg(test)]
mod tests;
