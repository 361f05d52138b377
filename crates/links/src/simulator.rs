//! Circuits in virtual time: the state machines of `onion`, over modelled connections, over modelled links.
//!
//! A [`World`] has a topology, four hosts that a circuit needs and as many clients as one likes. Each circuit has connections of its own:
//! client to guard, guard to middle, middle to exit, and exit to target. Nothing waits for a clock: the world goes from event to event, and the same
//! seed gives the same events.
//!
//! What is real: [`ClientCircuit`] and [`RelayCircuit`] with their handshakes, layers, fragments and windows, and the cells' codec. What is
//! modelled: links ([`crate::model`]), TCP ([`crate::transport`]), TLS and the link handshake as messages of the right length in the
//! right order ([`setup`]), the time of computations ([`Costs`]), and HTTP as a request of 100 bytes and a response. A relay computes
//! one handshake after another, whoever asks. X25519 and ML-KEM are stand-ins unless [`Cryptography::Real`] is asked for.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use candor_links::simulator::{Plan, World};
//! use candor_links::topology::Topology;
//! use candor_onion::handshake::HandshakeType;
//!
//! let topology = Topology::built_in("leo-bent-pipe").expect("candor brings it")?;
//! let mut world = World::new(&Plan::new(topology, HandshakeType::Hybrid768))?;
//! let outcome = world.build();
//! assert!(outcome.built.is_some());
//! # Ok(()) }
//! ```
//!
//! [`ClientCircuit`]: candor_onion::circuit::ClientCircuit
//! [`RelayCircuit`]: candor_onion::circuit::RelayCircuit

mod circuit;
mod connection;
mod outcome;
pub mod setup;
mod world;

pub use outcome::Outcome;
pub use world::World;

use crate::costs::Costs;
pub use crate::suite::Cryptography;
use crate::topology::{Role, Topology, TopologyError};
use candor_onion::handshake::HandshakeType;
use std::time::Duration;

/// What is there before a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Links between client and relays.
    #[default]
    Warm,
    /// Nothing: each link is made when it is needed, by TCP, TLS and the link handshake.
    Cold,
}

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where.
    pub topology: Topology,
    /// A set of other values for its links.
    pub set: Option<String>,
    /// How hops are added.
    pub handshake: HandshakeType,
    /// What is there before.
    pub start: Start,
    /// Whose cryptography runs.
    pub cryptography: Cryptography,
    /// What computations cost in virtual time.
    pub costs: Costs,
    /// Where losses and drawn costs begin.
    pub seed: u64,
    /// Bytes of the page that is fetched through the circuit once it is built; `None` for none.
    pub fetch: Option<u64>,
    /// When the world begins. Where delays vary, ways are those that have the least delay then.
    pub begin: Duration,
    /// Exchanges of a cell with the last hop that are counted as part of the build.
    pub more_round_trips: u32,
}

impl Plan {
    /// Warm links, scripted cryptography at no cost, seed 1, no page, from when there are links for the first time.
    pub fn new(topology: Topology, handshake: HandshakeType) -> Self {
        let begin = topology.begins();
        Self {
            topology,
            set: None,
            handshake,
            start: Start::Warm,
            cryptography: Cryptography::Scripted,
            costs: Costs::none(),
            seed: 1,
            fetch: None,
            begin,
            more_round_trips: 0,
        }
    }

    /// The time that delays alone, as they are when the world begins, make the build take: the number of one-way traversals of each link, times its delay.
    ///
    /// With links that are there, a hop needs an exchange with the client: the first link is crossed six times, the second four and the
    /// third two. Making a link costs it [`setup::ROUND_TRIPS`] round trips more. Each further exchange with the last hop crosses
    /// all three twice.
    ///
    /// # Errors
    /// [`TopologyError`] if there is no way between two relays.
    pub fn delays_alone(&self) -> Result<Duration, TopologyError> {
        let set = self.set.as_deref();
        let mut total = Duration::ZERO;
        for (index, pair) in Role::ALL.windows(2).take(3).enumerate() {
            let delay = |from, to| {
                let way = self.topology.way_at(from, to, set, self.begin)?;
                Ok::<_, TopologyError>(self.topology.delay(&way, set, self.begin))
            };
            let (there, back) = (delay(pair[0], pair[1])?, delay(pair[1], pair[0])?);
            let setting_up = if self.start == Start::Cold { setup::ROUND_TRIPS } else { 0 };
            total += (there + back) * (3 - index as u32 + setting_up + self.more_round_trips);
        }
        Ok(total)
    }
}

/// Why there is no world.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulatorError {
    /// No way between two parts of a circuit.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// No link of the topology has values under this name.
    #[error("topology {topology} has no set `{set}`; it has: {}", if known.is_empty() { "none" } else { known })]
    Set {
        /// The topology.
        topology: String,
        /// The name that was asked for.
        set: String,
        /// The names that there are.
        known: String,
    },
    /// The relays' keys could not be made.
    #[error("can't make the relays' keys: {0}")]
    Keys(candor_onion::Error),
}
