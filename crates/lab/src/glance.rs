//! A task in a fraction of a second.
//!
//! A glance uses the lab's rounds, but one process: memory layout is drawn once, so it has no interval, gets no verdict, and nothing is
//! sealed. It serves to look at many tasks in little time and to see where a run would be worth it.

use crate::stats::median;
use crate::worker::{Ready, expel_the_wrong, make, rough_ns};
use crate::{Orders, Task, clock};
use std::time::Duration;

/// How long an epoch of the fastest subject lasts, about: long against the clock's steps.
const EPOCH_NS: f64 = 100_000.0;
/// A subject that takes so many times as long as the fastest is not looked at any longer.
const FAR_BEHIND: f64 = 2.0;
/// Rounds where time is short.
const FEWEST_ROUNDS: f64 = 5.0;

/// A subject's time in units of the first one's.
#[derive(Clone, Debug, PartialEq)]
pub struct Glance {
    /// The subject's name.
    pub subject: String,
    /// The median over the rounds of its time divided by the first subject's in the same round.
    pub ratio: f64,
}

/// Looks at the subjects of a task, the first one first. Subjects that are refused or wrong are left out, and so are those that take more than
/// twice as long as the fastest. Without its first subject there is nothing to compare with, and the list is empty.
pub fn glance(task: &Task, seed: u64, budget: Duration) -> Vec<Glance> {
    let Some(first) = task.entries.first() else { return Vec::new() };
    let made = task.entries.iter().filter_map(|entry| make(&entry.subject, || entry.make(), seed).ok());
    let mut ready: Vec<Ready> = made.collect();
    expel_the_wrong(&mut ready, false, &mut |_| ());
    if ready.first().is_none_or(|ready| ready.name != first.subject) {
        return Vec::new();
    }
    let mut rough: Vec<f64> = ready.iter_mut().map(|ready| rough_ns(ready.subject.as_mut())).collect();
    let fastest = rough.iter().copied().fold(f64::INFINITY, f64::min);
    let mut at = 0..ready.len();
    let stays: Vec<bool> = rough.iter().map(|ns| at.next() == Some(0) || *ns <= FAR_BEHIND * fastest).collect();
    let mut stay = stays.iter();
    ready.retain(|_| *stay.next().expect("one for each"));
    let mut stay = stays.iter();
    rough.retain(|_| *stay.next().expect("one for each"));

    let iterations = (EPOCH_NS / fastest).ceil().max(1.0);
    let round_ns = iterations * rough.iter().sum::<f64>();
    let rounds = (budget.as_nanos() as f64 / round_ns).max(FEWEST_ROUNDS);
    let mut ratios = vec![Vec::new(); ready.len()];
    for order in Orders::new(ready.len(), seed).take(rounds as usize) {
        let mut times = vec![0.0; ready.len()];
        for i in order {
            times[i] = clock::epoch(ready[i].subject.as_mut(), iterations as u64).max(1) as f64;
        }
        for (ratios, time) in ratios.iter_mut().zip(&times) {
            ratios.push(time / times[0]);
        }
    }
    let glance = |(ready, ratios): (Ready, Vec<f64>)| Some(Glance { subject: ready.name, ratio: median(&ratios)? });
    ready.into_iter().zip(ratios).filter_map(glance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};

    /// Answers what it is told, and works as long as it is told.
    struct Worker {
        answer: u8,
        steps: u64,
    }

    impl Subject for Worker {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(Witness::bytes([self.answer]))
        }
        fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
            Witness::bytes([self.answer]).same_as(other)
        }
        fn run(&mut self, iterations: u64) {
            for _ in 0..iterations * self.steps {
                std::hint::black_box(self.answer);
            }
        }
        fn provenance(&self) -> Provenance {
            Provenance::default()
        }
    }

    fn task(subjects: &[(&str, u8, u64)]) -> Task {
        let mut task = Task::new("test", "a test");
        for &(name, answer, steps) in subjects {
            task.entries.push(Entry::new(name, move || Ok(Worker { answer, steps })));
        }
        task
    }

    fn names(subjects: &[(&str, u8, u64)]) -> Vec<String> {
        glance(&task(subjects), 1, Duration::from_millis(1)).into_iter().map(|glance| glance.subject).collect()
    }

    #[test]
    fn the_first_subject_is_the_unit_even_if_it_is_far_behind() {
        let seen = glance(&task(&[("slow", 1, 100_000), ("fast", 1, 1_000)]), 1, Duration::from_millis(1));
        assert_eq!(seen[0], Glance { subject: "slow".into(), ratio: 1.0 });
        assert_eq!(seen[1].subject, "fast");
        // A hundredth of the work takes less time, on any machine.
        assert!(seen[1].ratio < 1.0);
    }

    #[test]
    fn a_subject_far_behind_is_left_out() {
        assert_eq!(names(&[("fast", 1, 1_000), ("slow", 1, 100_000)]), ["fast"]);
    }

    #[test]
    fn who_answers_otherwise_gets_no_time() {
        let seen = names(&[("a", 1, 1_000), ("b", 1, 1_000), ("wrong", 2, 1_000)]);
        assert!(!seen.is_empty() && !seen.contains(&"wrong".to_owned()));
        let mut refused = task(&[("a", 1, 1_000)]);
        refused.entries.insert(0, Entry::refused("first", Refusal::new("is not here")));
        assert!(glance(&refused, 1, Duration::from_millis(1)).is_empty());
    }
}
