//! What is to happen, by its time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Entries in the order of their times; at equal times, in the order in which they were made.
///
/// What is to happen stays where it was put, and only small keys are sorted: with a million entries, moving them all would be most of the work.
#[derive(Debug)]
pub struct Agenda<T> {
    keys: BinaryHeap<Reverse<Key>>,
    entries: Vec<Option<T>>,
    /// Places in `entries` with nothing in them.
    free: Vec<u32>,
    /// Entries so far.
    count: u64,
}

/// In the order of its fields. No two have the same number, so the place is never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: Duration,
    number: u64,
    place: u32,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { keys: BinaryHeap::new(), entries: Vec::new(), free: Vec::new(), count: 0 }
    }
}

impl<T> Agenda<T> {
    /// Adds something.
    ///
    /// # Panics
    /// If 2³² entries are there.
    pub fn add(&mut self, at: Duration, what: T) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 entries")
        });
        self.entries[place as usize] = Some(what);
        self.count += 1;
        self.keys.push(Reverse(Key { at, number: self.count, place }));
    }

    /// When the next is to happen.
    pub fn next(&self) -> Option<Duration> {
        self.keys.peek().map(|Reverse(key)| key.at)
    }

    /// Takes the next.
    pub fn take(&mut self) -> Option<(Duration, T)> {
        let Reverse(Key { at, place, .. }) = self.keys.pop()?;
        self.free.push(place);
        Some((at, self.entries[place as usize].take().expect("an entry for each key")))
    }

    /// Takes the next, if its time has come.
    pub fn take_due(&mut self, now: Duration) -> Option<(Duration, T)> {
        if self.next()? <= now { self.take() } else { None }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
        self.free.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn entries_come_by_their_time_and_then_by_their_turn() {
        let mut agenda = Agenda::default();
        for (at, what) in [(3, 'd'), (1, 'a'), (2, 'b'), (2, 'c')] {
            agenda.add(at * MS, what);
        }
        assert_eq!(agenda.next(), Some(MS));
        assert_eq!(agenda.take(), Some((MS, 'a')));
        assert_eq!(agenda.take_due(MS), None);
        assert_eq!(agenda.take_due(2 * MS), Some((2 * MS, 'b')));
        // One that is made later comes after those of the same time.
        agenda.add(2 * MS, 'x');
        assert_eq!([agenda.take(), agenda.take(), agenda.take()].map(|entry| entry.unwrap().1), ['c', 'x', 'd']);
        assert_eq!((agenda.take(), agenda.next()), (None, None));
        agenda.add(MS, 'y');
        agenda.clear();
        assert_eq!(agenda.take(), None);
    }
}
