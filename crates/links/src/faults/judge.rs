//! What must hold in every scenario, whatever goes wrong.

use super::scenario::{Scenario, Sizes};
use crate::random::Random;
use memchr::memmem::Finder;
use std::time::Duration;

/// How long a client may go without a sign of progress before it has an error: what its driver allows ([`super::STALL`] and [`super::PATIENCE`], or a hop's
/// ten seconds), and a second more.
pub const MOST_WAIT: Duration = Duration::from_secs(21);
/// Steps of a scenario: its events, and what is done one after the other within each.
pub const MOST_STEPS: u64 = 1_000_000;
/// Cells of a circuit beside its DATA that may wait on a link: those of the handshake, acknowledgements, ends.
pub const CONTROL: usize = 64;
/// Handshakes that may wait at a relay.
pub const HANDSHAKES: usize = 64;
/// Bytes of a marker in the streams, and from one to the next.
const MARKER: usize = 16;
const EVERY: usize = 64;

/// What was violated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what the messages say
pub enum Violation {
    /// A byte was lost, repeated, moved or changed.
    #[error("client {client}, stream {stream}, {way}: byte {at} arrived altered")]
    Altered { client: usize, stream: usize, way: &'static str, at: usize },
    /// More than there was.
    #[error("client {client}, stream {stream}, {way}: {got} bytes arrived of {size}")]
    TooMany { client: usize, stream: usize, way: &'static str, got: usize, size: usize },
    /// Bytes that nobody had sent.
    #[error("client {client}, stream {stream}, {way}: {got} bytes arrived and {sent} had been sent")]
    Forged { client: usize, stream: usize, way: &'static str, got: usize, sent: usize },
    /// A stream that ended as if all were there.
    #[error("client {client}, stream {stream}, {way}: ended in good order after {got} of {size} bytes")]
    Short { client: usize, stream: usize, way: &'static str, got: usize, size: usize },
    /// Plaintext on a link.
    #[error("{link}: plaintext of a stream on the link")]
    Plaintext { link: &'static str },
    /// A client waits too long.
    #[error("client {client} has waited for {} ms without progress or an error; expected at most {}", waited.as_millis(), MOST_WAIT.as_millis())]
    Waits { client: usize, waited: Duration },
    /// A client has no outcome, and nothing will happen any more.
    #[error("client {client} waits for ever")]
    Forever { client: usize },
    /// There is no end of events, or of what is done within one.
    #[error("{MOST_STEPS} steps, and no end")]
    Livelock,
    /// An error without a hop that could be named, or with the wrong one.
    #[error("client {client}: error `{error}`; expected {expected}")]
    Unnamed { client: usize, error: String, expected: String },
    /// Something was kept beyond its bound.
    #[error("{what}: {got}; expected at most {most}")]
    Memory { what: &'static str, got: usize, most: usize },
    /// Something was not freed.
    #[error("{node} still has {got} {what} at the end; expected none")]
    Kept { node: &'static str, what: &'static str, got: usize },
    /// A circuit that nothing happened to did not come through.
    #[error("client {client} got `{error}`; expected all bytes, since {why}")]
    Suffered { client: usize, error: String, why: &'static str },
    /// The same seed had other events.
    #[error("a second run of the same scenario had other events")]
    Differs,
    /// Something panicked.
    #[error("panicked: {message}")]
    Panicked { message: String },
}

/// Directions of a stream.
pub(super) const UP: usize = 0;
pub(super) const DOWN: usize = 1;
const WAYS: [&str; 2] = ["to the target", "to the client"];

/// One direction of a stream.
struct Flow {
    bytes: Vec<u8>,
    /// Bytes that the sender's circuit has accepted.
    sent: usize,
    /// Bytes that the receiver's circuit has given out.
    got: usize,
}

/// What is known of a client.
struct Account {
    streams: Vec<[Flow; 2]>,
    /// The widest windows so far: of the client, and of the exit towards it.
    windows: [u32; 2],
    /// The last sign of progress.
    progress: Duration,
    done: bool,
}

/// Knows what was sent, and looks at what arrives.
pub(super) struct Judge {
    marker: Finder<'static>,
    clients: Vec<Account>,
    violation: Option<Violation>,
    steps: u64,
    /// Cells that faults have added to circuits.
    pub(super) added: usize,
    /// Other circuits may have been hit.
    pub(super) others_suffer: bool,
}

impl Judge {
    /// Makes the bytes of all streams.
    pub(super) fn new(scenario: &Scenario, clients: &[Vec<Sizes>]) -> Self {
        let mut random = Random::stream(scenario.seed ^ scenario.number.rotate_left(32), 0x5EED);
        let marker: [u8; MARKER] = std::array::from_fn(|_| random.bits() as u8);
        let mut flow = |size: usize| {
            let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(|_| random.bits().to_be_bytes()).collect();
            bytes.truncate(size);
            // Random bytes between markers: those tell places apart, these are what is looked for.
            for chunk in bytes.chunks_mut(EVERY).filter(|chunk| chunk.len() >= MARKER) {
                chunk[..MARKER].copy_from_slice(&marker);
            }
            Flow { bytes, sent: 0, got: 0 }
        };
        let mut account = |streams: &Vec<Sizes>| Account {
            streams: streams.iter().map(|sizes| [flow(sizes.up), flow(sizes.down)]).collect(),
            windows: [0; 2],
            progress: Duration::ZERO,
            done: false,
        };
        let clients = clients.iter().map(&mut account).collect();
        Self {
            marker: Finder::new(&marker).into_owned(),
            clients,
            violation: None,
            steps: 0,
            added: 0,
            others_suffer: false,
        }
    }

    /// The first violation.
    pub(super) fn take(&mut self) -> Option<Violation> {
        self.violation.take()
    }

    pub(super) fn is_violated(&self) -> bool {
        self.violation.is_some()
    }

    pub(super) fn violated(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
    }

    /// Counts a step. Whether it may be made.
    pub(super) fn goes_on(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.violated(Violation::Livelock);
        }
        self.steps <= MOST_STEPS
    }

    /// A stream's bytes.
    pub(super) fn bytes(&self, client: usize, stream: usize, way: usize) -> &[u8] {
        &self.clients[client].streams[stream][way].bytes
    }

    /// What is still to be sent.
    pub(super) fn unsent(&self, client: usize, stream: usize, way: usize) -> &[u8] {
        let flow = &self.clients[client].streams[stream][way];
        &flow.bytes[flow.sent..]
    }

    /// Bytes that have arrived.
    pub(super) fn arrived(&self, client: usize, stream: usize, way: usize) -> usize {
        self.clients[client].streams[stream][way].got
    }

    /// Whether all has been sent.
    pub(super) fn is_sent(&self, client: usize, stream: usize, way: usize) -> bool {
        self.unsent(client, stream, way).is_empty()
    }

    /// Whether all has arrived.
    pub(super) fn is_complete(&self, client: usize, stream: usize, way: usize) -> bool {
        let flow = &self.clients[client].streams[stream][way];
        flow.got == flow.bytes.len()
    }

    /// The sender's circuit has accepted so many bytes.
    pub(super) fn sent(&mut self, client: usize, stream: usize, way: usize, bytes: usize) {
        self.clients[client].streams[stream][way].sent += bytes;
    }

    /// The receiver's circuit gives out these bytes.
    pub(super) fn got(&mut self, client: usize, stream: usize, way: usize, bytes: &[u8]) {
        let Flow { bytes: all, sent, got } = &mut self.clients[client].streams[stream][way];
        let (from, to, size, sent) = (*got, *got + bytes.len(), all.len(), *sent);
        *got = to;
        let named = WAYS[way];
        let violation = if to > size {
            Violation::TooMany { client, stream, way: named, got: to, size }
        } else if let Some(at) = all[from..to].iter().zip(bytes).position(|(sent, got)| sent != got) {
            Violation::Altered { client, stream, way: named, at: from + at }
        } else if to > sent {
            Violation::Forged { client, stream, way: named, got: to, sent }
        } else {
            return;
        };
        self.violated(violation);
    }

    /// A stream has ended in good order.
    pub(super) fn ended(&mut self, client: usize, stream: usize) {
        for (flow, way) in self.clients[client].streams[stream].iter().zip(WAYS) {
            let (got, size) = (flow.got, flow.bytes.len());
            if got != size {
                self.violation.get_or_insert(Violation::Short { client, stream, way, got, size });
            }
        }
    }

    /// Bytes go over a link.
    pub(super) fn on_link(&mut self, link: &'static str, bytes: &[u8]) {
        if self.marker.find(bytes).is_some() {
            self.violated(Violation::Plaintext { link });
        }
    }

    /// The window of an end, as it is now: the client's, or the exit's.
    pub(super) fn window(&mut self, client: usize, end: usize, cells: u32) {
        let widest = &mut self.clients[client].windows[end];
        *widest = (*widest).max(cells);
    }

    /// Cells of a circuit that wait on a link.
    pub(super) fn queued(&mut self, client: usize, cells: usize) {
        let widest = self.clients[client].windows.into_iter().max().unwrap_or_default();
        self.bounded("cells of a circuit in a link's queue", cells, widest as usize + CONTROL + self.added);
    }

    /// Bytes that an end has and has not used up.
    pub(super) fn unread(&mut self, client: usize, sender: usize, bytes: usize, limit: usize) {
        // The window may have shrunk since cells were sent, so the widest counts.
        let most = limit + self.clients[client].windows[sender] as usize * 498;
        self.bounded("bytes of a circuit that nobody has read", bytes, most);
    }

    /// Something that has a bound.
    pub(super) fn bounded(&mut self, what: &'static str, got: usize, most: usize) {
        if got > most {
            self.violated(Violation::Memory { what, got, most });
        }
    }

    /// A client has come on.
    pub(super) fn progress(&mut self, client: usize, now: Duration) {
        let progress = &mut self.clients[client].progress;
        *progress = (*progress).max(now);
    }

    /// A client has an outcome.
    pub(super) fn done(&mut self, client: usize) {
        self.clients[client].done = true;
    }

    /// Looks whether anybody waits for too long.
    pub(super) fn look(&mut self, now: Duration) {
        let late = |account: &Account| !account.done && now > account.progress + MOST_WAIT;
        if let Some(client) = self.clients.iter().position(late) {
            let waited = now - self.clients[client].progress;
            self.violated(Violation::Waits { client, waited });
        }
    }

    /// Nothing happens any more.
    pub(super) fn over(&mut self) {
        if let Some(client) = self.clients.iter().position(|account| !account.done) {
            self.violated(Violation::Forever { client });
        }
    }
}
