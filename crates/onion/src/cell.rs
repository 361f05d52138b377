//! Cells: the messages that two neighbours exchange on a link (tor-spec, "Cells (messages on channels)").
//!
//! A fixed cell is 514 bytes long: circuit number (4), command (1) and a payload of 509, padded with zeros. A variable
//! cell has a length (2) after the command and a payload of that length. [`Cell::encode`] writes both kinds;
//! [`Decoder`] takes them off a byte stream that arrives in pieces of any size. Link protocols 4 and 5 frame cells the
//! same way, and so does our own, [`versions::WIDE`](payload::Versions::WIDE), which adds CREATE2V and CREATED2V
//! (`docs/cells.md`).
//!
//! ```
//! # fn main() -> Result<(), candor_onion::Error> {
//! use candor_onion::cell::{Cell, Decoder, DestroyReason, Message, payload::Versions};
//! let mut bytes = Vec::new();
//! Cell::on_link(Message::Versions(Versions(vec![4, 5]))).encode(&mut bytes);
//! Cell { circuit: 0x8000_0001, message: Message::Destroy(DestroyReason::REQUESTED) }.encode(&mut bytes);
//!
//! let mut decoder = Decoder::new();
//! let (front, back) = bytes.split_at(100);
//! decoder.receive(front);
//! assert!(matches!(decoder.next()?, Some(Cell { circuit: 0, message: Message::Versions(_) })));
//! assert_eq!(decoder.next()?, None); // the rest is still on its way
//! decoder.receive(back);
//! assert_eq!(decoder.next()?.unwrap().message, Message::Destroy(DestroyReason::REQUESTED));
//! # Ok(())
//! # }
//! ```

mod decoder;
pub mod payload;

pub use crate::command::Command;
pub use decoder::{Decoder, MOST_CELL, Raw};
pub use payload::DestroyReason;

use crate::Error;
use alloc::boxed::Box;
use alloc::vec::Vec;
use payload::{AuthChallenge, Authenticate, Certs, Create2, Created2, Netinfo, Versions};

/// Length of a fixed cell in bytes.
pub const CELL: usize = 514;
/// Length of a fixed cell's payload in bytes.
pub const PAYLOAD: usize = 509;
/// Longest payload of a variable cell that we accept. The length field allows 65535; the longest cells that honest
/// neighbours send are CERTS, below 2000 bytes, and CREATE2V, below 4200.
pub const MOST_VARIABLE: usize = 8192;

/// A cell: the number of a circuit, unique on its link, and a message about that circuit. Number 0 is for messages
/// about the link as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Number of the circuit on this link.
    pub circuit: u32,
    /// The command and its payload.
    pub message: Message,
}

/// The command and payload of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// Link padding; ignored.
    Padding,
    /// Link padding of variable length; ignored. Holds the length.
    Vpadding(usize),
    /// Asks for link padding (padding-spec); ignored, as relays may.
    PaddingNegotiate,
    /// The link protocols that the sender speaks: the first cell of each side.
    Versions(Versions),
    /// The sender's certificates.
    Certs(Certs),
    /// A relay's invitation to authenticate.
    AuthChallenge(AuthChallenge),
    /// The initiator's proof that it is a relay.
    Authenticate(Authenticate),
    /// Time and addresses; ends the link handshake.
    Netinfo(Netinfo),
    /// Creates a circuit; the onionskin fits a fixed cell.
    Create2(Create2),
    /// Answers CREATE2.
    Created2(Created2),
    /// Creates a circuit with an onionskin of any length; only on links with [`Versions::WIDE`].
    Create2v(Create2),
    /// Answers CREATE2V.
    Created2v(Created2),
    /// A relay cell, encrypted for one or more hops.
    Relay(RelayPayload),
    /// A relay cell that may hold EXTEND2. A circuit may carry only a few, which bounds the length of paths.
    RelayEarly(RelayPayload),
    /// Destroys the circuit.
    Destroy(DestroyReason),
    /// An unknown command. This is not an error: the neighbour may speak a newer protocol.
    Unknown(Command),
}

/// The payload of a RELAY or RELAY_EARLY cell.
pub type RelayPayload = Box<[u8; PAYLOAD]>;

impl Cell {
    /// A cell about the link as a whole.
    pub fn on_link(message: Message) -> Self {
        Self { circuit: 0, message }
    }

    /// Appends the encoded cell. VERSIONS gets the two-byte circuit number that it has in every version.
    ///
    /// [`Message::Unknown`] can't be encoded and appends nothing.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let command = self.message.command();
        if matches!(self.message, Message::Unknown(_)) {
            return;
        }
        match command {
            Command::VERSIONS => out.extend_from_slice(&[0, 0]),
            _ => out.extend_from_slice(&self.circuit.to_be_bytes()),
        }
        out.push(command.0);
        if command.is_variable() {
            let length_at = out.len();
            out.extend_from_slice(&[0, 0]);
            self.message.encode_payload(out);
            let length = out.len() - length_at - 2;
            debug_assert!(length <= usize::from(u16::MAX), "payloads bound their parts");
            out[length_at..length_at + 2].copy_from_slice(&(length as u16).to_be_bytes());
        } else {
            let end = out.len() + PAYLOAD;
            self.message.encode_payload(out);
            debug_assert!(out.len() <= end, "payloads of fixed cells bound their parts");
            out.resize(end, 0);
        }
    }
}

impl Message {
    /// The command of the cell that carries this message.
    pub fn command(&self) -> Command {
        match self {
            Self::Padding => Command::PADDING,
            Self::Vpadding(_) => Command::VPADDING,
            Self::PaddingNegotiate => Command::PADDING_NEGOTIATE,
            Self::Versions(_) => Command::VERSIONS,
            Self::Certs(_) => Command::CERTS,
            Self::AuthChallenge(_) => Command::AUTH_CHALLENGE,
            Self::Authenticate(_) => Command::AUTHENTICATE,
            Self::Netinfo(_) => Command::NETINFO,
            Self::Create2(_) => Command::CREATE2,
            Self::Created2(_) => Command::CREATED2,
            Self::Create2v(_) => Command::CREATE2V,
            Self::Created2v(_) => Command::CREATED2V,
            Self::Relay(_) => Command::RELAY,
            Self::RelayEarly(_) => Command::RELAY_EARLY,
            Self::Destroy(_) => Command::DESTROY,
            Self::Unknown(command) => *command,
        }
    }

    /// Whether the message is about a circuit, so that its circuit number must not be 0.
    pub fn concerns_a_circuit(&self) -> bool {
        matches!(
            self,
            Self::Create2(_)
                | Self::Created2(_)
                | Self::Create2v(_)
                | Self::Created2v(_)
                | Self::Relay(_)
                | Self::RelayEarly(_)
                | Self::Destroy(_)
        )
    }

    /// Decodes a payload. In fixed cells it is [`PAYLOAD`] bytes long, and the bytes after the content are padding.
    fn decode(command: Command, payload: &[u8]) -> Result<Self, Error> {
        Ok(match command {
            Command::PADDING => Self::Padding,
            Command::VPADDING => Self::Vpadding(payload.len()),
            Command::PADDING_NEGOTIATE => Self::PaddingNegotiate,
            Command::VERSIONS => Self::Versions(Versions::decode(payload)?),
            Command::CERTS => Self::Certs(Certs::decode(payload)?),
            Command::AUTH_CHALLENGE => Self::AuthChallenge(AuthChallenge::decode(payload)?),
            Command::AUTHENTICATE => Self::Authenticate(Authenticate::decode(payload)?),
            Command::NETINFO => Self::Netinfo(Netinfo::decode(payload)?),
            Command::CREATE2 => Self::Create2(Create2::decode(payload)?),
            Command::CREATED2 => Self::Created2(Created2::decode(payload)?),
            Command::CREATE2V => Self::Create2v(Create2::decode(payload)?),
            Command::CREATED2V => Self::Created2v(Created2::decode(payload)?),
            Command::RELAY => Self::Relay(relay_payload(payload)?),
            Command::RELAY_EARLY => Self::RelayEarly(relay_payload(payload)?),
            Command::DESTROY => Self::Destroy(DestroyReason(payload.first().copied().unwrap_or(0))),
            other => Self::Unknown(other),
        })
    }

    fn encode_payload(&self, out: &mut Vec<u8>) {
        match self {
            Self::Padding | Self::PaddingNegotiate | Self::Unknown(_) => {}
            Self::Vpadding(length) => out.resize(out.len() + (*length).min(MOST_VARIABLE), 0),
            Self::Versions(versions) => versions.encode(out),
            Self::Certs(certs) => certs.encode(out),
            Self::AuthChallenge(challenge) => challenge.encode(out),
            Self::Authenticate(authenticate) => authenticate.encode(out),
            Self::Netinfo(netinfo) => netinfo.encode(out),
            Self::Create2(create) | Self::Create2v(create) => create.encode(out),
            Self::Created2(created) | Self::Created2v(created) => created.encode(out),
            Self::Relay(payload) | Self::RelayEarly(payload) => out.extend_from_slice(&payload[..]),
            Self::Destroy(reason) => out.push(reason.0),
        }
    }
}

fn relay_payload(payload: &[u8]) -> Result<RelayPayload, Error> {
    let length = Error::Length { what: "relay cell's payload", expected: PAYLOAD, at_least: false, got: payload.len() };
    let payload: &[u8; PAYLOAD] = payload.try_into().map_err(|_| length)?;
    Ok(Box::new(*payload))
}
