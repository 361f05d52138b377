//! The layout of a relay message in a cell.

use super::RelayCommand;
use crate::cell::PAYLOAD;
use crate::{Error, PeerMisbehaved};

/// The layout of a relay cell's plain payload.
///
/// ```text
/// V0   command 1 | recognized 2 | stream 2 | digest 4 | length 2 | data 498
/// V1   tag 16 | command 1 | length 2 | [stream 2] | data 488, or 490 without a stream
/// ```
///
/// `recognized`, `digest` and `tag` belong to the layer ([`crate::layer`]); here they are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The layout under tor1 (tor-spec, "Relay cells").
    V0,
    /// The layout under CGO (prop 340's message header after prop 359's tag).
    V1,
}

/// The header of a message, from its first cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The command.
    pub command: RelayCommand,
    /// The stream; 0 if the message is for the circuit.
    pub stream: u16,
    /// Length of the body, which may exceed what the cell holds.
    pub length: u16,
}

/// Length of the tag, which precedes everything else.
const V1_TAG: usize = 16;

impl Format {
    /// Most data that one cell holds for a message with or without a stream.
    pub const fn room(self, with_stream: bool) -> usize {
        PAYLOAD - self.data_at(with_stream)
    }

    /// Most data of a DATA message.
    pub const fn most_data(self) -> usize {
        self.room(true)
    }

    const fn data_at(self, with_stream: bool) -> usize {
        match (self, with_stream) {
            (Self::V0, _) => 11,
            (Self::V1, true) => V1_TAG + 5,
            (Self::V1, false) => V1_TAG + 3,
        }
    }

    /// Writes a header and as much of `data` as fits; returns how much that was. The rest of the payload, and the
    /// layer's fields, become zero.
    pub fn encode(self, payload: &mut [u8; PAYLOAD], header: Header, data: &[u8]) -> usize {
        payload.fill(0);
        let with_stream = header.stream != 0;
        match self {
            Self::V0 => {
                payload[0] = header.command.0;
                payload[3..5].copy_from_slice(&header.stream.to_be_bytes());
                payload[9..11].copy_from_slice(&header.length.to_be_bytes());
            }
            Self::V1 => {
                payload[V1_TAG] = header.command.0;
                payload[V1_TAG + 1..V1_TAG + 3].copy_from_slice(&header.length.to_be_bytes());
                if with_stream {
                    payload[V1_TAG + 3..V1_TAG + 5].copy_from_slice(&header.stream.to_be_bytes());
                }
            }
        }
        let room = &mut payload[self.data_at(with_stream)..];
        let taken = data.len().min(room.len());
        room[..taken].copy_from_slice(&data[..taken]);
        taken
    }

    /// Writes a cell that continues a message. In V1 it has no header.
    #[cfg(feature = "std")]
    pub(super) fn encode_continuation(self, payload: &mut [u8; PAYLOAD], command: RelayCommand, rest: &[u8]) -> usize {
        match self {
            Self::V0 => self.encode(payload, Header { command, stream: 0, length: rest.len() as u16 }, rest),
            Self::V1 => {
                payload.fill(0);
                let taken = rest.len().min(PAYLOAD - V1_TAG);
                payload[V1_TAG..V1_TAG + taken].copy_from_slice(&rest[..taken]);
                taken
            }
        }
    }

    /// Decodes a header, and the part of the body that this cell holds.
    ///
    /// # Errors
    /// In V1, [`PeerMisbehaved::CommandUnknown`], since the command decides where the body begins, and
    /// [`PeerMisbehaved::StreamMissing`].
    pub fn decode(self, payload: &[u8; PAYLOAD]) -> Result<(Header, &[u8]), Error> {
        let number = |at: usize| u16::from_be_bytes([payload[at], payload[at + 1]]);
        let header = match self {
            Self::V0 => Header { command: RelayCommand(payload[0]), stream: number(3), length: number(9) },
            Self::V1 => {
                let command = RelayCommand(payload[V1_TAG]);
                let stream = match command.takes_stream() {
                    None => return Err(PeerMisbehaved::CommandUnknown { command: command.0 }.into()),
                    Some(false) => 0,
                    Some(true) => match number(V1_TAG + 3) {
                        0 => return Err(PeerMisbehaved::StreamMissing { command }.into()),
                        stream => stream,
                    },
                };
                Header { command, stream, length: number(V1_TAG + 1) }
            }
        };
        let data = &payload[self.data_at(header.stream != 0)..];
        Ok((header, &data[..data.len().min(header.length.into())]))
    }

    /// The data of a cell that continues a V1 message.
    #[cfg(feature = "std")]
    pub(super) fn continuation(payload: &[u8; PAYLOAD]) -> &[u8] {
        &payload[V1_TAG..]
    }
}
