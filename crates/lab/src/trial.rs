//! The lab measured by itself, in trials whose true result is known.
//!
//! A trial is a whole run of one comparison with the default plan. Its record contains the median of each process, from
//! which the verdict can be derived again.

use crate::plan::control_of;
use crate::runfile::{Run, Trial};
use crate::succession;
use crate::verdict::{self, LEVEL, Verdict};
use serde::Serialize;

impl Trial {
    /// The trial of `subject` in a run of a single task. `None` if the run has no plan.
    pub fn of(run: &Run, name: &str, subject: &str, truth: Option<f64>) -> Option<Self> {
        let plan = run.tasks.iter().find_map(|task| task.plan.as_ref())?;
        let control = control_of(plan.baseline());
        let medians =
            |subject: &str| run.blocks.iter().filter_map(|block| block.paired(subject, plan.baseline())).collect();
        let follows_itself =
            succession::follows_itself(&run.blocks.iter().collect::<Vec<_>>(), plan.baseline(), &control);
        let (control, subject) = (medians(&control), medians(subject));
        Some(Self { name: name.to_owned(), truth, control, subject, follows_itself })
    }

    /// The verdict that a user would have read.
    pub fn verdict(&self) -> Verdict {
        let floor = verdict::floor(verdict::estimate(&self.control, 0, LEVEL), self.follows_itself.unwrap_or(0.0));
        verdict::estimate(&self.subject, 0, LEVEL).map_or(Verdict::CantTell, |estimate| verdict::judge(estimate, floor))
    }
}

/// Trials of one name, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Count {
    /// What was tried.
    pub name: String,
    /// The true ratio, if known.
    pub truth: Option<f64>,
    /// The number of trials.
    pub trials: usize,
    /// How many read `faster`.
    pub faster: usize,
    /// How many read `slower`.
    pub slower: usize,
    /// How many read `same`.
    pub same: usize,
    /// How many read `can't tell`.
    pub cant_tell: usize,
    /// The largest absolute log-ratio that was estimated.
    pub largest: f64,
}

impl Count {
    /// How many verdicts contradict the truth: they claim a difference that does not exist, or the opposite one.
    pub fn false_claims(&self) -> usize {
        match self.truth {
            None => 0,
            Some(1.0) => self.faster + self.slower,
            Some(ratio) if ratio > 1.0 => self.slower,
            Some(_) => self.faster,
        }
    }
}

/// Counts trials by name, in the order in which names first appear.
pub fn count(trials: &[Trial]) -> Vec<Count> {
    let mut counts: Vec<Count> = Vec::new();
    for trial in trials {
        let known = counts.iter().position(|count| count.name == trial.name);
        let at = known.unwrap_or_else(|| {
            let truth = trial.truth.map(f64::exp);
            counts.push(Count { name: trial.name.clone(), truth, ..Count::default() });
            counts.len() - 1
        });
        let count = &mut counts[at];
        count.trials += 1;
        match trial.verdict() {
            Verdict::Faster => count.faster += 1,
            Verdict::Slower => count.slower += 1,
            Verdict::Same => count.same += 1,
            _ => count.cant_tell += 1,
        }
        let estimate = verdict::estimate(&trial.subject, 0, LEVEL).map_or(0.0, |estimate| estimate.centre);
        count.largest = count.largest.max(estimate.abs());
    }
    counts
}

/// The beginning of the names of trials that measure the effect of code layout.
pub const LAYOUT: &str = "layout";

/// The effect of code layout: the largest estimated difference between copies of the same kernel.
pub fn layout_floor(trials: &[Trial]) -> Option<f64> {
    count(trials).iter().filter(|count| count.name.starts_with(LAYOUT)).map(|count| count.largest).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(name: &str, truth: f64, subject: f64) -> Trial {
        let (control, subject) = (vec![0.0001; 9], vec![subject; 9]);
        Trial { name: name.into(), truth: Some(truth), control, subject, follows_itself: None }
    }

    #[test]
    fn a_claim_where_there_is_no_difference_is_a_false_one() {
        let counts = count(&[trial("same", 0.0, 0.001), trial("same", 0.0, 0.02), trial("more", 0.015, 0.015)]);
        assert_eq!((counts[0].same, counts[0].faster, counts[0].false_claims()), (1, 1, 1));
        assert_eq!((counts[1].faster, counts[1].false_claims()), (1, 0));
    }

    #[test]
    fn the_opposite_of_the_truth_is_a_false_claim_too() {
        assert_eq!(count(&[trial("more", 0.015, -0.015)])[0].false_claims(), 1);
    }

    #[test]
    fn what_following_itself_brings_is_part_of_a_trials_floor() {
        let found = trial("more", 0.015, 0.015);
        assert_eq!(found.verdict(), Verdict::Faster);
        assert_eq!(Trial { follows_itself: Some(0.016), ..found }.verdict(), Verdict::Same);
    }

    #[test]
    fn layout_is_the_largest_difference_between_copies() {
        let trials = [trial("layout/twin", 0.0, -0.004), trial("layout/dlopen", 0.0, 0.002), trial("same", 0.0, 0.5)];
        assert_eq!(layout_floor(&trials), Some(0.004));
        assert_eq!(layout_floor(&trials[2..]), None);
    }
}
