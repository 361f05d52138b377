//! Onion circuits, without I/O: bytes in, bytes out.
//!
//! From the outside in:
//!
//! - [`link`]: two neighbours on a TLS connection agree on a protocol version and learn each other's identity.
//! - [`cell`]: the cells of 514 bytes that neighbours exchange, and a decoder that takes them off a byte stream.
//! - `circuit`: the two ends of a circuit as state machines: the client's, and each relay's. Streams end here.
//! - [`handshake`]: how a client and a relay agree on keys: Tor's `ntor` and `ntor-v3` byte for byte, and hybrids of
//!   X25519 with a KEM, specified in `docs/hybrid-handshake.md`.
//! - [`layer`]: the cryptography of relay cells, tor1 and CGO, keyed by a handshake.
//! - [`relay`]: the messages inside the layers, whole or in fragments.
//! - `flow`: how many cells may be in flight.
//! - `directory`: what relays say of themselves, and the consensus on it that authorities sign (`docs/directory.md`).
//!
//! Wire structures have `encode` and `decode`. Cells and their payloads are appended to a buffer, since a link writes many cells into one; the
//! bodies of relay messages are returned, since they are cut into cells afterwards.
//!
//! `docs/cells.md` lists what differs from Tor.
//!
//! Without the feature `std` the crate is `no_std` and needs `alloc`. `circuit`, `flow` and `relay::Fragments` are then missing, since they
//! take the time as `std::time::Instant`. `directory` needs the feature `aws-lc`, for ML-DSA.
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

pub mod cell;
#[cfg(feature = "std")]
pub mod circuit;
mod command;
#[cfg(feature = "aws-lc")]
pub mod directory;
mod error;
#[cfg(feature = "std")]
pub mod flow;
pub mod handshake;
#[cfg(feature = "aws-lc")]
mod invalid_document;
pub mod layer;
pub mod link;
mod misbehaved;
mod parts;
pub mod relay;

pub use error::Error;
pub use misbehaved::{InvalidCertificate, InvalidTarget, PeerMisbehaved};

/// The README's example, compiled and run as a doc test.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
