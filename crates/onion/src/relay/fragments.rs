//! Messages that span cells.
//!
//! In V1 this follows prop 340: the header gives the length of the whole body, and the cells that follow hold nothing
//! but the rest of it. In V0, whose header contains the digest, every cell has a header. Its length counts what is left
//! of the body, this cell's part included, so a missing or repeated cell shows at once.

use super::{Format, Header, MOST_BODY, RelayCommand};
use crate::cell::PAYLOAD;
use crate::{Error, PeerMisbehaved};
use std::borrow::Cow;
use std::time::Instant;

/// Reassembles the messages of one direction. Holds at most one unfinished message, of at most [`MOST_BODY`] bytes.
#[derive(Debug)]
pub struct Fragments {
    format: Format,
    agreed: bool,
    upgrades: bool,
    /// In a box, since there seldom is one.
    partial: Option<Box<Partial>>,
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

/// A complete message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole<'a> {
    /// Command.
    pub command: RelayCommand,
    /// Stream; 0 for none.
    pub stream: u16,
    /// Body.
    pub body: Cow<'a, [u8]>,
    /// Number of cells that carried it.
    pub cells: usize,
    /// Whether the first cell was RELAY_EARLY.
    pub early: bool,
}

impl Fragments {
    /// For one direction of one hop. `agreed` says whether EXTEND2 and EXTENDED2 may span cells.
    pub fn new(format: Format, agreed: bool) -> Self {
        Self { format, agreed, upgrades: false, partial: None }
    }

    /// The same, where UPGRADE and UPGRADED may span cells if `agreed`.
    #[must_use]
    pub fn with_upgrades(self, agreed: bool) -> Self {
        Self { upgrades: agreed, ..self }
    }

    /// Whether messages with this command may span cells.
    pub fn may_span(&self, command: RelayCommand) -> bool {
        match command {
            RelayCommand::EXTEND2 | RelayCommand::EXTENDED2 => self.agreed,
            RelayCommand::UPGRADE | RelayCommand::UPGRADED => self.upgrades,
            _ => false,
        }
    }

    /// Takes the decrypted payload of the next cell; `early` says whether it was RELAY_EARLY. Returns a message once it
    /// is complete.
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

    /// When the unfinished message began, if there is one.
    pub fn waiting_since(&self) -> Option<Instant> {
        self.partial.as_ref().map(|partial| partial.since)
    }

    /// Number of bytes of memory that the unfinished message holds.
    pub fn held(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| partial.body.capacity())
    }

    fn begin<'a>(&mut self, payload: &'a [u8; PAYLOAD], early: bool, now: Instant) -> Result<Option<Whole<'a>>, Error> {
        let (Header { command, stream, length }, data) = self.format.decode(payload)?;
        let length = usize::from(length);
        if data.len() == length {
            return Ok(Some(Whole { command, stream, body: Cow::Borrowed(data), cells: 1, early }));
        }
        if !self.may_span(command) {
            return Err(PeerMisbehaved::NotFragmentable { command, most: data.len(), got: length }.into());
        }
        if stream != 0 {
            return Err(PeerMisbehaved::StreamUnexpected { command, stream }.into());
        }
        if length > MOST_BODY {
            return Err(Error::TooLong { what: "fragmented message", most: MOST_BODY, got: length });
        }
        // As much room as has come, whatever length is announced.
        let body = data.to_vec();
        self.partial = Some(Box::new(Partial { command, length, body, cells: 1, early, since: now }));
        Ok(None)
    }

    fn go_on<'a>(
        &mut self,
        mut partial: Box<Partial>,
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
        partial.body.reserve_exact(data.len());
        partial.body.extend_from_slice(data);
        partial.cells += 1;
        if partial.body.len() < partial.length {
            self.partial = Some(partial);
            return Ok(None);
        }
        let Partial { command, body, cells, early, .. } = *partial;
        Ok(Some(Whole { command, stream: 0, body: Cow::Owned(body), cells, early }))
    }
}

/// Number of cells for a message without a stream whose body is `length` bytes long.
pub fn cells_for(format: Format, length: usize) -> usize {
    1 + length.saturating_sub(format.room(false)).div_ceil(continuation_room(format))
}

/// Most data of a cell that continues a message.
pub(crate) fn continuation_room(format: Format) -> usize {
    match format {
        Format::V0 => format.room(false),
        Format::V1 => PAYLOAD - 16,
    }
}

/// Writes the next cell of a message without a stream; `done` bytes of its body are already written. Returns how many
/// are written then.
pub fn encode_fragment(
    format: Format,
    payload: &mut [u8; PAYLOAD],
    command: RelayCommand,
    body: &[u8],
    done: usize,
) -> usize {
    debug_assert!(body.len() <= MOST_BODY, "callers check the length");
    let rest = &body[done..];
    done + match done {
        0 => format.encode(payload, Header { command, stream: 0, length: body.len() as u16 }, rest),
        _ => format.encode_continuation(payload, command, rest),
    }
}
