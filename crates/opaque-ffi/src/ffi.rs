//! The functions of the header: pointers become slices, and then a step is done.

mod any;
mod arguments;
mod client;
mod server;

pub use any::*;
pub use arguments::{CandorOpaqueLimits, CandorOpaqueParties};
pub use client::*;
pub use server::*;
