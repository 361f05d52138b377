//! Relay messages: what a client and a hop of its circuit exchange inside the layers.
//!
//! [`Format`] is the layout of a message in a cell's 509 bytes: V0 under tor1, V1 under CGO. `Fragments` reassembles
//! messages that don't fit one cell; only EXTEND2 and EXTENDED2 may span cells, and only where both sides have agreed
//! to it (`docs/cells.md`). [`message`] has the bodies.

mod format;
#[cfg(feature = "std")]
mod fragments;
pub mod message;
mod tag;

pub use crate::command::RelayCommand;
pub use format::{Format, Header};
#[cfg(feature = "std")]
pub(crate) use fragments::continuation_room;
#[cfg(feature = "std")]
pub use fragments::{Fragments, Whole, cells_for, encode_fragment};
pub use tag::Tag;

/// Longest body of a fragmented message.
pub const MOST_BODY: usize = 4096;
