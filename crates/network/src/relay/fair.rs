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

    pub(super) fn len(&self) -> usize {
        self.length
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

    /// Takes out up to `most` items of one kind: that of the next in turn, and those behind it that stand first in their payers' queues. Payers
    /// who have another kind next keep their turn, so they are the first to be served afterwards. While there is one of them nobody gives a
    /// second item, so a flood of one kind never gets eight for one of another.
    pub(super) fn pop_alike<K: PartialEq>(&mut self, most: usize, kind: impl Fn(&T) -> K) -> Vec<T> {
        let (mut alike, mut served, mut passed_over) = (Vec::new(), Vec::new(), Vec::new());
        let mut wanted = None;
        // However many wait, only some are looked at.
        while alike.len() < most && passed_over.len() < 4 * most {
            let Some(&payer) = self.turns.front() else { break };
            if served.contains(&payer) && !passed_over.is_empty() {
                break;
            }
            let next = self.queues.get(&payer).and_then(VecDeque::front).map(&kind);
            if wanted.is_some() && next != wanted {
                passed_over.extend(self.turns.pop_front());
                continue;
            }
            wanted = next;
            served.push(payer);
            alike.extend(self.pop());
        }
        passed_over.into_iter().rev().for_each(|payer| self.turns.push_front(payer));
        alike
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

    /// Batches of up to four, of items of which small and capital letters are two kinds.
    fn batches(items: &[(usize, char)]) -> Vec<String> {
        let mut fair = Fair::new(100);
        items.iter().for_each(|(from, item)| assert_eq!(fair.push(self::from(*from), *item), None));
        let mut batches = Vec::new();
        while !fair.is_empty() {
            batches.push(fair.pop_alike(4, |item| item.is_lowercase()).into_iter().collect());
        }
        assert!(fair.queues.is_empty() && fair.turns.is_empty());
        batches
    }

    #[test]
    fn a_batch_is_taken_in_turn() {
        assert_eq!(batches(&[(1, 'a'), (1, 'b'), (1, 'c'), (2, 'x'), (3, 'y'), (3, 'z')]), ["axyb", "zc"]);
        assert_eq!(batches(&[(1, 'a')]), ["a"]);
        assert_eq!(batches(&[]), Vec::<String>::new());
    }

    #[test]
    fn who_wants_another_kind_is_next() {
        // The flood of 1 gets one place beside each of those who want something else, not four.
        let flood = "abcdefgh".chars().map(|item| (1, item));
        let others = [(2, 'X'), (3, 'p'), (4, 'Y'), (2, 'Z')];
        let items: Vec<_> = flood.chain(others).collect();
        assert_eq!(batches(&items), ["ap", "XY", "b", "Z", "cdef", "gh"]);
    }

    #[test]
    fn kinds_within_a_payers_queue_keep_their_order() {
        assert_eq!(batches(&[(1, 'a'), (1, 'B'), (1, 'c'), (2, 'x'), (2, 'y')]), ["ax", "B", "yc"]);
    }

    #[test]
    fn a_batch_looks_at_some_of_those_who_wait() {
        let mut fair = Fair::new(100);
        assert_eq!(fair.push(from(0), 'a'), None);
        (1..40).for_each(|payer| assert_eq!(fair.push(from(payer), 'X'), None));
        assert_eq!(fair.push(from(40), 'b'), None);
        assert_eq!(fair.pop_alike(4, |item| item.is_lowercase()), ['a'], "the second stands too far behind");
        assert_eq!((fair.turns.front(), fair.turns.len(), fair.len()), (Some(&from(1)), 40, 40));
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
