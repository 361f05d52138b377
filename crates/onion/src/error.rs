//! The errors of this crate.

use crate::misbehaved::{InvalidCertificate, InvalidTarget, PeerMisbehaved};
use candor_primitives::dh::DhError;
use candor_primitives::kem::KemError;

/// Why a message was refused, a key was not made, or a call came at the wrong time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A message is shorter than its fixed parts, or longer than its format allows.
    #[error("{what} is {got} bytes long; expected {expected}{}", if *at_least { " or more" } else { "" })]
    Length {
        /// Name of the message.
        what: &'static str,
        /// Length of its fixed parts.
        expected: usize,
        /// Whether more bytes may follow the fixed parts.
        at_least: bool,
        /// Actual length.
        got: usize,
    },
    /// A message is longer than we accept.
    #[error("{what} is {got} bytes long; expected at most {most}")]
    TooLong {
        /// Name of the message.
        what: &'static str,
        /// Longest that we accept.
        most: usize,
        /// Actual length.
        got: usize,
    },
    /// The peer broke the protocol. Close the link or the circuit that the message came over.
    #[error(transparent)]
    PeerMisbehaved(#[from] PeerMisbehaved),
    /// A stream can't go to this target.
    #[error("stream target: {0}")]
    Target(#[from] InvalidTarget),
    /// The peer speaks none of our link protocols.
    #[error("peer speaks none of the link protocols 4, 5 and 0xff05")]
    NoCommonVersion,
    /// A certificate on a link is invalid or missing. Close the link.
    #[error("certificate of type {kind}: {why}")]
    Certificate {
        /// Type in CERTS.
        kind: u8,
        /// The flaw.
        why: InvalidCertificate,
    },
    /// The responder proved another identity than the one asked for.
    #[error("responder's Ed25519 identity is not the one asked for")]
    WrongIdentity,
    /// A certificate that should have an RSA identity has none.
    #[error("X.509 certificate holds no RSA key")]
    RsaIdentity,
    /// AUTHENTICATE is for another connection, transcript or key. Close the link.
    #[error("initiator failed to authenticate")]
    LinkAuthentication,
    /// A handshake has no number, or is not offered here.
    #[error("handshake has no number in CREATE2, or this relay does not offer it")]
    NoNumber,
    /// The number of a new circuit is in use, or not the sender's to choose.
    #[error("circuit number {number:#010x} is in use, or not the sender's to choose")]
    WrongCircuit {
        /// The number.
        number: u32,
    },
    /// The link carries as many circuits as it may. Destroy the new one.
    #[error("link carries its maximum of circuits")]
    TooManyCircuits,
    /// The call does not fit the current state.
    #[error("{0}")]
    NotNow(&'static str),
    /// The stream has ended, or never began.
    #[error("circuit has no open stream {0}")]
    NoStream(u16),
    /// The onionskin names another relay, another onion key, or another kind of handshake.
    #[error("onionskin is not for this relay's identity and onion keys; the client's directory may be out of date")]
    UnknownKey,
    /// The onionskin's MAC is wrong: it was changed on the way, or made for other keys. Destroy the circuit.
    #[error("onionskin has a wrong MAC")]
    Onionskin,
    /// The reply's authenticator is wrong: the responder does not hold the relay's keys, or a message was changed on the way.
    /// Destroy the circuit.
    #[error("reply does not prove that it comes from the relay")]
    Authentication,
    /// UPGRADED is not from who has the circuit's keys and the KEM's secret, or a message was changed on the way. Destroy the circuit.
    #[error("UPGRADED does not prove that the other end has the same new keys")]
    Confirmation,
    /// `ntor` has no room for an extension message.
    #[error("ntor can't carry an extension message; use ntor-v3 or a hybrid")]
    NoMessage,
    /// The wrong amount of key material was asked for or given.
    #[error("key material is {asked} bytes long; expected at most {most}")]
    KeyLength {
        /// Bytes asked for.
        asked: usize,
        /// Bytes available.
        most: usize,
    },
    /// The operating system gave no randomness to pad a cell with. The circuit is closed.
    #[error("no randomness from the operating system to pad a cell with")]
    Randomness,
    /// A document of the directory was refused.
    #[cfg(feature = "aws-lc")]
    #[error(transparent)]
    Directory(#[from] crate::invalid_document::InvalidDocument),
    /// A Diffie-Hellman exchange was refused.
    #[error("X25519: {0}")]
    Dh(#[from] DhError),
    /// A KEM operation was refused.
    #[error("KEM: {0}")]
    Kem(#[from] KemError),
}
