//! Links between relays, without I/O, and circuits over them in virtual time.
//!
//! - [`model`]: one direction of a link: delay, rate, queue, loss.
//! - [`DelayTrace`]: a delay that varies in time, as orbits give it.
//! - [`transport`]: a reliable stream over links, modelled on TCP.
#![forbid(unsafe_code)]

pub mod costs;
pub mod model;
mod random;
mod trace;
pub mod transport;

pub use trace::DelayTrace;
