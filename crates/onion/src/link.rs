//! The link handshake: two neighbours on a TLS connection agree on a protocol version and learn each other's identity
//! (tor-spec, "Negotiating and initializing channels").
//!
//! ```text
//! initiator                                      responder
//! VERSIONS                        ──────▶
//!                                 ◀──────        VERSIONS, CERTS, AUTH_CHALLENGE, NETINFO
//! [CERTS, AUTHENTICATE,] NETINFO  ──────▶
//! ```
//!
//! The responder is always authenticated: its CERTS tie the TLS certificate of the connection to its Ed25519 identity.
//! An initiator that is a relay authenticates by AUTHENTICATE type 3, a signature over the bytes of both sides and over
//! a secret of the TLS connection; a client does not. [`LinkHandshake`] is either side, without I/O: give it the bytes
//! that arrive and send its output.
//!
//! ```
//! # fn main() -> Result<(), candor_onion::Error> {
//! use candor_onion::link::{Addresses, Binding, Initiator, LinkHandshake, RelayIdentity, Responder};
//! let now = 1_790_000_000; // seconds since 1970, from the caller's clock
//! let relay = RelayIdentity::from_seeds(&[1; 32], &[2; 32], &[3; 32], now);
//! // Both come from the TLS connection; see `Binding`.
//! let binding = Binding { exporter: [4; 32], certificate: [5; 32] };
//!
//! let expect = Some(*relay.id());
//! let addresses = Addresses::default();
//! let mut client = LinkHandshake::initiator(Initiator { relay: None, expect, binding, now, nonce: [0; 24], addresses });
//! let mut server = LinkHandshake::responder(Responder { relay: &relay, binding, now, challenge: [6; 32], addresses });
//! while !(client.is_done() && server.is_done()) {
//!     server.receive(&client.take_output())?;
//!     client.receive(&server.take_output())?;
//! }
//! let (link, _decoder) = client.finish()?;
//! assert_eq!(link.peer, Some(*relay.id()));
//! assert_eq!(server.finish()?.0.peer, None); // clients stay anonymous
//! # Ok(())
//! # }
//! ```

pub mod certificate;
mod handshake;
mod identity;
mod rsa;

pub use handshake::{Addresses, Initiator, Link, LinkHandshake, Responder};
pub use identity::RelayIdentity;
pub use rsa::{RSA_IDENTITY, RsaIdentity};

/// The label of the TLS exporter for [`Binding::exporter`] (tor-spec, "Ed25519-SHA256-RFC5705").
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER FOR TOR TLS CLIENT BINDING AUTH0003";
/// The context for the same exporter, of an initiator without an RSA identity: CID, the digest of that identity, is zero.
pub const EXPORTER_CONTEXT: [u8; 32] = [0; 32];

/// What ties the handshake to its TLS connection. If the two sides' values differ, somebody is in the middle.
#[derive(Clone, Copy)]
pub struct Binding {
    /// TLSSECRETS: 32 bytes of RFC 5705 keying material under [`EXPORTER_LABEL`] and the context: for an initiator
    /// [`RelayIdentity::exporter_context`], for a responder [`EXPORTER_CONTEXT`], as long as it is not [asked](LinkHandshake::wanted_context) for another. Used only if
    /// the initiator authenticates.
    pub exporter: [u8; 32],
    /// SCERT: SHA-256 of the responder's TLS certificate in DER.
    pub certificate: [u8; 32],
}
