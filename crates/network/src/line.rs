//! A line in which whoever has had a turn goes to the end.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Who stands where. It remembers nobody who has left.
pub(crate) struct Line<W> {
    places: HashMap<W, u64>,
    last: u64,
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Self { places: HashMap::new(), last: 0 }
    }
}

impl<W: Copy + Eq + Hash> Line<W> {
    /// Lines up those who are here, of whom the first has come first. Whoever comes, or comes back, is the last: nobody gets ahead by leaving for a moment.
    pub(crate) fn line_up(&mut self, here: impl Iterator<Item = W> + Clone) {
        let are_here: HashSet<W> = here.clone().collect();
        self.places.retain(|who, _| are_here.contains(who));
        for who in here {
            if !self.places.contains_key(&who) {
                self.go_last(who);
            }
        }
    }

    /// Where somebody stands, the smallest first.
    pub(crate) fn place(&self, who: W) -> u64 {
        self.places.get(&who).copied().unwrap_or(u64::MAX)
    }

    /// Notes that somebody has had a turn.
    pub(crate) fn go_last(&mut self, who: W) {
        self.last += 1;
        self.places.insert(who, self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(line: &Line<char>, of: &str) -> String {
        let mut all: Vec<char> = of.chars().collect();
        all.sort_by_key(|who| line.place(*who));
        all.into_iter().collect()
    }

    #[test]
    fn who_has_come_first_is_first_and_who_had_a_turn_or_comes_back_is_last() {
        let mut line = Line::default();
        line.line_up("cab".chars());
        assert_eq!(order(&line, "abc"), "cab");
        line.go_last('c');
        line.line_up("abcd".chars());
        assert_eq!(order(&line, "abcd"), "abcd");
        // One of them leaves for a moment.
        line.line_up("bcd".chars());
        line.line_up("abcd".chars());
        assert_eq!(order(&line, "abcd"), "bcda");
    }

    #[test]
    fn it_grows_with_those_who_are_there_alone() {
        let mut line = Line::default();
        for who in 0..1000 {
            line.line_up([who, who + 1].into_iter());
            line.go_last(who);
        }
        assert_eq!(line.places.len(), 2);
        line.line_up(std::iter::empty());
        assert!(line.places.is_empty());
    }
}
