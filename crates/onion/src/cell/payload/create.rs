//! CREATE2, CREATED2, their wide forms CREATE2V and CREATED2V, and DESTROY.

use crate::Error;
use crate::cell::PAYLOAD;
use crate::parts::Parts;
use alloc::vec::Vec;
use core::fmt;

/// The creation of a circuit: the type of its handshake, and the onionskin (tor-spec, "CREATE and CREATED cells").
/// CREATE2, CREATE2V and the end of EXTEND2 have the same format; CREATE2 limits it to 509 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Create2 {
    kind: u16,
    onionskin: Vec<u8>,
}

impl Create2 {
    /// Longest onionskin that fits a fixed CREATE2.
    pub const MOST_FIXED: usize = PAYLOAD - 4;
    /// Longest onionskin that we accept in any form.
    pub const MOST: usize = 4096;

    /// A creation with the handshake of type `kind`.
    ///
    /// # Errors
    /// [`Error::TooLong`] above [`Self::MOST`].
    pub fn new(kind: u16, onionskin: Vec<u8>) -> Result<Self, Error> {
        bounded("onionskin", onionskin.len())?;
        Ok(Self { kind, onionskin })
    }

    /// HTYPE: the number of a [`HandshakeType`](crate::handshake::HandshakeType).
    pub fn kind(&self) -> u16 {
        self.kind
    }

    /// HDATA: the client's message.
    pub fn onionskin(&self) -> &[u8] {
        &self.onionskin
    }

    /// Whether the onionskin fits a fixed cell.
    pub fn fits_fixed(&self) -> bool {
        self.onionskin.len() <= Self::MOST_FIXED
    }

    /// Decodes a payload: HTYPE 2 | HLEN 2 | HDATA.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::TooLong`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("CREATE2", payload, 4, true)?;
        let (kind, length) = (parts.u16()?, parts.u16()?);
        Self::new(kind, parts.slice(length.into())?.to_vec())
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&(self.onionskin.len() as u16).to_be_bytes());
        out.extend_from_slice(&self.onionskin);
    }
}

/// A relay's answer to [`Create2`]: the reply of its handshake. CREATED2, CREATED2V and EXTENDED2 have the same format.
#[derive(Clone, PartialEq, Eq)]
pub struct Created2 {
    reply: Vec<u8>,
    padding: usize,
}

impl Created2 {
    /// Longest reply that fits a fixed CREATED2.
    pub const MOST_FIXED: usize = PAYLOAD - 2;
    /// Longest reply that we accept in any form.
    pub const MOST: usize = Create2::MOST;

    /// An answer with this reply.
    ///
    /// # Errors
    /// [`Error::TooLong`] above [`Self::MOST`].
    pub fn new(reply: Vec<u8>) -> Result<Self, Error> {
        bounded("handshake reply", reply.len())?;
        Ok(Self { reply, padding: 0 })
    }

    /// Pads the payload with zeros to `length` bytes, so that a variable cell is no shorter than the one it answers.
    /// Has no effect if the payload is longer, or `length` is above the cap.
    #[must_use]
    pub fn padded_to(self, length: usize) -> Self {
        let padding = length.min(Self::MOST + 4).saturating_sub(2 + self.reply.len());
        Self { padding, ..self }
    }

    /// HDATA: the relay's message.
    pub fn reply(&self) -> &[u8] {
        &self.reply
    }

    /// Whether the reply fits a fixed cell.
    pub fn fits_fixed(&self) -> bool {
        self.reply.len() <= Self::MOST_FIXED
    }

    #[cfg(feature = "std")]
    pub(crate) fn into_reply(self) -> Vec<u8> {
        self.reply
    }

    /// Decodes a payload: HLEN 2 | HDATA.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::TooLong`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("CREATED2", payload, 2, true)?;
        let length = parts.u16()?;
        Self::new(parts.slice(length.into())?.to_vec())
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.reply.len() as u16).to_be_bytes());
        out.extend_from_slice(&self.reply);
        out.resize(out.len() + self.padding, 0);
    }
}

fn bounded(what: &'static str, got: usize) -> Result<(), Error> {
    if got > Create2::MOST { Err(Error::TooLong { what, most: Create2::MOST, got }) } else { Ok(()) }
}

impl fmt::Debug for Create2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Create2 {{ kind: {:#06x}, onionskin: {} bytes }}", self.kind, self.onionskin.len())
    }
}

impl fmt::Debug for Created2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Created2 {{ reply: {} bytes }}", self.reply.len())
    }
}

/// Why a circuit was destroyed (tor-spec, "Tearing down circuits"); also the reason in TRUNCATED. Relays pass reasons
/// on, so unknown numbers are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DestroyReason(pub u8);

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal;)+) => {
        impl DestroyReason {
            $($(#[$doc])* pub const $name: Self = Self($value);)+

            /// The reason's name in the specification, if it is a known one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for DestroyReason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name => f.write_str($text),)+
                    Self(number) => write!(f, "reason {number}"),
                }
            }
        }
    };
}

reasons! {
    /// No reason given.
    NONE = 0, "no reason given";
    /// A peer broke the protocol.
    PROTOCOL = 1, "protocol violation";
    /// An internal error.
    INTERNAL = 2, "internal error";
    /// A client sent TRUNCATE.
    REQUESTED = 3, "requested by the client";
    /// The relay hibernates to save bandwidth.
    HIBERNATING = 4, "relay hibernates";
    /// Out of memory, sockets or circuit numbers.
    RESOURCELIMIT = 5, "relay is out of resources";
    /// The next relay can't be reached.
    CONNECTFAILED = 6, "next relay can't be reached";
    /// The next relay has another identity than expected.
    OR_IDENTITY = 7, "next relay has another identity than the one asked for";
    /// The link went down.
    CHANNEL_CLOSED = 8, "link closed";
    /// The circuit has expired, or is no longer wanted.
    FINISHED = 9, "circuit expired";
    /// Building the circuit took too long.
    TIMEOUT = 10, "building the circuit took too long";
    /// The circuit was destroyed without the client asking for it.
    DESTROYED = 11, "destroyed further along the path";
    /// Unknown hidden service.
    NOSUCHSERVICE = 12, "no such service";
}

impl fmt::Debug for DestroyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DestroyReason({}: {self})", self.0)
    }
}
