//! Topologies: nodes, the links between them, and which node plays which part in a circuit.
//!
//! A topology is a TOML file; `docs/links.md` describes the format. [`BuiltIn`] are those that candor brings.
//!
//! ```
//! # fn main() -> Result<(), candor_links::topology::TopologyError> {
//! use candor_links::topology::{Role, Topology};
//! let topology = Topology::built_in("leo-bent-pipe").expect("candor brings it")?;
//! let way = topology.way(Role::Client, Role::Guard, None)?;
//! assert_eq!(way.len(), 3); // up, down, and through the internet
//! # Ok(()) }
//! ```

mod built_in;
mod flight;
mod picture;
mod read;
mod ways;

pub use built_in::{BUILT_IN, BuiltIn};
pub use flight::{Flight, FlightError, NeverSeen, Orbit, Satellites};
pub use read::MOST_BYTES;
pub use ways::Step;

use crate::model::{LinkModel, Loss, Profile};
use crate::orbit::Part;
use crate::random::Random;
use std::fmt;
use std::sync::Arc;

/// A topology, checked: every name is known, and there is a way wherever a circuit needs one.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// Where its numbers come from.
    pub source: String,
    /// Whether several ways between two nodes are meant.
    pub routing: Routing,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The links, each usable in both directions.
    pub links: Vec<Link>,
    /// The satellites that some links follow.
    pub orbit: Option<Orbit>,
    flight: Option<Arc<Flight>>,
    /// The node that plays each part, in the order of [`Role::ALL`].
    roles: [usize; Role::ALL.len()],
}

/// How a way between two nodes is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// There is only one: the links form a tree.
    #[default]
    Tree,
    /// The one with the least delay.
    Shortest,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// A terminal or station on the ground.
    Ground,
    /// An aircraft.
    Uav,
    /// A satellite.
    Satellite,
    /// A computer in the internet.
    Server,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Indices of its nodes.
    pub between: [usize; 2],
    /// What it is like, from the first node to the second and back.
    pub ways: [Profile; 2],
    /// Other values of the same, by name.
    pub sets: Vec<(String, [Profile; 2])>,
    /// The part of the satellites' way that it is. Its delay then comes from [`Topology::fly`].
    pub follows: Option<Part>,
}

impl Link {
    /// The profiles under a set; the link's own where it does not name that set.
    pub fn profiles(&self, set: Option<&str>) -> &[Profile; 2] {
        let named = self.sets.iter().find(|(name, _)| Some(name.as_str()) == set);
        named.map_or(&self.ways, |(_, profiles)| profiles)
    }
}

/// A part in a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Builds the circuit.
    Client,
    /// First relay.
    Guard,
    /// Second relay.
    Middle,
    /// Third relay.
    Exit,
    /// What the exit connects to.
    Target,
}

impl Role {
    /// All parts, in the order of a circuit.
    pub const ALL: [Self; 5] = [Self::Client, Self::Guard, Self::Middle, Self::Exit, Self::Target];

    /// Its name in topologies.
    pub fn name(self) -> &'static str {
        ["client", "guard", "middle", "exit", "target"][self as usize]
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Topology {
    /// The topology of that name that candor brings. If it follows satellites, it does so at the time that its file says.
    pub fn built_in(name: &str) -> Option<Result<Self, TopologyError>> {
        let built_in = BUILT_IN.iter().find(|topology| topology.name == name)?;
        Some(Self::parse(built_in.name, built_in.text).and_then(|topology| match topology.orbit {
            None => Ok(topology),
            Some(_) => topology.fly(None, None).map_err(|error| TopologyError {
                file: format!("{name}.toml"),
                line: None,
                what: error.to_string(),
            }),
        }))
    }

    /// The node that plays a part, as an index.
    pub fn node_of(&self, role: Role) -> usize {
        self.roles[role as usize]
    }

    /// Names of the sets of values that some link has besides its own.
    pub fn sets(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.links.iter().flat_map(|link| &link.sets).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Each link in use, there and back, under a set of values. Losses come from a stream of their own for each direction, all from one seed.
    pub fn models(&self, set: Option<&str>, seed: u64) -> Vec<[LinkModel; 2]> {
        let links = self.links.iter().enumerate().map(|(index, link)| {
            let model = |way: usize| {
                let seed = Random::stream(seed, 2 * index as u64 + way as u64).bits();
                LinkModel::new(link.profiles(set)[way].clone(), seed)
            };
            [model(0), model(1)]
        });
        links.collect()
    }

    /// The same links without loss, limits of rate and queues: what is left is delay.
    #[must_use]
    pub fn ideal(mut self) -> Self {
        self.each_profile(|profile| (profile.rate, profile.queue, profile.loss) = (None, None, Loss::None));
        self
    }

    /// The same links without loss.
    #[must_use]
    pub fn lossless(mut self) -> Self {
        self.each_profile(|profile| profile.loss = Loss::None);
        self
    }

    /// The same links without loss, each with this rate in bits per second and with no bound on what waits.
    #[must_use]
    pub fn at_rate(mut self, rate: u64) -> Self {
        self.each_profile(|profile| (profile.rate, profile.queue, profile.loss) = (Some(rate), None, Loss::None));
        self
    }

    fn each_profile(&mut self, change: impl Fn(&mut Profile)) {
        for link in &mut self.links {
            link.ways.iter_mut().chain(link.sets.iter_mut().flat_map(|(_, ways)| ways)).for_each(&change);
        }
    }
}

/// What is wrong with a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {what}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct TopologyError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1, where one is to blame.
    pub line: Option<usize>,
    /// What is wrong there, and what was expected.
    pub what: String,
}

#[cfg(test)]
mod tests;
