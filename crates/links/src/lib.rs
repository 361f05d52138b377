//! Links between relays, without I/O.
//!
//! - [`orbit`]: where satellites are, when a site sees them, and how long a signal takes through them.
//! - [`DelayTrace`]: a delay that varies in time, as orbits give it.
#![forbid(unsafe_code)]

pub mod orbit;
mod trace;

pub use trace::DelayTrace;
