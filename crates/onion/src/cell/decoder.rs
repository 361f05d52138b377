//! Takes cells off a byte stream.

use super::{CELL, Cell, Command, MOST_VARIABLE, Message, PAYLOAD};
use crate::{Error, PeerMisbehaved};
use alloc::vec::Vec;

/// Buffers bytes as they arrive and returns whole cells.
///
/// The first cell must be VERSIONS, with a two-byte circuit number. Later cells have four-byte numbers, since we speak
/// no link protocol below 4. After an error the framing is lost: close the link.
///
/// A link that lasts should use [`Self::next_of`], which keeps nothing but a cell's unfinished part, at most
/// [`MOST_CELL`] bytes.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Start of the next cell in `buffer`.
    at: usize,
    versions_seen: bool,
}

/// Longest cell that we accept, header included.
pub const MOST_CELL: usize = 7 + MOST_VARIABLE;

/// Where the next cell ends in the bytes that there are.
enum Frame {
    /// At least so many bytes are missing.
    Short(usize),
    /// A whole cell is there.
    Whole(Lengths),
}

/// Lengths of a cell's parts, from its beginning.
#[derive(Clone, Copy)]
struct Lengths {
    /// The circuit number.
    id: usize,
    header: usize,
    cell: usize,
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
        self.buffer.drain(..self.at);
        self.at = 0;
        // As many as have come, whatever length a cell announces.
        self.buffer.reserve_exact(bytes.len());
        self.buffer.extend_from_slice(bytes);
    }

    /// Number of bytes that have arrived but belong to no cell returned so far.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.at
    }

    /// Number of bytes of memory that the decoder holds.
    pub fn held(&self) -> usize {
        self.buffer.capacity()
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
        let Frame::Whole(lengths) = self.frame(&self.buffer[self.at..])? else { return Ok(None) };
        let bytes = &self.buffer[self.at..self.at + lengths.cell];
        self.at += lengths.cell;
        self.versions_seen = true;
        Ok(Some(raw(bytes, lengths)))
    }

    /// The next whole cell of a stream that goes on with `input`, and takes from `input` what it has used; `None` once all
    /// of `input` is used. A cell that lies in `input` as a whole is not copied.
    ///
    /// # Errors
    /// Those of [`Self::next`].
    pub fn next_of(&mut self, input: &mut &[u8]) -> Result<Option<Cell>, Error> {
        loop {
            if self.pending() == 0 {
                // An ordinary cell's room is kept: the next batch will most likely end within a cell too.
                self.buffer.clear();
                self.at = 0;
                self.buffer.shrink_to(CELL);
                if let Frame::Whole(lengths) = self.frame(input)? {
                    let (bytes, rest) = input.split_at(lengths.cell);
                    *input = rest;
                    self.versions_seen = true;
                    return raw(bytes, lengths).decode().map(Some);
                }
                self.receive(core::mem::take(input));
                return Ok(None);
            }
            match self.frame(&self.buffer[self.at..])? {
                Frame::Whole(_) => return self.next(),
                Frame::Short(_) if input.is_empty() => {
                    if self.at > 0 {
                        self.buffer.drain(..self.at);
                        self.at = 0;
                        self.buffer.shrink_to(CELL);
                    }
                    return Ok(None);
                }
                Frame::Short(missing) => {
                    let (bytes, rest) = input.split_at(missing.min(input.len()));
                    *input = rest;
                    self.receive(bytes);
                }
            }
        }
    }

    fn frame(&self, rest: &[u8]) -> Result<Frame, Error> {
        let id = if self.versions_seen { 4 } else { 2 };
        let Some(&command) = rest.get(id) else { return Ok(Frame::Short(id + 1 - rest.len())) };
        let command = Command(command);
        match (command == Command::VERSIONS, self.versions_seen) {
            (false, false) => return Err(PeerMisbehaved::VersionsMissing { command }.into()),
            (true, true) => return Err(PeerMisbehaved::VersionsRepeated.into()),
            _ => {}
        }
        let (header, payload) = if command.is_variable() {
            let Some(&[high, low]) = rest.get(id + 1..id + 3) else { return Ok(Frame::Short(id + 3 - rest.len())) };
            (id + 3, usize::from(u16::from_be_bytes([high, low])))
        } else {
            (id + 1, PAYLOAD)
        };
        if command.is_variable() && payload > MOST_VARIABLE {
            return Err(Error::TooLong { what: "variable cell", most: MOST_VARIABLE, got: payload });
        }
        let cell = header + payload;
        Ok(match cell.checked_sub(rest.len()) {
            None | Some(0) => Frame::Whole(Lengths { id, header, cell }),
            Some(missing) => Frame::Short(missing),
        })
    }
}

fn raw(bytes: &[u8], Lengths { id, header, .. }: Lengths) -> Raw<'_> {
    let circuit = bytes[..id].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    Raw { circuit, command: Command(bytes[id]), payload: &bytes[header..], bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable cell of that length, header included.
    fn long(length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        Cell::on_link(Message::Vpadding(length - 7)).encode(&mut bytes);
        bytes
    }

    #[test]
    fn an_unfinished_cell_holds_the_bytes_that_have_come_and_no_more() {
        for piece in [1, 100, 8000, MOST_CELL - 1] {
            let bytes = long(MOST_CELL);
            let mut decoder = Decoder { versions_seen: true, ..Decoder::new() };
            let mut come = 0;
            for mut input in bytes[..MOST_CELL - 1].chunks(piece) {
                come += input.len();
                assert_eq!(decoder.next_of(&mut input), Ok(None));
                assert!(input.is_empty() && decoder.pending() == come);
                assert!(decoder.held() <= come.max(CELL), "{} bytes for {come}", decoder.held());
            }
            let mut last = &bytes[MOST_CELL - 1..];
            assert!(decoder.next_of(&mut last).unwrap().is_some());
            assert_eq!(decoder.next_of(&mut last), Ok(None));
            assert!(decoder.held() <= CELL, "{} bytes for nothing", decoder.held());
        }
    }

    #[test]
    fn what_comes_behind_the_handshake_is_let_go_once_it_is_used() {
        let bytes: Vec<u8> = (0..20).flat_map(|_| long(CELL)).collect();
        let mut decoder = Decoder { versions_seen: true, ..Decoder::new() };
        decoder.receive(&bytes[..bytes.len() - 1]);
        let mut none: &[u8] = &[];
        let cells = std::iter::from_fn(|| decoder.next_of(&mut none).unwrap()).count();
        assert_eq!((cells, decoder.pending()), (19, CELL - 1));
        assert!(decoder.held() <= CELL, "{} bytes for an unfinished cell", decoder.held());
        let mut last = &bytes[bytes.len() - 1..];
        assert!(decoder.next_of(&mut last).unwrap().is_some() && decoder.next_of(&mut last).unwrap().is_none());
        assert!(decoder.held() <= CELL);
    }
}
