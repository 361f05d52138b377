//! The way between two parts of a circuit: links, one after the other.

use super::{Role, Topology, TopologyError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
    /// The way from one part to another with the least delay under a set of values; the first in the file among equals. Empty if both are at the same node.
    ///
    /// # Errors
    /// [`TopologyError`] if there is none. A topology that was read has one between all parts.
    pub fn way(&self, from: Role, to: Role, set: Option<&str>) -> Result<Vec<Step>, TopologyError> {
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
                    let delay = link.profiles(set)[usize::from(back)].delay.at(Duration::ZERO);
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
                let what = format!("no way from `{from}` to `{to}`");
                return Err(TopologyError { file: format!("{}.toml", self.name), line: None, what });
            };
            way.push(step);
            // Where the step begins.
            node = self.links[step.link].between[usize::from(step.back)];
        }
        way.reverse();
        Ok(way)
    }

    /// One-way delay along a way, at the start. Links that are not there then count as nothing.
    pub fn delay(&self, way: &[Step], set: Option<&str>) -> Duration {
        way.iter()
            .filter_map(|step| self.links[step.link].profiles(set)[usize::from(step.back)].delay.at(Duration::ZERO))
            .sum()
    }
}
