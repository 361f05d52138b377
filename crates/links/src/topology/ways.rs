//! The way between two parts of a circuit: links, one after the other.

use super::{Link, Role, Topology, TopologyError};
use crate::DelayTrace;
use crate::model::Delay;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

/// A link taken in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the link.
    pub link: usize,
    /// Whether it is taken from its second node to its first.
    pub back: bool,
}

impl Topology {
    /// The way from one part to another with the least delay under a set of values when there are links for the first time; the first in the file among equals. Empty if both are at the same node.
    ///
    /// # Errors
    /// [`TopologyError`] if there is none. A topology that was read has one between all parts.
    pub fn way(&self, from: Role, to: Role, set: Option<&str>) -> Result<Vec<Step>, TopologyError> {
        self.way_at(from, to, set, self.begins())
    }

    /// [`Self::way`] at a time: where delays vary, another way may then have the least, and a link that is not there leads nowhere.
    ///
    /// # Errors
    /// [`TopologyError`] if there is none at that time.
    pub fn way_at(&self, from: Role, to: Role, set: Option<&str>, at: Duration) -> Result<Vec<Step>, TopologyError> {
        let (from_node, to_node) = (self.node_of(from), self.node_of(to));
        let mut best: Vec<Option<(Duration, Option<Step>)>> = vec![None; self.nodes.len()];
        best[from_node] = Some((Duration::ZERO, None));
        let mut open = BinaryHeap::from([Reverse((Duration::ZERO, from_node))]);
        while let Some(Reverse((so_far, node))) = open.pop() {
            for (index, link) in self.links.iter().enumerate() {
                for back in [false, true] {
                    let [near, far] = if back { [link.between[1], link.between[0]] } else { link.between };
                    if near != node {
                        continue;
                    }
                    let delay = link.profiles(set)[usize::from(back)].delay.at(at);
                    let Some(delay) = delay.map(|delay| so_far + delay) else { continue };
                    if best[far].is_none_or(|(known, _)| delay < known) {
                        best[far] = Some((delay, Some(Step { link: index, back })));
                        open.push(Reverse((delay, far)));
                    }
                }
            }
        }
        let mut way = Vec::new();
        let mut node = to_node;
        while node != from_node {
            let Some((_, Some(step))) = best[node] else {
                let [from, to] = [from_node, to_node].map(|node| &self.nodes[node].name);
                let when = match (&self.orbit, &self.flight) {
                    (Some(_), None) => "before its links follow their satellites (Topology::fly)".to_owned(),
                    _ => format!("at {:.3} s", at.as_secs_f64()),
                };
                let what = format!("no way from `{from}` to `{to}` {when}");
                return Err(TopologyError { file: format!("{}.toml", self.name), line: None, what });
            };
            way.push(step);
            // Where the step begins.
            node = self.links[step.link].between[usize::from(step.back)];
        }
        way.reverse();
        Ok(way)
    }

    /// One-way delay along a way at a time. Links that are not there then count as nothing.
    pub fn delay(&self, way: &[Step], set: Option<&str>, at: Duration) -> Duration {
        way.iter().filter_map(|step| self.links[step.link].profiles(set)[usize::from(step.back)].delay.at(at)).sum()
    }

    /// Lets the delay of a link vary in time, both ways and under every set of values.
    ///
    /// # Errors
    /// [`TopologyError`] if there is no link between these nodes.
    pub fn vary(&mut self, between: [&str; 2], trace: &Arc<DelayTrace>) -> Result<(), TopologyError> {
        let names = |link: &Link| link.between.map(|node| self.nodes[node].name.as_str());
        let is_meant = |link: &Link| names(link) == between || names(link) == [between[1], between[0]];
        let Some(index) = self.links.iter().position(is_meant) else {
            let what = format!("no link between `{}` and `{}`", between[0], between[1]);
            return Err(TopologyError { file: format!("{}.toml", self.name), line: None, what });
        };
        let Link { ways, sets, .. } = &mut self.links[index];
        for profile in ways.iter_mut().chain(sets.iter_mut().flat_map(|(_, ways)| ways)) {
            profile.delay = Delay::Trace(trace.clone());
        }
        Ok(())
    }
}
