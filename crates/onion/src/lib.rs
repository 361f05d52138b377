//! Onion circuits, without I/O: bytes in, bytes out.
//!
//! From the outside in:
//!
//! - [`link`]: two neighbours on a TLS connection agree on a version and learn who the other is.
//! - [`cell`]: what they then send each other: cells of 514 bytes, and how to take them off a byte stream.
//! - [`circuit`]: what the cells of one circuit come to, at its client and at each of its relays. Streams end here.
//! - [`handshake`]: how a client and a relay come to share keys: Tor's `ntor` and `ntor-v3` byte for byte, and hybrids
//!   of X25519 with a KEM, specified in `docs/hybrid-handshake.md`.
//! - [`layer`]: the cryptography of relay cells, tor1 and CGO, keyed by a handshake.
//! - [`relay`]: the messages inside the layers, whole or in fragments.
//! - [`flow`]: how many cells may be on their way.
//!
//! What is ours and not Tor's stands in `docs/cells.md`.
#![forbid(unsafe_code)]

pub mod cell;
pub mod circuit;
mod error;
pub mod flow;
pub mod handshake;
pub mod layer;
pub mod link;
mod misbehaved;
mod parts;
pub mod relay;

pub use error::Error;
pub use misbehaved::{InvalidCertificate, InvalidTarget, PeerMisbehaved};

/// The README's example, compiled and run as a doc test.
#[cfg(all(doctest, feature = "aws-lc"))]
#[doc = include_str!("../README.md")]
struct Readme;
