//! From TOML to a topology, with the line of every mistake.

mod orbit;

use super::flight;
use super::{Link, Node, NodeKind, Role, Routing, Topology, TopologyError};
use crate::model::{Delay, Loss, Profile};
use crate::orbit::Part;
use orbit::FileOrbit;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;

/// Bytes that wait for a transmitter where a topology doesn't say; about 170 full packets.
const DEFAULT_QUEUE: f64 = 256.0;
/// Longest delay, in ms: light takes 1.3 s to the moon.
const MOST_DELAY: f64 = 10_000.0;
/// Rates in Mbit/s.
const RATES: (f64, f64) = (0.001, 1_000_000.0);
/// Most nodes, and most links.
const MOST: usize = 10_000;
/// Bytes that a topology's file may have: so many nodes and links, each with ten lines.
pub const MOST_BYTES: usize = 1 << 23;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    source: String,
    #[serde(default)]
    routing: Routing,
    #[serde(default)]
    node: Vec<FileNode>,
    #[serde(default)]
    link: Vec<FileLink>,
    orbit: Option<Spanned<FileOrbit>>,
    roles: Roles,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileNode {
    name: Spanned<String>,
    kind: NodeKind,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLink {
    between: Spanned<[Spanned<String>; 2]>,
    delay_ms: Option<Spanned<f64>>,
    orbit: Option<Spanned<FilePart>>,
    rate_mbit: Option<Spanned<f64>>,
    back_rate_mbit: Option<Spanned<f64>>,
    queue_kib: Option<Spanned<f64>>,
    loss_percent: Option<Spanned<f64>>,
    bursts: Option<Bursts>,
    #[serde(default)]
    sets: BTreeMap<String, Set>,
}

/// The part of a satellites' way that a link is.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FilePart {
    Whole,
    Up,
    Between,
    Down,
}

/// Other values for a link; what is missing is as the link's own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    delay_ms: Option<Spanned<f64>>,
    rate_mbit: Option<Spanned<f64>>,
    back_rate_mbit: Option<Spanned<f64>>,
    loss_percent: Option<Spanned<f64>>,
}

/// Gilbert–Elliott, in percent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bursts {
    to_bad: Spanned<f64>,
    to_good: Spanned<f64>,
    in_good: Spanned<f64>,
    in_bad: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Roles {
    client: Spanned<String>,
    guard: Spanned<String>,
    middle: Spanned<String>,
    exit: Spanned<String>,
    target: Spanned<String>,
}

impl Topology {
    /// Reads a topology. `name` becomes its name, and stands in errors.
    ///
    /// # Errors
    /// [`TopologyError`] with the line: more than [`MOST_BYTES`], no TOML, an unknown or missing field, a node that is not there, a value out of its range, a cycle where
    /// `routing` is `tree`, two nodes of a circuit without a way between them. Links that follow an orbit have no delay before [`Topology::fly`].
    pub fn parse(name: &str, text: &str) -> Result<Self, TopologyError> {
        let reader = Reader { name, text };
        if text.len() > MOST_BYTES {
            return Err(reader.error(None, format!("more than {MOST_BYTES} bytes")));
        }
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            reader.error(at, error.message())
        })?;
        reader.topology(file)
    }
}

impl From<FilePart> for Part {
    fn from(part: FilePart) -> Self {
        match part {
            FilePart::Whole => Self::Whole,
            FilePart::Up => Self::Up,
            FilePart::Between => Self::Between,
            FilePart::Down => Self::Down,
        }
    }
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: Option<usize>, what: impl Into<String>) -> TopologyError {
        let line = at.map(|at| {
            self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
        });
        TopologyError { file: format!("{}.toml", self.name), line, what: what.into() }
    }

    fn at<T>(&self, value: &Spanned<T>, what: impl Into<String>) -> TopologyError {
        self.error(Some(value.span().start), what)
    }

    fn topology(&self, file: File) -> Result<Topology, TopologyError> {
        if file.node.len() > MOST || file.link.len() > MOST {
            return Err(self.error(None, format!("more than {MOST} nodes or links")));
        }
        let mut index = BTreeMap::new();
        let mut nodes = Vec::new();
        for node in &file.node {
            let name = node.name.get_ref();
            if name.trim() != name || name.is_empty() || name.chars().any(char::is_control) {
                return Err(self.at(&node.name, "name of a node is empty or has spaces around it"));
            }
            if index.insert(name.clone(), nodes.len()).is_some() {
                return Err(self.at(&node.name, format!("node `{name}` is there already")));
            }
            nodes.push(Node { name: name.clone(), kind: node.kind });
        }
        let find = |name: &Spanned<String>| {
            let known = || index.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            index
                .get(name.get_ref())
                .copied()
                .ok_or_else(|| self.at(name, format!("unknown node `{}`; the nodes are: {}", name.get_ref(), known())))
        };
        let orbit = file.orbit.as_ref().map(|orbit| self.orbit(orbit.get_ref())).transpose()?;
        let mut links = Vec::new();
        let mut trees = Trees::new(nodes.len());
        for link in &file.link {
            let [from, to] = link.between.get_ref();
            let between = [find(from)?, find(to)?];
            let names = format!("`{}` and `{}`", from.get_ref(), to.get_ref());
            if between[0] == between[1] {
                return Err(self.at(&link.between, format!("link from `{}` to itself", from.get_ref())));
            }
            let same = |other: &Link| other.between == between || other.between == [between[1], between[0]];
            if links.iter().any(same) {
                return Err(self.at(&link.between, format!("second link between {names}")));
            }
            if !trees.join(between) && file.routing == Routing::Tree {
                let what = format!(
                    "link between {names} closes a cycle; set routing = \"shortest\" if several ways between two nodes are meant"
                );
                return Err(self.at(&link.between, what));
            }
            if let (Some(part), None) = (&link.orbit, &orbit) {
                return Err(self.at(part, "link follows an orbit, but there is no table [orbit]"));
            }
            links.push(self.link(link, between)?);
        }
        if let Some(table) = &file.orbit
            && links.iter().all(|link| link.follows.is_none())
        {
            return Err(self.at(table, "no link follows the orbit; give it to one by orbit = \"whole\""));
        }
        let parts = [&file.roles.client, &file.roles.guard, &file.roles.middle, &file.roles.exit, &file.roles.target];
        let mut roles = [0; Role::ALL.len()];
        for ((role, part), place) in Role::ALL.iter().zip(parts).zip(&mut roles) {
            *place = find(part)?;
            if !trees.are_joined(*place, roles_first(&index, parts[0])) {
                let what = format!(
                    "no links lead from the client, `{}`, to the {role}, `{}`",
                    parts[0].get_ref(),
                    part.get_ref()
                );
                return Err(self.at(part, what));
            }
        }
        let Roles { client, guard, .. } = &file.roles;
        if client.get_ref() == guard.get_ref() {
            return Err(self.at(guard, "client and guard are the same node"));
        }
        let (title, source, routing) = (file.title, file.source, file.routing);
        let name = self.name.to_owned();
        Ok(Topology { name, title, source, routing, nodes, links, orbit, roles, flight: None })
    }

    fn link(&self, link: &FileLink, between: [usize; 2]) -> Result<Link, TopologyError> {
        let (delay, follows) = match (&link.delay_ms, &link.orbit) {
            (Some(delay), None) => (self.delay(delay)?, None),
            (None, Some(part)) => (flight::unknown(), Some(Part::from(*part.get_ref()))),
            (Some(delay), Some(_)) => return Err(self.at(delay, "delay_ms and orbit exclude each other")),
            (None, None) => return Err(self.at(&link.between, "link has neither delay_ms nor orbit")),
        };
        let rates = self.rates(link.rate_mbit.as_ref(), link.back_rate_mbit.as_ref())?;
        let queue = match &link.queue_kib {
            Some(queue) => self.within("queue_kib", queue, 2.0, 1e9)?,
            None => DEFAULT_QUEUE,
        };
        let queue = Some((queue * 1024.0) as usize);
        let loss = match (&link.loss_percent, &link.bursts) {
            (Some(loss), Some(_)) => return Err(self.at(loss, "loss_percent and bursts exclude each other")),
            (Some(loss), None) => self.loss(loss)?,
            (None, Some(bursts)) => {
                let part = |name, value| Ok(self.within(name, value, 0.0, 100.0)? / 100.0);
                Loss::GilbertElliott {
                    to_bad: part("to_bad", &bursts.to_bad)?,
                    to_good: part("to_good", &bursts.to_good)?,
                    in_good: part("in_good", &bursts.in_good)?,
                    in_bad: part("in_bad", &bursts.in_bad)?,
                }
            }
            (None, None) => Loss::None,
        };
        let profiles = |delay: &Delay, rates: [Option<u64>; 2], loss| {
            rates.map(|rate| Profile { delay: Delay::clone(delay), rate, queue, loss })
        };
        let mut sets = Vec::new();
        for (name, set) in &link.sets {
            let delay = match &set.delay_ms {
                Some(value) if follows.is_some() => {
                    return Err(self.at(value, "delay_ms in a set of a link that follows the orbit"));
                }
                Some(value) => self.delay(value)?,
                None => delay.clone(),
            };
            let loss = set.loss_percent.as_ref().map_or(Ok(loss), |value| self.loss(value))?;
            let rates = match (&set.rate_mbit, &set.back_rate_mbit) {
                (None, None) => rates,
                (rate, back) => self.rates(rate.as_ref(), back.as_ref())?,
            };
            sets.push((name.clone(), profiles(&delay, rates, loss)));
        }
        Ok(Link { between, ways: profiles(&delay, rates, loss), sets, follows })
    }

    fn delay(&self, value: &Spanned<f64>) -> Result<Delay, TopologyError> {
        // To the nanosecond, since from_secs_f64 cuts off.
        let nanoseconds = self.within("delay_ms", value, 0.0, MOST_DELAY)? * 1e6;
        Ok(Delay::Constant(Duration::from_nanos(nanoseconds.round() as u64)))
    }

    fn rates(
        &self,
        rate: Option<&Spanned<f64>>,
        back: Option<&Spanned<f64>>,
    ) -> Result<[Option<u64>; 2], TopologyError> {
        let bits = |name, value: &Spanned<f64>| Ok((self.within(name, value, RATES.0, RATES.1)? * 1e6) as u64);
        match (rate, back) {
            (None, Some(back)) => Err(self.at(back, "back_rate_mbit without rate_mbit")),
            (rate, back) => {
                let rate = rate.map(|rate| bits("rate_mbit", rate)).transpose()?;
                Ok([rate, back.map(|back| bits("back_rate_mbit", back)).transpose()?.or(rate)])
            }
        }
    }

    fn loss(&self, value: &Spanned<f64>) -> Result<Loss, TopologyError> {
        let percent = self.within("loss_percent", value, 0.0, 90.0)?;
        Ok(if percent > 0.0 { Loss::Bernoulli(percent / 100.0) } else { Loss::None })
    }

    fn within(&self, name: &str, value: &Spanned<f64>, low: f64, high: f64) -> Result<f64, TopologyError> {
        let number = *value.get_ref();
        // NaN is in no range.
        if (low..=high).contains(&number) {
            return Ok(number);
        }
        Err(self.at(value, format!("{name} is {number}; expected {low} to {high}")))
    }
}

fn roles_first(index: &BTreeMap<String, usize>, client: &Spanned<String>) -> usize {
    index[client.get_ref()]
}

/// Which nodes are joined by links: a forest of unions.
struct Trees(Vec<usize>);

impl Trees {
    fn new(nodes: usize) -> Self {
        Self((0..nodes).collect())
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    /// Joins two nodes; `false` if they were joined before.
    fn join(&mut self, [a, b]: [usize; 2]) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
        a != b
    }

    fn are_joined(&mut self, a: usize, b: usize) -> bool {
        self.root(a) == self.root(b)
    }
}
