//! The lab measured by itself, in trials whose true result is known.
//!
//! A trial is a whole run of one comparison with the default plan. Its record contains the median of each process, from
//! which the verdict can be derived again.

use crate::plan::control_of;
use crate::runfile::{Block, Run, Trial};
use crate::stats::median;
use crate::succession;
use crate::verdict::{self, Finding, LEVEL, Shown, Verdict};
use serde::Serialize;

impl Trial {
    /// The trial of `subject` in a run of a single task. `None` if the run has no plan.
    pub fn of(run: &Run, name: &str, subject: &str, truth: Option<f64>) -> Option<Self> {
        let plan = run.tasks.iter().find_map(|task| task.plan.as_ref())?;
        let control = control_of(plan.baseline());
        // The record has no place for rounds that failed: a process with some counts as lost.
        let whole: Vec<&Block> = run.blocks.iter().filter(|block| block.failed.is_empty()).collect();
        let medians = |subject: &str| -> Vec<f64> {
            whole.iter().filter_map(|block| block.shown(subject, plan.baseline()).median).collect()
        };
        let lost = run.manifest.processes.saturating_sub(whole.len());
        let follows_itself = succession::follows_itself(&whole, lost, plan.baseline(), &control);
        let follows_itself = follows_itself.filter(|gain| gain.is_finite());
        let (control, subject) = (medians(&control), medians(subject));
        Some(Self { name: name.to_owned(), truth, control, subject, lost, follows_itself })
    }

    /// What these medians show, and the processes that were lost.
    fn finding(&self, medians: &[f64]) -> Option<Finding> {
        let shown = medians.iter().copied().map(Shown::from);
        Finding::of(&shown.chain(std::iter::repeat_n(Shown::NOTHING, self.lost)).collect::<Vec<_>>(), LEVEL)
    }

    /// The verdict that a user would have read.
    pub fn verdict(&self) -> Verdict {
        let floor = verdict::floor(self.finding(&self.control), 0.0, self.follows_itself);
        self.finding(&self.subject).map_or(Verdict::CantTell, |finding| verdict::judge(&finding, floor))
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
    /// How many processes of them died.
    pub lost: usize,
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
        count.lost += trial.lost;
        count.largest = count.largest.max(median(&trial.subject).unwrap_or(0.0).abs());
    }
    counts
}

/// The beginning of the names of trials that measure the effect of code layout.
pub const LAYOUT: &str = "layout";

/// The effect of code layout: the largest estimated difference between copies of the same kernel. `None` if there were no such trials, or they found nothing.
pub fn layout_floor(trials: &[Trial]) -> Option<f64> {
    let counts = count(trials);
    let found = counts.iter().filter(|count| count.name.starts_with(LAYOUT)).map(|count| count.largest);
    found.reduce(f64::max).filter(|largest| *largest > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(name: &str, truth: f64, subject: f64) -> Trial {
        let (control, subject) = (vec![0.0001; 9], vec![subject; 9]);
        Trial { name: name.into(), truth: Some(truth), control, subject, lost: 0, follows_itself: None }
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
    fn lost_processes_count_and_turn_no_verdict() {
        let whole = trial("less", -0.012, -0.012);
        assert_eq!(whole.verdict(), Verdict::Slower);
        let lost = Trial { control: vec![0.0001; 8], subject: vec![-0.012; 8], lost: 1, ..whole.clone() };
        assert_eq!((lost.verdict(), count(&[whole, lost.clone()])[0].lost), (Verdict::Slower, 1));
        let more = Trial { control: vec![0.0001; 4], subject: vec![-0.012; 4], lost: 5, ..lost };
        assert_eq!(more.verdict(), Verdict::CantTell);
    }

    #[test]
    fn layout_is_the_largest_difference_between_copies() {
        let trials = [trial("layout/twin", 0.0, -0.004), trial("layout/dlopen", 0.0, 0.002), trial("same", 0.0, 0.5)];
        assert_eq!(layout_floor(&trials), Some(0.004));
        assert_eq!(layout_floor(&trials[2..]), None);
    }
}
