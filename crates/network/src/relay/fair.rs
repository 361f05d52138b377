//! A bounded queue that is fair to its sources.

use super::payer::{Payer, gives_way};
use std::collections::{HashMap, VecDeque};

/// Waiting items, grouped by payer. Payers are served in turn. When the queue is full, the one that [gives way](gives_way) loses its last
/// item, so a flood fills the places of others only until they want them.
pub(super) struct Fair<T> {
    most: usize,
    length: usize,
    queues: HashMap<Payer, VecDeque<T>>,
    /// Payers with something waiting, each once, the next to be served first.
    turns: VecDeque<Payer>,
}

impl<T> Fair<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, length: 0, queues: HashMap::new(), turns: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Takes in an item. Gives back what finds no room: nothing, the same item, or the last one of a payer that gives way.
    pub(super) fn push(&mut self, from: Payer, item: T) -> Option<T> {
        let mut out = None;
        if self.length >= self.most {
            let held = self.queues.iter().map(|(payer, queue)| (*payer, queue.len()));
            let Some(payer) = gives_way(held, from, self.most) else { return Some(item) };
            let queue = self.queues.get_mut(&payer)?;
            out = queue.pop_back();
            if queue.is_empty() {
                self.queues.remove(&payer);
                self.turns.retain(|turn| *turn != payer);
            }
            self.length -= 1;
        }
        let queue = self.queues.entry(from).or_default();
        if queue.is_empty() {
            self.turns.push_back(from);
        }
        queue.push_back(item);
        self.length += 1;
        out
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let from = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&from)?;
        let item = queue.pop_front()?;
        if queue.is_empty() {
            self.queues.remove(&from);
        } else {
            self.turns.push_back(from);
        }
        self.length -= 1;
        Some(item)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::payer::Asker;

    fn from(link: usize) -> Payer {
        Payer::Asker(Asker::Link(link))
    }

    fn all(fair: &mut Fair<char>) -> String {
        std::iter::from_fn(|| fair.pop()).collect()
    }

    #[test]
    fn payers_are_served_in_turn() {
        let mut fair = Fair::new(10);
        for (from, item) in [(1, 'a'), (1, 'b'), (1, 'c'), (2, 'x'), (3, 'y')] {
            assert_eq!(fair.push(self::from(from), item), None);
        }
        assert_eq!(all(&mut fair), "axybc");
        assert!(fair.is_empty() && fair.queues.is_empty() && fair.turns.is_empty());
    }

    #[test]
    fn a_flood_makes_room_for_others() {
        let mut fair = Fair::new(4);
        for item in "abcd".chars() {
            assert_eq!(fair.push(from(1), item), None);
        }
        assert_eq!(fair.push(from(1), 'e'), Some('e'), "its own is refused");
        assert_eq!(fair.push(from(2), 'x'), Some('d'));
        assert_eq!(fair.push(from(1), 'f'), Some('f'));
        assert_eq!(fair.push(from(2), 'y'), Some('c'));
        assert_eq!(fair.push(from(2), 'z'), Some('z'), "both have as many now");
        let out = fair.push(from(3), 'q');
        assert!(out == Some('b') || out == Some('y'), "a third takes from one of those who have two: {out:?}");
        assert_eq!(fair.length, 4);
        assert_eq!(all(&mut fair).len(), 4);
    }

    #[test]
    fn a_listed_relays_flood_makes_room_too_and_leaves_nothing_behind() {
        let mut fair = Fair::new(4);
        for (circuit, item) in "abcd".chars().enumerate() {
            assert_eq!(fair.push(Payer::Circuit { link: 7, circuit }, item), None);
        }
        assert!(fair.push(from(1), 'x').is_some_and(|out| out != 'x'));
        assert_eq!((fair.queues.len(), fair.turns.len(), fair.length), (4, 4, 4));
        assert!(all(&mut fair).ends_with('x'));
    }

    #[test]
    fn a_queue_without_places_takes_nothing() {
        assert_eq!(Fair::new(0).push(from(1), 'a'), Some('a'));
    }
}
