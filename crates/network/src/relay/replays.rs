//! Onionskins that have been seen. A handshake costs whoever repeats a recorded onionskin nothing and the relay some tens of
//! microseconds and a circuit, so each is good for one circuit.

use crate::link::locked;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

/// Two generations of hashes under a key that nobody knows. When the younger is full it becomes the older, which is forgotten.
pub(super) struct Replays {
    most: usize,
    key: RandomState,
    seen: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    younger: HashSet<u64>,
    older: HashSet<u64>,
}

impl Replays {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), key: RandomState::new(), seen: Mutex::default() }
    }

    /// Remembers an onionskin; whether it is new.
    pub(super) fn is_new(&self, kind: u16, onionskin: &[u8]) -> bool {
        let hash = self.key.hash_one((kind, onionskin));
        let mut seen = locked(&self.seen);
        if seen.older.contains(&hash) || !seen.younger.insert(hash) {
            return false;
        }
        if seen.younger.len() >= self.most {
            seen.older = std::mem::take(&mut seen.younger);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_onionskin_is_new_once() {
        let replays = Replays::new(10);
        assert!(replays.is_new(2, b"one") && replays.is_new(2, b"two") && replays.is_new(3, b"one"));
        assert!(!replays.is_new(2, b"one") && !replays.is_new(2, b"two") && !replays.is_new(3, b"one"));
    }

    #[test]
    fn at_least_as_many_are_remembered_as_asked_for_and_at_most_twice_as_many() {
        let replays = Replays::new(10);
        for index in 0_u32..100 {
            assert!(replays.is_new(2, &index.to_be_bytes()));
            let seen = locked(&replays.seen);
            assert!(seen.younger.len() + seen.older.len() <= 20);
        }
        for index in 90_u32..100 {
            assert!(!replays.is_new(2, &index.to_be_bytes()), "{index}");
        }
    }
}
