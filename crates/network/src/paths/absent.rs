//! Relays that a client could not reach lately.
//!
//! A circuit that can't be extended says which hop failed, and not whether that relay is gone or the one before it lies. So the relay that failed is passed
//! over, and the one before it once four others in a row could not be reached from it. A circuit through either clears it.
//!
//! Someone who fails every circuit that his friends are not on could make a client pass over everybody else. So at most half of the listed relays are
//! passed over; beyond that, the one that failed longest ago is tried again. And where no path is left without them, they are taken all the same.
//! A guard that fails is passed over behind other guards. Whether it is used as a guard is for [rules of its own](super::Guards).

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a relay is passed over after it has failed; twice as long each time.
const FIRST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// Suspicion at which a relay is passed over: what one that failed has at once, and the relay before it after four.
const ENOUGH: u32 = 4;

/// Relays that could not be reached lately.
#[derive(Debug, Default)]
pub struct Absent {
    notes: HashMap<[u8; 32], Note>,
}

#[derive(Debug)]
struct Note {
    suspicion: u32,
    /// When it failed last.
    at: Instant,
    wait: Duration,
}

impl Note {
    fn is_passed_over(&self, now: Instant) -> bool {
        self.suspicion >= ENOUGH && now.saturating_duration_since(self.at) < self.wait
    }
}

impl Absent {
    /// Notes that a circuit through `path` failed at that hop, counted from 1.
    pub fn failed(&mut self, path: &[[u8; 32]], hop: usize, now: Instant) {
        let Some(place) = hop.checked_sub(1).filter(|place| *place < path.len()) else { return };
        self.suspect(path[place], ENOUGH, now);
        // A guard is not suspected for others: the client has only one or two.
        if place > 1 {
            self.suspect(path[place - 1], 1, now);
        }
    }

    fn suspect(&mut self, relay: [u8; 32], more: u32, now: Instant) {
        let note = self.notes.entry(relay).or_insert(Note { suspicion: 0, at: now, wait: FIRST / 2 });
        // Circuits that fail together count once.
        if note.is_passed_over(now) {
            return;
        }
        note.suspicion = note.suspicion.saturating_add(more);
        note.at = now;
        if note.suspicion >= ENOUGH {
            note.wait = (note.wait * 2).min(LONGEST);
        }
    }

    /// Notes that a circuit was built through these.
    pub fn reached(&mut self, path: &[[u8; 32]]) {
        for relay in path {
            self.notes.remove(relay);
        }
    }

    /// Those to pass over now, of so many relays in all.
    pub fn now(&mut self, relays: usize, now: Instant) -> Vec<[u8; 32]> {
        self.notes.retain(|_, note| now.saturating_duration_since(note.at) < 2 * LONGEST);
        let passed: Vec<_> = self.notes.iter().filter(|(_, note)| note.is_passed_over(now)).collect();
        let mut passed: Vec<_> = passed.into_iter().map(|(relay, note)| (note.at, *relay)).collect();
        passed.sort();
        let surplus = passed.len().saturating_sub(relays / 2);
        passed.into_iter().skip(surplus).map(|(_, relay)| relay).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(relays: [u8; 3]) -> [[u8; 32]; 3] {
        relays.map(|number| [number; 32])
    }

    fn passed(absent: &mut Absent, relays: usize, now: Instant) -> Vec<u8> {
        let mut all: Vec<_> = absent.now(relays, now).iter().map(|relay| relay[0]).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn who_fails_is_passed_over_for_a_while_and_longer_the_next_time() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut absent = Absent::default();
        absent.failed(&path([1, 2, 3]), 2, start);
        // Circuits that fail together count once.
        absent.failed(&path([1, 2, 3]), 2, after(1));
        assert_eq!(passed(&mut absent, 10, after(59)), [2]);
        assert_eq!(passed(&mut absent, 10, after(60)), [0; 0]);
        absent.failed(&path([1, 2, 3]), 2, after(60));
        assert_eq!(passed(&mut absent, 10, after(179)), [2]);
        absent.reached(&path([1, 2, 3]));
        assert_eq!(passed(&mut absent, 10, after(100)), [0; 0]);
    }

    #[test]
    fn who_can_not_be_gone_on_from_is_passed_over_in_the_end() {
        let now = Instant::now();
        let mut absent = Absent::default();
        for exit in 3..6 {
            absent.failed(&path([1, 2, exit]), 3, now);
        }
        assert_eq!(passed(&mut absent, 10, now), [3, 4, 5]);
        absent.failed(&path([1, 2, 6]), 3, now);
        assert_eq!(passed(&mut absent, 10, now), [2, 3, 4, 5, 6]);
        absent.reached(&path([1, 2, 4]));
        assert_eq!(passed(&mut absent, 10, now), [3, 5, 6]);
        // A guard is not suspected for what is behind it.
        (10..15).for_each(|middle| absent.failed(&path([1, middle, 9]), 2, now));
        assert!(!passed(&mut absent, 100, now).contains(&1));
        absent.failed(&path([1, 10, 9]), 1, now);
        assert!(passed(&mut absent, 100, now).contains(&1));
        let before = passed(&mut absent, 100, now);
        [0, 4].iter().for_each(|hop| absent.failed(&path([7, 7, 7]), *hop, now));
        assert_eq!(passed(&mut absent, 100, now), before, "there are three hops");
    }

    #[test]
    fn nobody_has_most_relays_passed_over() {
        let start = Instant::now();
        let mut absent = Absent::default();
        for number in 2..10_u8 {
            absent.failed(&path([1, number, 100]), 2, start + Duration::from_secs(number.into()));
        }
        assert_eq!(passed(&mut absent, 10, start + Duration::from_secs(10)), [5, 6, 7, 8, 9], "the last five of ten");
    }
}
