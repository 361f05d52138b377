//! Circuits as state machines without a socket.
//!
//! [`ClientCircuit`] is the origin: it builds hop after hop with any [`Handshake`](crate::handshake::Handshake), wraps and
//! unwraps cells, and carries streams. [`RelayCircuit`] is the same circuit at one of its relays: it answers the
//! creation, takes off or adds its layer, extends, and, at the last hop, has the streams' other ends.
//!
//! Both work alike. Methods take what has happened: a cell's message, the time, a wish of the caller's. Then `poll` is called until
//! it gives `None`; what it gives is what is to be done: messages to send on the circuit's links, and news for the application.
//! Neither knows its number on a link; [`Circuits`] keeps those. Handshakes cost a relay time, so it gets each as a
//! [`HandshakeJob`], which may run on another thread.
//!
//! A circuit ends in one of three ways: the caller closes it; somebody sends DESTROY; somebody breaks the protocol or keeps silent
//! for too long, and then it is closed from here. A client's last action is always [`ClientAction::Closed`], whose
//! [`Failure`] names the hop and the cause.
//!
//! ```
//! # #[cfg(feature = "aws-lc")] {
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
//! // Over the link, in real life.
//! let Some(ClientAction::Send(Message::Create2v(create))) = client.poll() else { panic!("a wide creation") };
//! let (mut relay, job) = RelayCircuit::create_wide(create, Limits::default());
//! relay.answer(job.run(&keys)); // on another thread, in real life
//! let Some(RelayAction::ToClient(created)) = relay.poll() else { panic!("the answer") };
//! client.receive(created, now);
//! assert!(matches!(client.poll(), Some(ClientAction::Extended { hop: 1 })));
//! # Ok(()) }
//! # main().unwrap();
//! # }
//! ```

mod client;
mod conversation;
mod extensions;
mod job;
mod numbers;
mod relay;
mod stream;

pub use client::{ClientAction, ClientCircuit, HopOptions};
pub use extensions::{Agreed, Request, Response};
pub use job::{Answer, HandshakeJob, OnionKeys};
pub use numbers::{Circuits, Side};
pub use relay::{RelayAction, RelayCircuit};
pub use stream::StreamId;

use crate::Error;
use crate::cell::DestroyReason;
use crate::flow::Parameters;
use std::fmt;
use std::time::Duration;

/// How many RELAY_EARLY cells a circuit may carry towards its end (tor-spec, "Handling RELAY_EARLY cells").
pub const RELAY_EARLY_CELLS: u8 = 8;

/// Bounds on what the other side may make a circuit wait for or keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Client: how long a hop may take to be added.
    pub build: Duration,
    /// How long a fragmented message may take from its first cell to its last.
    pub fragments: Duration,
    /// How many streams a hop may have.
    pub streams: usize,
    /// Bytes that a stream may have received and not [consumed](ClientCircuit::consumed) before XOFF is sent (prop 324's
    /// `cc_xoff`, 500 cells).
    pub unread: usize,
    /// Bytes that all streams of a hop together may have received and not consumed before the circuit's SENDMEs are held back. What
    /// the sender's window still allows may come on top: 1,000 cells with tor1,
    /// [`MOST_UNACKNOWLEDGED`](crate::flow::MOST_UNACKNOWLEDGED) with congestion control.
    pub circuit_unread: usize,
    /// The congestion window's parameters.
    pub congestion: Parameters,
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
        }
    }
}

/// Why a client's circuit ended, and at which hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The hop, counted from 1: the one that did not answer, answered wrongly, or was destroyed. `None` if it can't be told.
    pub hop: Option<usize>,
    /// What happened there.
    pub cause: Cause,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The caller closed the circuit.
    Closed,
    /// The caller had no room for the circuit's cells.
    Overflow,
    /// The link to the first hop went down.
    LinkClosed,
    /// The hop did not answer in time.
    Timeout,
    /// The hop is gone: it, or its neighbour, says so and why.
    Destroyed(DestroyReason),
    /// The hop's handshake failed, or what it agreed to is not what was asked for.
    Handshake(Error),
    /// The hop broke the protocol.
    Protocol(Error),
    /// A cell came that no hop made. With CGO nothing that follows it can be read either.
    Unrecognized,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hop {
            Some(hop) => write!(f, "hop {hop}: ")?,
            None => f.write_str("the circuit: ")?,
        }
        match self.cause {
            Cause::Closed => f.write_str("closed here"),
            Cause::Overflow => f.write_str("closed here: out of room for its cells"),
            Cause::LinkClosed => f.write_str("the link went down"),
            Cause::Timeout => f.write_str("no answer in time"),
            Cause::Destroyed(reason) => write!(f, "destroyed: {reason}"),
            Cause::Handshake(error) => write!(f, "the handshake failed: {error}"),
            Cause::Protocol(error) => write!(f, "{error}"),
            Cause::Unrecognized => f.write_str("a cell came that no hop made"),
        }
    }
}

impl std::error::Error for Failure {}
