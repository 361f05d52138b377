//! What is to happen, by its time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Entries in the order of their times; at equal times, in the order in which they were made.
#[derive(Debug)]
pub struct Agenda<T> {
    entries: BinaryHeap<Entry<T>>,
    /// Entries so far.
    count: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Duration,
    number: u64,
    what: T,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { entries: BinaryHeap::new(), count: 0 }
    }
}

impl<T> Agenda<T> {
    /// Adds something.
    pub fn add(&mut self, at: Duration, what: T) {
        self.count += 1;
        self.entries.push(Entry { at, number: self.count, what });
    }

    /// When the next is to happen.
    pub fn next(&self) -> Option<Duration> {
        self.entries.peek().map(|entry| entry.at)
    }

    /// Takes the next.
    pub fn take(&mut self) -> Option<(Duration, T)> {
        self.entries.pop().map(|Entry { at, what, .. }| (at, what))
    }

    /// Takes the next, if its time has come.
    pub fn take_due(&mut self, now: Duration) -> Option<(Duration, T)> {
        if self.next()? <= now { self.take() } else { None }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// The earliest is the greatest: `BinaryHeap` gives that first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
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
