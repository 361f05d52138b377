//! The lab measured by itself: trials whose truth is known.
//!
//! A trial is a whole run of one comparison, with the default plan. Its record keeps the median of each process, so that
//! the verdict can be derived again from the file.

use crate::plan::control_of;
use crate::runfile::{Run, Trial};
use crate::verdict::{self, LEVEL, Verdict};
use serde::Serialize;

impl Trial {
    /// Takes a trial out of a run of a task with a single subject beside the baseline, or the subject of that name.
    pub fn of(run: &Run, name: &str, subject: &str, truth: Option<f64>) -> Option<Self> {
        let plan = run.tasks.iter().find_map(|task| task.plan.as_ref())?;
        let control = control_of(plan.baseline());
        let medians =
            |subject: &str| run.blocks.iter().filter_map(|block| block.paired(subject, plan.baseline())).collect();
        Some(Self { name: name.to_owned(), truth, control: medians(&control), subject: medians(subject) })
    }

    /// What a user would have read.
    pub fn verdict(&self) -> Verdict {
        let floor = verdict::floor(verdict::estimate(&self.control, LEVEL), 0.0);
        verdict::estimate(&self.subject, LEVEL).map_or(Verdict::CantTell, |estimate| verdict::judge(estimate, floor))
    }
}

/// Trials of one name, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Count {
    /// What was tried.
    pub name: String,
    /// The true ratio, where it is known.
    pub truth: Option<f64>,
    /// How many trials.
    pub trials: usize,
    /// Verdicts.
    pub faster: usize,
    /// Verdicts.
    pub slower: usize,
    /// Verdicts.
    pub same: usize,
    /// Verdicts.
    pub cant_tell: usize,
    /// The largest |log-ratio| that was estimated.
    pub largest: f64,
}

impl Count {
    /// Verdicts that contradict the truth: a difference claimed where there is none, or the wrong way round.
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
        let estimate = verdict::estimate(&trial.subject, LEVEL).map_or(0.0, |estimate| estimate.centre);
        count.largest = count.largest.max(estimate.abs());
    }
    counts
}

/// Trials whose name begins so measure what code layout can do.
pub const LAYOUT: &str = "layout";

/// What code layout was seen to do: the largest estimated difference between copies of the same kernel.
pub fn layout_floor(trials: &[Trial]) -> Option<f64> {
    count(trials).iter().filter(|count| count.name.starts_with(LAYOUT)).map(|count| count.largest).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(name: &str, truth: f64, subject: f64) -> Trial {
        Trial { name: name.into(), truth: Some(truth), control: vec![0.0001; 9], subject: vec![subject; 9] }
    }

    #[test]
    fn a_claim_where_there_is_no_difference_is_a_false_one() {
        let counts = count(&[trial("same", 0.0, 0.001), trial("same", 0.0, 0.02), trial("more", 0.015, 0.015)]);
        assert_eq!((counts[0].same, counts[0].faster, counts[0].false_claims()), (1, 1, 1));
        assert_eq!((counts[1].faster, counts[1].false_claims()), (1, 0));
    }

    #[test]
    fn the_wrong_way_round_is_a_false_claim_too() {
        assert_eq!(count(&[trial("more", 0.015, -0.015)])[0].false_claims(), 1);
    }

    #[test]
    fn layout_is_the_largest_difference_between_copies() {
        let trials = [trial("layout/twin", 0.0, -0.004), trial("layout/dlopen", 0.0, 0.002), trial("same", 0.0, 0.5)];
        assert_eq!(layout_floor(&trials), Some(0.004));
        assert_eq!(layout_floor(&trials[2..]), None);
    }
}
