//! Links between relays, without I/O, and circuits over them in virtual time.
//!
//! - [`orbit`]: where satellites are, when a site sees them, and how long a signal takes through them.
//! - [`model`]: one direction of a link: delay, rate, queue, loss.
//! - [`DelayTrace`]: a delay that varies in time, as orbits give it.
//! - [`transport`]: a reliable stream over links, modelled on TCP.
//! - [`topology`]: nodes, links and the parts of a circuit, from TOML.
//! - [`simulator`]: circuits over a topology, by the state machines of `onion`, in virtual time; [`costs`] says what computations take there.
//! - [`survey`]: many circuits in numbers, and what one round trip, cell or microsecond more costs. A [`Record`] is a circuit as a line of a file.
//! - [`faults`]: circuits while relays die, links are cut and hops are hostile, in scenarios from a seed, and what must hold in all of them.
//! - [`crossover`]: at which bandwidth larger messages cost more than larger computation.
//!
//! `docs/links.md` describes the format of topologies and what the models leave out.
#![forbid(unsafe_code)]

mod agenda;
pub mod costs;
pub mod crossover;
pub mod faults;
pub mod model;
pub mod orbit;
mod random;
mod record;
mod scripted;
pub mod simulator;
mod suite;
pub mod survey;
pub mod topology;
mod trace;
pub mod transport;

pub use agenda::Agenda;
pub use record::Record;
pub use trace::DelayTrace;
