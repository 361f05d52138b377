//! Relay messages: what a client and a hop of its circuit say to each other, inside the layers.
//!
//! [`Format`] is how a message lies in a cell's 509 bytes: V0 under tor1, V1 under CGO. [`Fragments`] puts messages together
//! that don't fit one cell; only EXTEND2 and EXTENDED2 may be so long, and only where both sides have agreed to it
//! (`docs/cells.md`). [`message`] has the bodies.

mod command;
mod format;
mod fragments;
pub mod message;

pub use command::RelayCommand;
pub use format::{Format, Header};
pub use fragments::{Fragments, Whole, cells_for, encode_fragment};

/// The longest body that a fragmented message may have.
pub const MOST_BODY: usize = 4096;
