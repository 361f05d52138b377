//! What waits to be sent over a link: a queue for each circuit, served in turn. It is what `candor-network` has for its links, without threads.

use candor_onion::cell::Message;
use candor_onion::flow::MOST_UNACKNOWLEDGED;
use std::collections::{BTreeMap, VecDeque};

/// Below this a queue is short, and who makes data may make more: `SHORT` of `candor-network`.
pub(super) const SHORT: usize = 128;
/// Cells that a circuit may have in the queue, unless a fault leaves less room: `MOST` of `candor-network`.
const MOST: usize = MOST_UNACKNOWLEDGED as usize;

/// There is no room.
#[derive(Debug)]
pub(super) struct Full;

#[derive(Debug)]
pub(super) struct Outbox {
    most: usize,
    queues: BTreeMap<u32, VecDeque<Message>>,
    /// Circuits with cells, each once, the next to be served first.
    turns: VecDeque<u32>,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self { most: MOST, queues: BTreeMap::new(), turns: VecDeque::new() }
    }

    /// Has room for so many cells of a circuit from now on.
    pub(super) fn narrow(&mut self, most: usize) {
        self.most = most;
    }

    /// Queues a cell; how many of the circuit's are queued then. A DESTROY always finds room.
    pub(super) fn push(&mut self, circuit: u32, message: Message) -> Result<usize, Full> {
        let is_end = matches!(message, Message::Destroy(_));
        if !is_end && self.queued(circuit) >= self.most {
            return Err(Full);
        }
        let queue = self.queues.entry(circuit).or_default();
        if queue.is_empty() {
            self.turns.push_back(circuit);
        }
        // A second one in a row would say nothing new.
        if !(is_end && matches!(queue.back(), Some(Message::Destroy(_)))) {
            queue.push_back(message);
        }
        Ok(queue.len())
    }

    /// The next cell, with its circuit's number.
    pub(super) fn pop(&mut self) -> Option<(u32, Message)> {
        let circuit = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&circuit)?;
        let message = queue.pop_front()?;
        match queue.is_empty() {
            true => drop(self.queues.remove(&circuit)),
            false => self.turns.push_back(circuit),
        }
        Some((circuit, message))
    }

    /// Drops what a circuit has queued.
    pub(super) fn clear(&mut self, circuit: u32) {
        if self.queues.remove(&circuit).is_some() {
            self.turns.retain(|other| *other != circuit);
        }
    }

    /// How many cells a circuit has queued.
    pub(super) fn queued(&self, circuit: u32) -> usize {
        self.queues.get(&circuit).map_or(0, VecDeque::len)
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Drops everything.
    pub(super) fn drop_all(&mut self) {
        self.queues.clear();
        self.turns.clear();
    }
}
