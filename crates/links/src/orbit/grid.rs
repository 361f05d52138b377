//! Links between satellites, and the shortest way along them.

use super::elements::EARTH_RADIUS;
use super::frame::{State, Vector, dot, light_time, minus, norm};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Lasers don't look through the air: height in kilometres above the equatorial radius below which a link is blocked.
const CLEAR_ABOVE: f64 = 80.0;

/// Which satellites of a list have links to which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    neighbours: Vec<Vec<usize>>,
}

impl Grid {
    /// So many satellites without links.
    pub fn new(satellites: usize) -> Self {
        Self { neighbours: vec![Vec::new(); satellites] }
    }

    /// Adds a link, in both directions. Nothing happens if it is there already, or would lead from a satellite to itself.
    ///
    /// # Panics
    ///
    /// If there are not so many satellites.
    pub fn link(&mut self, one: usize, other: usize) {
        if one != other && !self.neighbours[one].contains(&other) {
            self.neighbours[one].push(other);
            self.neighbours[other].push(one);
        }
    }

    /// Satellites to which one has links.
    pub fn neighbours(&self, satellite: usize) -> &[usize] {
        self.neighbours.get(satellite).map_or(&[], Vec::as_slice)
    }

    /// The way from one satellite to another on which light takes the least time, both included; `None` if there is none.
    pub(super) fn shortest(&self, states: &[State], from: usize, to: usize) -> Option<Vec<usize>> {
        let mut best = vec![Duration::MAX; states.len()];
        let mut before = vec![from; states.len()];
        let mut open = BinaryHeap::from([(Reverse(Duration::ZERO), from)]);
        *best.get_mut(from)? = Duration::ZERO;
        while let Some((Reverse(time), here)) = open.pop() {
            if here == to {
                let mut way = vec![to];
                while way[way.len() - 1] != from {
                    way.push(before[way[way.len() - 1]]);
                }
                way.reverse();
                return Some(way);
            }
            if time > best[here] {
                continue;
            }
            for &next in self.neighbours(here).iter().filter(|&&next| next < states.len()) {
                let (a, b) = (states[here].position, states[next].position);
                let reached = time + light_time(norm(minus(a, b)));
                if reached < best[next] && clear(a, b) {
                    (best[next], before[next]) = (reached, here);
                    open.push((Reverse(reached), next));
                }
            }
        }
        None
    }
}

/// Whether the straight line between two places stays above the air.
fn clear(a: Vector, b: Vector) -> bool {
    let line = minus(b, a);
    // Where on the line it comes closest to the Earth's centre: 0 is a, 1 is b.
    let at = (-dot(a, line) / dot(line, line)).clamp(0.0, 1.0);
    let closest = [a[0] + at * line[0], a[1] + at * line[1], a[2] + at * line[2]];
    norm(closest) > EARTH_RADIUS + CLEAR_ABOVE
}
