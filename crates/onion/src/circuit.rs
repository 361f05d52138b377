//! Circuits as state machines without I/O.
//!
//! [`ClientCircuit`] is the client's end: it adds hop after hop with any [`Handshake`](crate::handshake::Handshake),
//! wraps and unwraps cells, and carries streams. [`RelayCircuit`] is the same circuit at one of its relays: it answers
//! the creation, removes or adds its layer, extends the circuit, and, at the last hop, holds the other ends of the
//! streams.
//!
//! Both work the same way. Methods report what has happened: a message arrived, time passed, the application wants
//! something. Then the caller calls `poll` until it returns `None`; each action it returns is to be carried out:
//! messages to send on the circuit's links, and news for the application. Neither knows its circuit number on a link;
//! [`Circuits`] keeps those. Handshakes cost a relay time, so it gets each one as a [`HandshakeJob`], which may run on
//! another thread.
//!
//! A circuit ends in one of three ways: the caller closes it; a peer sends DESTROY; or a peer breaks the protocol or
//! stays silent for too long, and this end closes it. The last action of a client's circuit is always
//! [`ClientAction::Closed`], whose [`Failure`] names the hop and the cause.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! # fn main() -> Result<(), candor_onion::Error> {
//! use candor_onion::cell::Message;
//! use candor_onion::circuit::{ClientAction, ClientCircuit, HopOptions, Limits, OnionKeys, RelayAction, RelayCircuit};
//! use candor_onion::handshake::{Handshake, Hybrid768};
//! use std::time::Instant;
//!
//! let now = Instant::now();
//! let handshake = Hybrid768::default();
//! let secret = handshake.generate_relay([1; 32])?;
//! let mut client = ClientCircuit::new(Limits::default(), true);
//! client.create(&handshake, handshake.public(&secret), HopOptions::default(), now)?;
//! let keys = OnionKeys::default().with(handshake, vec![secret])?;
//!
//! // In practice the message crosses a link.
//! let Some(ClientAction::Send(Message::Create2v(create))) = client.poll() else { panic!("expected CREATE2V") };
//! let (mut relay, job) = RelayCircuit::create_wide(create, Limits::default());
//! relay.answer(job.run(&keys)); // in practice on another thread
//! let Some(RelayAction::ToClient(created)) = relay.poll() else { panic!("expected CREATED2V") };
//! client.receive(created, now);
//! assert!(matches!(client.poll(), Some(ClientAction::Extended { hop: 1 })));
//! # Ok(()) }
//! # main().unwrap();
//! # }
//! ```

mod client;
mod conversation;
mod ended;
mod extensions;
mod job;
mod numbers;
mod padding;
mod relay;
mod stream;
#[cfg(test)]
mod tests;

pub use client::{ClientAction, ClientCircuit, HopOptions};
pub use extensions::{Agreed, Request, Response};
pub use job::{Answer, HandshakeJob, OnionKeys};
pub use numbers::{Circuits, Side};
pub use relay::{RelayAction, RelayCircuit, UpgradeJob};
pub use stream::StreamId;

use crate::Error;
use crate::cell::DestroyReason;
use crate::flow::Parameters;
use std::fmt;
use std::time::Duration;

/// Number of RELAY_EARLY cells that a circuit may carry away from the client (tor-spec, "Handling RELAY_EARLY cells").
pub const RELAY_EARLY_CELLS: u8 = 8;

/// Bounds on what a peer can make a circuit wait for or keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit for adding a hop, at the client.
    pub build: Duration,
    /// Time limit for a fragmented message, from its first cell to its last.
    pub fragments: Duration,
    /// Most open streams of a hop.
    pub streams: usize,
    /// Most bytes that a stream may have received but not [consumed](ClientCircuit::consumed) before XOFF is sent (prop
    /// 324's `cc_xoff`, 500 cells).
    pub unread: usize,
    /// Most bytes that all streams of a hop together may have received but not consumed before the circuit's SENDMEs
    /// are held back. On top comes what the sender's window still allows: 1,000 cells with tor1,
    /// [`MOST_UNACKNOWLEDGED`](crate::flow::MOST_UNACKNOWLEDGED) with congestion control.
    pub circuit_unread: usize,
    /// Parameters of the congestion window.
    pub congestion: Parameters,
    /// Whether a relay has a directory: [`RelayAction::BeginDirectory`] tells of BEGIN_DIR, which is refused otherwise.
    pub directory: bool,
    /// Whether a relay agrees to upgrades (`docs/upgrade.md`; experimental).
    pub upgrade: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            build: Duration::from_secs(10),
            fragments: Duration::from_secs(10),
            streams: 1024,
            unread: 500 * 498,
            circuit_unread: 2000 * 498,
            congestion: Parameters::default(),
            directory: false,
            upgrade: false,
        }
    }
}

/// Why a client's circuit ended, and at which hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Hop that did not answer, answered wrongly, or was destroyed, counted from 1. `None` if it can't be determined.
    pub hop: Option<usize>,
    /// The cause.
    pub cause: Cause,
}

/// The cause of a circuit's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The caller closed the circuit.
    Closed,
    /// The caller ran out of room for the circuit's cells.
    Overflow,
    /// The link to the first hop closed.
    LinkClosed,
    /// The hop did not answer in time.
    Timeout,
    /// The hop, or its neighbour, sent DESTROY or TRUNCATED with this reason.
    Destroyed(DestroyReason),
    /// The handshake with the hop failed, or its upgrade; or the hop agreed to something that was not asked for.
    Handshake(Error),
    /// The hop broke the protocol.
    Protocol(Error),
    /// The operating system gave no randomness to pad a cell with.
    Randomness,
    /// A cell arrived that no hop made. With CGO, nothing after it can be decrypted either.
    Unrecognized,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hop {
            Some(hop) => write!(f, "hop {hop}: ")?,
            None => f.write_str("circuit: ")?,
        }
        match self.cause {
            Cause::Closed => f.write_str("closed here"),
            Cause::Overflow => f.write_str("closed here: out of room for cells"),
            Cause::LinkClosed => f.write_str("link closed"),
            Cause::Timeout => f.write_str("timed out"),
            Cause::Destroyed(reason) => write!(f, "destroyed: {reason}"),
            Cause::Handshake(error) => write!(f, "handshake failed: {error}"),
            Cause::Protocol(error) => write!(f, "{error}"),
            Cause::Randomness => write!(f, "closed here: {}", Error::Randomness),
            Cause::Unrecognized => f.write_str("unrecognised cell: no hop of the circuit made it"),
        }
    }
}

impl std::error::Error for Failure {}
