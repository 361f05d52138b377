//! A table of fixed size that remembers how much each of many has taken lately.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Places that a key may be in. When all are taken, the one with the least to remember is forgotten.
const WAYS: usize = 8;

/// So much at once, and then so much over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many may come at once after a pause.
    pub burst: u32,
    /// How long it takes until one more may come.
    pub every: Duration,
}

impl Rate {
    /// The share of each of several, so that all together permit this rate: a smaller burst, rounded up, and less over time.
    pub(super) fn shared_by(self, instances: u32) -> Self {
        let instances = instances.max(1);
        Self { burst: self.burst.div_ceil(instances), every: self.every.saturating_mul(instances) }
    }
}

/// For each key, how much it has taken, in a table whose size never changes.
///
/// A key's level rises by one with each [`take`](Self::take), and falls by one every [`Rate::every`]. A key has eight places, which it shares with
/// others; a newcomer drives out the one whose level is lowest. Keys are hashed under a key of the process, so nobody can choose who shares places with whom.
pub(crate) struct Table {
    every: u64,
    burst: u64,
    hasher: RandomState,
    sets: Mutex<Box<[[Entry; WAYS]]>>,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    /// When the level will be zero, in microseconds since the process's start. In the past for an entry that says nothing.
    empty_at: u64,
}

impl Table {
    /// A table for about that many keys.
    pub(crate) fn new(rate: Rate, keys: usize) -> Self {
        let every = u64::try_from(rate.every.as_micros()).unwrap_or(u64::MAX / 4096).max(1);
        let sets = keys.div_ceil(WAYS).max(1);
        Self {
            every,
            burst: u64::from(rate.burst.max(1)),
            hasher: RandomState::new(),
            sets: Mutex::new(vec![[Entry::default(); WAYS]; sets].into_boxed_slice()),
        }
    }

    /// Takes one, if the burst permits it; otherwise says how long to wait.
    pub(crate) fn take(&self, key: impl Hash, now: Duration) -> Result<(), Duration> {
        let most = self.every.saturating_mul(self.burst);
        self.entry(key, now, |entry, now| {
            let after = entry.empty_at.max(now).saturating_add(self.every);
            let over = (after - now).saturating_sub(most);
            if over > 0 {
                return Err(Duration::from_micros(over));
            }
            entry.empty_at = after;
            Ok(())
        })
    }

    /// Whether the burst permits no more at the moment. Asking changes nothing.
    pub(crate) fn is_spent(&self, key: impl Hash, now: Duration) -> bool {
        let hash = self.hasher.hash_one(key);
        let now = micros(now);
        let sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let most = self.every.saturating_mul(self.burst);
        let known = sets[place(hash, sets.len())].iter().find(|entry| entry.key == hash && entry.empty_at > now);
        known.is_some_and(|entry| (entry.empty_at - now).saturating_add(self.every) > most)
    }

    /// Takes one in any case, up to `most` in all, and says how many more than the burst have been taken.
    pub(crate) fn press(&self, key: impl Hash, most: u32, now: Duration) -> u32 {
        self.entry(key, now, |entry, now| {
            let level = (entry.empty_at.max(now) - now).saturating_add(self.every);
            let level = level.min(self.every.saturating_mul(u64::from(most)));
            entry.empty_at = now.saturating_add(level);
            u32::try_from(level.div_ceil(self.every).saturating_sub(self.burst)).unwrap_or(u32::MAX)
        })
    }

    /// Gives one back.
    pub(crate) fn give_back(&self, key: impl Hash, now: Duration) {
        self.entry(key, now, |entry, _| entry.empty_at = entry.empty_at.saturating_sub(self.every));
    }

    /// Runs `work` on the key's entry, with the time in microseconds.
    fn entry<T>(&self, key: impl Hash, now: Duration, work: impl FnOnce(&mut Entry, u64) -> T) -> T {
        let hash = self.hasher.hash_one(key);
        let now = micros(now);
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let index = place(hash, sets.len());
        let set = &mut sets[index];
        let at = match set.iter().position(|entry| entry.key == hash && entry.empty_at > now) {
            Some(at) => at,
            None => {
                let least = set.iter().enumerate().min_by_key(|(_, entry)| entry.empty_at);
                let at = least.map_or(0, |(at, _)| at);
                set[at] = Entry { key: hash, empty_at: now };
                at
            }
        };
        work(&mut set[at], now)
    }

    /// Bytes that the table takes, whatever happens.
    #[cfg(test)]
    fn size(&self) -> usize {
        size_of_val(&**self.sets.lock().unwrap())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The set of a key, by the upper half of its hash, so that the rest tells the keys of a set apart.
fn place(hash: u64, sets: usize) -> usize {
    ((u128::from(hash) * sets as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn table(burst: u32, keys: usize) -> Table {
        Table::new(Rate { burst, every: SECOND }, keys)
    }

    #[test]
    fn a_burst_is_permitted_and_then_one_after_each_pause() {
        let table = table(3, 64);
        let now = Duration::from_secs(100);
        for _ in 0..3 {
            assert_eq!(table.take("a", now), Ok(()));
        }
        assert_eq!(table.take("a", now), Err(SECOND));
        assert_eq!(table.take("a", now), Err(SECOND), "asking costs nothing");
        assert_eq!(table.take("b", now), Ok(()), "another key has its own");
        assert_eq!(table.take("a", now + SECOND / 2), Err(SECOND / 2));
        assert_eq!(table.take("a", now + SECOND), Ok(()));
        assert_eq!(table.take("a", now + SECOND), Err(SECOND));
        for _ in 0..3 {
            assert_eq!(table.take("a", now + 100 * SECOND), Ok(()), "after a long pause it has its burst again");
        }
        assert!(table.take("a", now + 100 * SECOND).is_err());
    }

    #[test]
    fn a_key_is_spent_exactly_when_it_can_take_no_more() {
        let table = table(3, 64);
        let now = Duration::from_secs(100);
        for taken in 0..6 {
            assert_eq!(table.is_spent("a", now), taken >= 3);
            assert_eq!(table.take("a", now).is_err(), taken >= 3);
        }
        assert!(!table.is_spent("b", now) && !table.is_spent("a", now + SECOND));
        // 8 keys in one set: asking for others drives nobody out.
        let full = Table::new(Rate { burst: 1, every: SECOND }, 1);
        for key in 0..8 {
            full.take(key, now).unwrap();
        }
        (8..99).for_each(|key| assert!(!full.is_spent(key, now)));
        (0..8).for_each(|key| assert!(full.is_spent(key, now)));
    }

    #[test]
    fn what_is_given_back_can_be_taken_again_and_no_more() {
        let table = table(1, 64);
        assert_eq!(table.take(1, SECOND), Ok(()));
        assert!(table.take(1, SECOND).is_err());
        table.give_back(1, SECOND);
        assert_eq!(table.take(1, SECOND), Ok(()));
        table.give_back(1, SECOND);
        table.give_back(1, SECOND);
        assert_eq!(table.take(1, SECOND), Ok(()));
        assert!(table.take(1, SECOND).is_err(), "nothing is saved up");
    }

    #[test]
    fn pressure_rises_over_the_burst_up_to_the_most_and_falls_with_time() {
        let table = table(2, 64);
        let now = Duration::from_secs(7);
        let levels: Vec<u32> = (0..8).map(|_| table.press("a", 6, now)).collect();
        assert_eq!(levels, [0, 0, 1, 2, 3, 4, 4, 4]);
        assert_eq!(table.press("a", 6, now + 3 * SECOND), 2);
        table.give_back("a", now + 3 * SECOND);
        assert_eq!(table.press("a", 6, now + 3 * SECOND), 2);
        assert_eq!(table.press("a", 6, now + 60 * SECOND), 0);
    }

    #[test]
    fn a_flood_of_keys_takes_no_more_memory_and_does_not_reset_who_has_taken_much() {
        let table = table(10, 1024);
        let (size, now) = (table.size(), SECOND);
        for _ in 0..10 {
            table.take("culprit", now).unwrap();
        }
        for key in 0..100_000 {
            let _ = table.take(key, now);
        }
        assert_eq!(table.size(), size);
        assert!(table.take("culprit", now).is_err(), "keys that have taken one each drive it out never");
        assert!(size <= 1024 * 16, "{size}");
    }

    #[test]
    fn a_clock_that_goes_back_does_no_harm() {
        let table = table(1, 8);
        table.take(1, 100 * SECOND).unwrap();
        assert!(table.take(1, SECOND).is_err());
        assert!(table.take(2, Duration::ZERO).is_ok());
        assert!(table.take(1, Duration::MAX).is_ok());
    }
}
