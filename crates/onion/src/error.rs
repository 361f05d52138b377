//! What can go wrong in this crate.

use candor_primitives::dh::DhError;
use candor_primitives::kem::KemError;

/// Why a message was refused or a key not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A message is shorter than its fixed parts, or longer than it may be.
    #[error("the {what} has {got} bytes, and it has {expected}{}", if *at_least { " or more" } else { "" })]
    Length {
        /// Which message.
        what: &'static str,
        /// The length of its fixed parts.
        expected: usize,
        /// Whether more may follow them.
        at_least: bool,
        /// The length that came.
        got: usize,
    },
    /// A message's content is not what its specification allows.
    #[error("the {what} has {why}; close what it came over")]
    Malformed {
        /// Which message.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A message is longer than we take.
    #[error("the {what} has {got} bytes, and we take {most}")]
    TooLong {
        /// Which message.
        what: &'static str,
        /// The cap.
        most: usize,
        /// The length that came.
        got: usize,
    },
    /// The other side of a link speaks none of our link protocols.
    #[error("the other side speaks none of the link protocols 4, 5 and 0xff05")]
    NoCommonVersion,
    /// A certificate on a link is wrong or missing.
    #[error("the certificate of type {kind} has {why}; close the link")]
    Certificate {
        /// Its type in CERTS.
        kind: u8,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The relay at the other end of a link is not the one that was to be reached.
    #[error("the relay that answered has another Ed25519 identity than the one asked for")]
    WrongIdentity,
    /// AUTHENTICATE is wrong: another connection, another transcript, or another key.
    #[error("the relay that connected failed to authenticate; close the link")]
    LinkAuthentication,
    /// A handshake has no number, or is not offered here.
    #[error("the handshake has no number in CREATE2, or this relay does not offer it")]
    NoNumber,
    /// A new circuit's number is in use, or not the other end's to give.
    #[error("circuit {number:#010x} is in use, or its number is not the sender's to give")]
    WrongCircuit {
        /// The number.
        number: u32,
    },
    /// A link has as many circuits as it may have.
    #[error("the link has as many circuits as it may have; destroy the new one")]
    TooManyCircuits,
    /// Something was asked of a circuit in a state in which it can't do it.
    #[error("{0}")]
    NotNow(&'static str),
    /// The stream is not there: it has ended, or never began.
    #[error("the circuit has no open stream {0}")]
    NoStream(u16),
    /// The onionskin names another relay, another onion key, or another kind of handshake.
    #[error("the onionskin is not for this relay's identity and onion keys; the client's directory may be out of date")]
    UnknownKey,
    /// The onionskin's MAC is wrong: it was changed on the way, or made for other keys.
    #[error("the onionskin's MAC is wrong; destroy the circuit")]
    Onionskin,
    /// The reply's authenticator is wrong: whoever answered does not hold the relay's keys, or a message was changed on the way.
    #[error("the reply does not prove that it is the relay's; destroy the circuit")]
    Authentication,
    /// `ntor` has no room for an extension message.
    #[error("ntor carries no extension message; use ntor-v3 or a hybrid")]
    NoMessage,
    /// More keys were asked for than the key derivation gives.
    #[error("{asked} bytes of keys were asked for, and this handshake's key derivation gives {most}")]
    KeyLength {
        /// Bytes asked for.
        asked: usize,
        /// Bytes that there are.
        most: usize,
    },
    /// A Diffie-Hellman exchange was refused.
    #[error("X25519: {0}")]
    Dh(#[from] DhError),
    /// A KEM operation was refused.
    #[error("KEM: {0}")]
    Kem(#[from] KemError),
}
