//! Takes cells off a byte stream.

use super::{Cell, Command, MOST_VARIABLE, Message, PAYLOAD};
use crate::{Error, PeerMisbehaved};
use alloc::vec::Vec;

/// Buffers bytes as they arrive and returns whole cells.
///
/// The first cell must be VERSIONS, with a two-byte circuit number. Later cells have four-byte numbers, since we speak
/// no link protocol below 4. After an error the framing is lost: close the link.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Start of the next cell in `buffer`.
    at: usize,
    versions_seen: bool,
}

/// A whole cell in the decoder's buffer, its payload not yet decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// Number of the circuit.
    pub circuit: u32,
    /// The command.
    pub command: Command,
    /// The payload, padding included.
    pub payload: &'a [u8],
    /// The whole cell including its header: the link handshake hashes it.
    pub bytes: &'a [u8],
}

impl Raw<'_> {
    /// Decodes the payload.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`], [`Error::Length`], [`Error::TooLong`].
    pub fn decode(&self) -> Result<Cell, Error> {
        let message = Message::decode(self.command, self.payload)?;
        match (message.concerns_a_circuit(), self.circuit) {
            (true, 0) => Err(PeerMisbehaved::CircuitMissing { command: self.command }.into()),
            _ => Ok(Cell { circuit: self.circuit, message }),
        }
    }
}

impl Decoder {
    /// A decoder for the start of a link.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes that have arrived.
    pub fn receive(&mut self, bytes: &[u8]) {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        } else if self.at > (1 << 16) {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Number of bytes that have arrived but belong to no cell returned so far: at most what was received since
    /// [`Self::next`] last returned `None`, and one cell.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.at
    }

    /// The next whole cell, or `None` until more bytes come.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`] if the stream does not begin with VERSIONS, if VERSIONS comes again, or if the payload
    /// is wrong; [`Error::TooLong`] for a variable cell above [`MOST_VARIABLE`].
    #[allow(clippy::should_implement_trait)] // an iterator ends at `None`; here more cells may follow
    pub fn next(&mut self) -> Result<Option<Cell>, Error> {
        self.next_raw()?.map(|raw| raw.decode()).transpose()
    }

    /// [`Self::next`] without decoding the payload.
    ///
    /// # Errors
    /// Those of [`Self::next`] that concern the framing.
    pub fn next_raw(&mut self) -> Result<Option<Raw<'_>>, Error> {
        let rest = &self.buffer[self.at..];
        let id = if self.versions_seen { 4 } else { 2 };
        let Some(&command) = rest.get(id) else { return Ok(None) };
        let command = Command(command);
        match (command == Command::VERSIONS, self.versions_seen) {
            (false, false) => return Err(PeerMisbehaved::VersionsMissing { command }.into()),
            (true, true) => return Err(PeerMisbehaved::VersionsRepeated.into()),
            _ => {}
        }
        let (header, payload) = if command.is_variable() {
            let Some(&[high, low]) = rest.get(id + 1..id + 3) else { return Ok(None) };
            (id + 3, usize::from(u16::from_be_bytes([high, low])))
        } else {
            (id + 1, PAYLOAD)
        };
        if command.is_variable() && payload > MOST_VARIABLE {
            return Err(Error::TooLong { what: "variable cell", most: MOST_VARIABLE, got: payload });
        }
        let length = header + payload;
        if rest.len() < length {
            return Ok(None);
        }
        let bytes = &self.buffer[self.at..self.at + length];
        self.at += length;
        self.versions_seen = true;
        let circuit = bytes[..id].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        Ok(Some(Raw { circuit, command, payload: &bytes[header..], bytes }))
    }
}
