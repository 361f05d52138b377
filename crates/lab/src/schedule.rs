//! What a run's seed decides: which process measures which task and when, its padding, its inputs, and the orders of its rounds.
//!
//! The session measures by it, and the reader of run files checks by it: a line that somebody dropped, moved or made up does not fit.

use crate::{Orders, Random};
use serde::{Deserialize, Serialize};

/// The most padding in an environment: a page, which moves the stack across all its alignments.
const MOST_PADDING: usize = 4096;

/// The blocks of a run in the order in which they are measured: each task once, then all of them again in a new order, so that a
/// task's processes are spread over the whole run.
#[derive(Clone, Debug)]
pub struct Schedule {
    random: Random,
    plans: usize,
    /// Processes not begun yet are `next..processes`.
    next: usize,
    processes: usize,
    /// The plans that the last process begun has still to measure, the last one first.
    left: Vec<usize>,
}

/// A block that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The index of its task among those that have a plan.
    pub plan: usize,
    /// The number of the process, counted from 0.
    pub process: usize,
    /// Bytes of padding in the environment.
    pub padding: usize,
    /// The seed of [`Draws`].
    pub seed: u64,
}

impl Schedule {
    /// The schedule of a run by its seed: `probed` tasks were probed, and `plans` of them have a plan.
    pub fn new(seed: u64, probed: usize, plans: usize, processes: usize) -> Self {
        let mut random = Random::new(seed);
        probe_seeds(&mut random).take(probed).for_each(drop);
        Self { random, plans, next: 0, processes, left: Vec::new() }
    }
}

impl Iterator for Schedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        if self.left.is_empty() && self.next < self.processes {
            self.left = (0..self.plans).collect();
            self.random.shuffle(&mut self.left);
            self.left.reverse();
            self.next += 1;
        }
        let plan = self.left.pop()?;
        let padding = self.random.below(MOST_PADDING);
        Some(Due { plan, process: self.next - 1, padding, seed: self.random.bits() })
    }
}

/// The seeds of the probes, which are drawn first: one a task.
pub(crate) fn probe_seeds(random: &mut Random) -> impl Iterator<Item = u64> {
    std::iter::repeat_with(|| random.bits())
}

/// What a self-test tries, and in how many of its turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The name of the trials.
    pub name: String,
    /// The number of turns, from the first on.
    pub turns: u32,
}

/// The names of the trials of a self-test in order: one of each kind in every turn, so that a noisy hour touches all kinds alike.
pub fn turns(tried: &[Tried]) -> impl Iterator<Item = &str> {
    let mut left: Vec<&Tried> = tried.iter().collect();
    let of_turn = move |turn| {
        left.retain(|tried| turn < tried.turns);
        Some(left.clone()).filter(|left| !left.is_empty())
    };
    (0..u32::MAX).map_while(of_turn).flatten().map(|tried| tried.name.as_str())
}

/// What a process draws from the seed of its block.
#[derive(Debug)]
pub struct Draws {
    /// The seed of the inputs, the same for all subjects.
    pub inputs: u64,
    /// The order in which the subjects of the plan are made: the order of allocations differs between processes.
    pub made: Vec<usize>,
    /// The orders of the rounds.
    pub orders: Orders,
}

impl Draws {
    /// The draws of a block with this many subjects.
    pub fn new(seed: u64, subjects: usize) -> Self {
        let mut random = Random::new(seed);
        let inputs = random.bits();
        let mut made: Vec<usize> = (0..subjects).collect();
        random.shuffle(&mut made);
        Self { inputs, made, orders: Orders::new(subjects, random.bits()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_measures_every_task_once() {
        let due: Vec<Due> = Schedule::new(7, 5, 3, 4).collect();
        assert_eq!(due.len(), 12);
        for (process, round) in due.chunks(3).enumerate() {
            let mut plans: Vec<usize> = round.iter().map(|due| due.plan).collect();
            plans.sort_unstable();
            assert_eq!(plans, [0, 1, 2]);
            assert!(round.iter().all(|due| due.process == process && due.padding < 4096));
        }
        assert!(due.chunks(3).any(|round| round[0].plan != due[0].plan), "in other orders");
    }

    /// Computed by a program of its own in another language, which also derives every committed run.
    #[test]
    fn a_seed_means_the_same_schedule_in_every_version() {
        let due: Vec<_> = Schedule::new(7, 2, 2, 2).map(|due| (due.plan, due.process, due.padding, due.seed)).collect();
        assert_eq!(
            due,
            [
                (1, 0, 2507, 8346079845500723674),
                (0, 0, 2577, 8632209307422871798),
                (1, 1, 1889, 7621113624420504425),
                (0, 1, 2795, 17706551433532105516)
            ]
        );
        let draws = Draws::new(due[0].3, 3);
        assert_eq!((draws.inputs, draws.made), (13421559708072451632, vec![0, 2, 1]));
        assert_eq!(draws.orders.take(4).collect::<Vec<_>>(), [[2, 1, 0], [1, 0, 2], [0, 2, 1], [2, 1, 0]]);
    }

    #[test]
    fn a_turn_tries_everything_that_is_left_to_try() {
        let tried = [("a", 3), ("b", 1), ("c", 2)].map(|(name, turns)| Tried { name: name.into(), turns });
        assert_eq!(turns(&tried).collect::<Vec<_>>(), ["a", "b", "c", "a", "c", "a"]);
        assert_eq!(turns(&[]).count(), 0);
    }

    #[test]
    fn nothing_to_measure_makes_no_schedule() {
        assert_eq!(Schedule::new(1, 0, 0, 3).count(), 0);
        assert_eq!(Schedule::new(1, 4, 4, 0).count(), 0);
    }
}
