//! Onion circuits, without I/O: bytes in, bytes out.
//!
//! - [`handshake`]: how a client and a relay come to share keys: Tor's `ntor` and `ntor-v3` byte for byte, and hybrids
//!   of X25519 with a KEM, specified in `docs/hybrid-handshake.md`.
//!
//! Cells, fragments, relay cryptography and circuits are to follow; they are generic over [`handshake::Handshake`].
#![forbid(unsafe_code)]

pub mod cell;
mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod handshake;
pub mod link;
mod parts;

pub use error::Error;
