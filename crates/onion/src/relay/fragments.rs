//! Messages that span cells.
//!
//! In V1 this is prop 340: a header says how long the whole body is, and the cells that follow hold nothing but its rest. In V0,
//! whose header is tied to the digest, each cell has a header, and its length says how much of the body is left, this cell's
//! part included; so a cell that is missing or comes twice shows at once.

use super::{Format, Header, MOST_BODY, RelayCommand};
use crate::cell::PAYLOAD;
use crate::{Error, PeerMisbehaved};
use std::borrow::Cow;
use std::time::Instant;

/// Puts one direction's messages together. Holds at most one unfinished message, of at most [`MOST_BODY`] bytes.
#[derive(Debug)]
pub struct Fragments {
    format: Format,
    agreed: bool,
    partial: Option<Partial>,
}

#[derive(Debug)]
struct Partial {
    command: RelayCommand,
    length: usize,
    body: Vec<u8>,
    cells: usize,
    early: bool,
    since: Instant,
}

/// A whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole<'a> {
    /// Its command.
    pub command: RelayCommand,
    /// Its stream, 0 for none.
    pub stream: u16,
    /// Its body.
    pub body: Cow<'a, [u8]>,
    /// In how many cells it came.
    pub cells: usize,
    /// Whether its first cell was RELAY_EARLY.
    pub early: bool,
}

impl Fragments {
    /// For one direction of one hop. `agreed` says whether messages may span cells at all.
    pub fn new(format: Format, agreed: bool) -> Self {
        Self { format, agreed, partial: None }
    }

    /// Takes the next cell's plain payload; `early` says whether the cell was RELAY_EARLY. A message, if it is whole now.
    ///
    /// # Errors
    /// [`Error::PeerMisbehaved`], [`Error::TooLong`]; destroy the circuit.
    pub fn receive<'a>(
        &mut self,
        payload: &'a [u8; PAYLOAD],
        early: bool,
        now: Instant,
    ) -> Result<Option<Whole<'a>>, Error> {
        match self.partial.take() {
            Some(partial) => self.go_on(partial, payload, early),
            None => self.begin(payload, early, now),
        }
    }

    /// When the message that is under way began.
    pub fn waiting_since(&self) -> Option<Instant> {
        self.partial.as_ref().map(|partial| partial.since)
    }

    fn begin<'a>(&mut self, payload: &'a [u8; PAYLOAD], early: bool, now: Instant) -> Result<Option<Whole<'a>>, Error> {
        let (Header { command, stream, length }, data) = self.format.decode(payload)?;
        let length = usize::from(length);
        if data.len() == length {
            return Ok(Some(Whole { command, stream, body: Cow::Borrowed(data), cells: 1, early }));
        }
        if !self.agreed || !command.may_be_fragmented() {
            return Err(PeerMisbehaved::NotFragmentable { command, most: data.len(), got: length }.into());
        }
        if length > MOST_BODY {
            return Err(Error::TooLong { what: "fragmented message", most: MOST_BODY, got: length });
        }
        let mut body = Vec::with_capacity(length);
        body.extend_from_slice(data);
        self.partial = Some(Partial { command, length, body, cells: 1, early, since: now });
        Ok(None)
    }

    fn go_on<'a>(
        &mut self,
        mut partial: Partial,
        payload: &[u8; PAYLOAD],
        early: bool,
    ) -> Result<Option<Whole<'a>>, Error> {
        if early {
            return Err(PeerMisbehaved::FragmentEarly { command: partial.command }.into());
        }
        let left = partial.length - partial.body.len();
        let data = match self.format {
            Format::V0 => {
                let (header, data) = self.format.decode(payload)?;
                let (found, got) = (header.command, usize::from(header.length));
                if found != partial.command || header.stream != 0 || got != left {
                    return Err(PeerMisbehaved::FragmentMismatch { expected: partial.command, left, found, got }.into());
                }
                data
            }
            Format::V1 => {
                let data = Format::continuation(payload);
                &data[..data.len().min(left)]
            }
        };
        partial.body.extend_from_slice(data);
        partial.cells += 1;
        if partial.body.len() < partial.length {
            self.partial = Some(partial);
            return Ok(None);
        }
        let Partial { command, body, cells, early, .. } = partial;
        Ok(Some(Whole { command, stream: 0, body: Cow::Owned(body), cells, early }))
    }
}

/// How many cells a circuit's message (one without a stream) with a body of `length` bytes takes.
pub fn cells_for(format: Format, length: usize) -> usize {
    let rest = length.saturating_sub(format.room(false));
    let each = match format {
        Format::V0 => format.room(false),
        Format::V1 => PAYLOAD - 16,
    };
    1 + rest.div_ceil(each)
}

/// Writes the next cell of a message without a stream, of whose body `done` bytes are written; gives back how many are then.
pub fn encode_fragment(
    format: Format,
    payload: &mut [u8; PAYLOAD],
    command: RelayCommand,
    body: &[u8],
    done: usize,
) -> usize {
    debug_assert!(body.len() <= MOST_BODY, "callers bound their bodies");
    let rest = &body[done..];
    done + match done {
        0 => format.encode(payload, Header { command, stream: 0, length: body.len() as u16 }, rest),
        _ => format.encode_continuation(payload, command, rest),
    }
}
