//! Verdicts: what an interval and a floor say about the baseline.

use crate::stats::{Interval, median, sign_interval};
use serde::{Deserialize, Serialize};

/// The smallest floor: no smaller difference is ever claimed, however narrow the interval.
pub const LEAST_FLOOR: f64 = 0.005;

/// Two subjects are the `same` if the interval lies within this margin.
pub const SAME_MARGIN: f64 = 0.02;

/// The error level that all comparisons of a run share.
pub const LEVEL: f64 = 0.05;

/// What the evidence says about the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The baseline takes less time than this subject.
    #[serde(rename = "faster")]
    Faster,
    /// The baseline takes more time than this subject.
    #[serde(rename = "slower")]
    Slower,
    /// The difference is smaller than ±2 %.
    #[serde(rename = "same")]
    Same,
    /// The evidence supports no verdict.
    #[serde(rename = "can't tell")]
    CantTell,
    /// This row is the baseline itself.
    #[serde(rename = "baseline")]
    Baseline,
    /// This row is the baseline's second entry, which shows the run's own error.
    #[serde(rename = "control")]
    Control,
    /// There is none: the row was not measured in the same rounds as the baseline, or does other work.
    #[serde(rename = "none")]
    None,
}

impl Verdict {
    /// The word that tables show.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::CantTell => "can't tell",
            Self::Baseline => "baseline",
            Self::Control => "control",
            Self::None => "no verdict",
        }
    }

    /// The verdict if subject and baseline change places.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            other => other,
        }
    }
}

/// What one process shows of a log-ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The median over the rounds in which the work was done. `None` if it was in none.
    pub median: Option<f64>,
    /// Where the median would lie if all rounds in which work failed had taken no time, and where if they had taken for ever.
    bounds: Interval,
    /// Whether there are no such rounds.
    is_whole: bool,
}

impl Shown {
    /// What a process that died shows: it might have been anything.
    pub const NOTHING: Self =
        Self { median: None, bounds: Interval { low: f64::NEG_INFINITY, high: f64::INFINITY }, is_whole: false };

    /// What these rounds show; those in which work failed have no log-ratio.
    pub fn by(rounds: impl Iterator<Item = Option<f64>>) -> Self {
        let rounds: Vec<Option<f64>> = rounds.collect();
        let filled = |with: f64| median(&rounds.iter().map(|ratio| ratio.unwrap_or(with)).collect::<Vec<_>>());
        let (low, high) = (filled(f64::NEG_INFINITY), filled(f64::INFINITY));
        Self {
            median: median(&rounds.iter().copied().flatten().collect::<Vec<_>>()),
            bounds: low.zip(high).map_or(Self::NOTHING.bounds, |(low, high)| Interval { low, high }),
            is_whole: !rounds.is_empty() && rounds.iter().all(Option::is_some),
        }
    }
}

impl From<f64> for Shown {
    /// A process in which no work failed.
    fn from(median: f64) -> Self {
        Self { median: Some(median), bounds: Interval { low: median, high: median }, is_whole: true }
    }
}

/// A log-ratio with its interval, from one value per process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the processes' medians.
    pub centre: f64,
    /// The exact sign-test interval. `None` if there are too few processes for the level.
    pub interval: Option<Interval>,
}

/// What all processes show together. Some may have died, and work may have failed in some rounds: each of these might have been anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The median of what was seen. Its interval contains every interval that could have come out.
    pub estimate: Estimate,
    /// What had come out if all that is unknown lay below the rest, and if it lay above. Both are `estimate` where nothing is unknown.
    extremes: [Estimate; 2],
    /// Whether nothing is unknown.
    is_whole: bool,
}

impl Finding {
    /// What these processes show together. `None` if none of them shows anything.
    pub fn of(processes: &[Shown], level: f64) -> Option<Self> {
        let estimate =
            |values: Vec<f64>| Some(Estimate { centre: median(&values)?, interval: sign_interval(&values, level) });
        let below = estimate(processes.iter().map(|process| process.bounds.low).collect())?;
        let above = estimate(processes.iter().map(|process| process.bounds.high).collect())?;
        let interval = below.interval.zip(above.interval);
        let interval = interval.map(|(below, above)| Interval { low: below.low, high: above.high });
        let interval = interval.filter(|interval| interval.low.is_finite() && interval.high.is_finite());
        let seen: Vec<f64> = processes.iter().filter_map(|process| process.median).collect();
        let is_whole = processes.iter().all(|process| process.is_whole);
        Some(Self { estimate: Estimate { centre: median(&seen)?, interval }, extremes: [below, above], is_whole })
    }
}

/// The smallest difference that a run can claim, as a log-ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// The most that it could have come to. Infinite if the control has no interval.
    pub most: f64,
    /// The least. Both are the same where nothing of the control is unknown.
    least: f64,
}

impl Floor {
    /// The floor of a row whose time contains something else than work, as a log-ratio.
    #[must_use]
    pub fn plus(self, other: f64) -> Self {
        Self { most: self.most + other, least: self.least + other }
    }
}

/// The smallest difference that this run can claim: the largest of 0.5 %, twice the difference between the baseline and itself, half the width of that
/// difference's interval, the effect of code layout, and what following itself brings the baseline.
pub fn floor(control: Option<Finding>, layout: f64, follows_itself: Option<f64>) -> Floor {
    let least = LEAST_FLOOR.max(layout);
    let Some(control) = control else { return Floor { most: f64::INFINITY, least } };
    let width = control.estimate.interval.map_or(f64::INFINITY, Interval::half_width);
    let centre = control.extremes.iter().map(|estimate| estimate.centre.abs()).fold(0.0, f64::max);
    let most = least.max(2.0 * centre).max(width).max(follows_itself.unwrap_or(0.0));
    Floor { most, least: if control.is_whole { most } else { least } }
}

/// The verdict about the baseline, given what was found of the log-ratio subject : baseline. Where something is unknown, only a verdict that every way
/// of filling it in would have given.
pub fn judge(found: &Finding, floor: Floor) -> Verdict {
    let verdict = judge_one(found.estimate, floor.most);
    let holds = found.extremes.iter().all(|extreme| judge_one(*extreme, floor.least) == verdict);
    if holds { verdict } else { Verdict::CantTell }
}

fn judge_one(estimate: Estimate, floor: f64) -> Verdict {
    estimate.interval.map_or(Verdict::CantTell, |interval| judge_interval(interval, floor))
}

/// The verdict that an interval of log-ratios supports.
pub(crate) fn judge_interval(interval: Interval, floor: f64) -> Verdict {
    let margin = SAME_MARGIN.ln_1p();
    if interval.low > floor {
        Verdict::Faster
    } else if interval.high < -floor {
        Verdict::Slower
    } else if interval.low >= -margin && interval.high <= margin && floor <= margin {
        Verdict::Same
    } else {
        Verdict::CantTell
    }
}

/// What would settle a `can't tell`.
pub fn advice(found: &Finding, floor: Floor, processes: usize, fewest: usize) -> String {
    let floor = floor.most;
    if processes < fewest {
        return format!("measured {processes} processes, a verdict needs at least {fewest}: run it again to the end");
    }
    let unknown = found.estimate.interval.is_none() || judge_one(found.estimate, floor) != Verdict::CantTell;
    let Some(interval) = found.estimate.interval.filter(|_| !unknown && floor.is_finite()) else {
        return "what died or failed might have shown another result: find out why, and run it again".into();
    };
    let margin = SAME_MARGIN.ln_1p();
    if floor > margin {
        return format!(
            "the baseline differs from itself by up to {:.1} %: quiet the machine or use a larger --budget",
            floor.exp_m1() * 100.0
        );
    }
    // The half-width with which the interval would clear the floor or fit into the margin.
    let centre = found.estimate.centre.abs();
    let room = (centre - floor).max(margin - centre);
    if room <= interval.half_width() * 0.1 {
        return "the difference is close to what this run can resolve: quiet the machine and measure again".into();
    }
    let times = (interval.half_width() / room).powi(2).clamp(1.5, 100.0);
    format!("about {times:.0} times the --budget or a quieter machine would settle it", times = times.ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(low: f64, high: f64) -> Finding {
        let estimate = Estimate { centre: (low + high) / 2.0, interval: Some(Interval { low, high }) };
        Finding { estimate, extremes: [estimate; 2], is_whole: true }
    }

    fn exactly(floor: f64) -> Floor {
        Floor { most: floor, least: floor }
    }

    fn judged(low: f64, high: f64, floor: f64) -> Verdict {
        judge(&at(low, high), exactly(floor))
    }

    #[test]
    fn the_verdict_follows_the_order_of_the_method() {
        assert_eq!(judged(0.006, 0.008, 0.005), Verdict::Faster);
        assert_eq!(judged(-0.008, -0.006, 0.005), Verdict::Slower);
        assert_eq!(judged(-0.004, 0.006, 0.005), Verdict::Same);
        assert_eq!(judged(0.004, 0.03, 0.005), Verdict::CantTell);
        let few = Finding::of(&[0.5; 3].map(Shown::from), LEVEL).unwrap();
        assert_eq!((few.estimate.interval, judge(&few, exactly(0.005))), (None, Verdict::CantTell));
    }

    #[test]
    fn a_floor_above_the_margin_leaves_no_same() {
        assert_eq!(judged(-0.001, 0.001, 0.03), Verdict::CantTell);
        assert_eq!(judged(0.10, 0.12, 0.03), Verdict::Faster);
    }

    #[test]
    fn the_floor_is_the_largest_of_its_parts() {
        assert_eq!(floor(Some(at(-0.001, 0.001)), 0.0, None), exactly(LEAST_FLOOR));
        assert_eq!(floor(Some(at(0.010, 0.012)), 0.0, None), exactly(0.022));
        assert_eq!(floor(Some(at(-0.02, 0.02)), 0.0, None), exactly(0.02));
        assert_eq!(floor(Some(at(-0.001, 0.001)), 0.009, None), exactly(0.009));
        assert_eq!(floor(Some(at(-0.001, 0.001)), 0.0, Some(0.009)), exactly(0.009));
        assert_eq!(floor(None, 0.0, None).most, f64::INFINITY);
    }

    #[test]
    fn what_failed_of_the_control_makes_the_floor_no_smaller() {
        let found = |rounds: [Option<f64>; 5]| {
            let finding = Finding::of(&[Shown::by(rounds.into_iter()); 9], LEVEL).unwrap();
            (finding.estimate.centre, floor(Some(finding), 0.0, None))
        };
        let (zero, one) = (Some(0.0), Some(0.01));
        assert_eq!(found([zero, zero, one, one, one]), (0.01, exactly(0.02)));
        // Without the rounds in which it took longer, its median is that of the baseline.
        assert_eq!(found([zero, zero, one, None, None]), (0.0, Floor { most: 0.02, least: LEAST_FLOOR }));
        assert_eq!(found([zero, None, None, None, one]).1.most, f64::INFINITY);
    }

    /// Processes that show 1, 2, … 20, and some that died.
    fn numbered(lost: usize) -> Option<Finding> {
        let shown = (1..=20).map(|n| Shown::from(f64::from(n)));
        Finding::of(&shown.chain(std::iter::repeat_n(Shown::NOTHING, lost)).collect::<Vec<_>>(), 0.05)
    }

    #[test]
    fn a_lost_process_may_have_been_anything() {
        let interval = |lost| numbered(lost).unwrap().estimate.interval;
        // Of 20 the sixth and the fifteenth; of 21 and 22 the same ranks from either end, where one or two stand that nobody saw.
        assert_eq!(interval(0), Some(Interval { low: 6.0, high: 15.0 }));
        assert_eq!(interval(1), Some(Interval { low: 5.0, high: 16.0 }));
        assert_eq!(interval(2), Some(Interval { low: 4.0, high: 17.0 }));
        assert_eq!(interval(30), None, "more than the interval cuts off");
        assert_eq!(Finding::of(&[Shown::NOTHING; 3], 0.05), None);
    }

    #[test]
    fn a_failed_round_may_have_taken_any_time() {
        let shown = |rounds: &[Option<f64>]| Shown::by(rounds.iter().copied());
        let worked = [1.0, 2.0, 3.0, 4.0, 5.0].map(Some);
        assert_eq!(shown(&worked), Shown::from(3.0));
        let failed = shown(&[&worked[..], &[None, None]].concat());
        assert_eq!((failed.median, failed.bounds), (Some(3.0), Interval { low: 2.0, high: 4.0 }));
        // Of those that failed half of the time nobody knows anything.
        assert_eq!(shown(&[Some(1.0), None, None]), Shown { median: Some(1.0), ..Shown::NOTHING });
        assert_eq!((shown(&[None]), shown(&[])), (Shown::NOTHING, Shown::NOTHING));
    }

    /// Whatever processes and rounds somebody leaves out: the verdict is that of the whole or none.
    #[test]
    fn what_is_left_out_turns_no_verdict() {
        let mut random = crate::Random::new(1);
        let mut counts = [0; 2];
        for _ in 0..2000 {
            let (control, subject) = ((random.unit() - 0.5) * 0.01, (random.unit() - 0.5) * 0.06);
            let mut rounds = |centre: f64| -> Vec<Vec<Option<f64>>> {
                let mut round = || Some(centre + (random.unit() - 0.5) * 0.02);
                (0..12).map(|_| (0..9).map(|_| round()).collect()).collect()
            };
            let [control, subject] = [rounds(control), rounds(subject)];
            let verdict = |[control, subject]: [&Vec<Vec<Option<f64>>>; 2]| {
                let of = |processes: &Vec<Vec<Option<f64>>>| {
                    let shown = processes.iter().map(|rounds| Shown::by(rounds.iter().copied()));
                    Finding::of(&shown.collect::<Vec<_>>(), LEVEL)
                };
                of(subject).map_or(Verdict::CantTell, |found| judge(&found, floor(of(control), 0.0, None)))
            };
            let whole = verdict([&control, &subject]);
            let (mut less_control, mut less_subject) = (control.clone(), subject.clone());
            // The greedy forger leaves out what lies highest, or lowest; a lost process is one without rounds.
            let highest = random.below(2) == 0;
            for processes in [&mut less_control, &mut less_subject] {
                for ratio in processes.iter_mut().take(random.below(12)).flatten() {
                    if ratio.is_some_and(|ratio| (ratio > 0.0) == highest) && random.below(4) > 0 {
                        *ratio = None;
                    }
                }
                if random.below(2) == 0 {
                    processes[random.below(12)].fill(None);
                }
            }
            let less = verdict([&less_control, &less_subject]);
            assert!(less == whole || less == Verdict::CantTell, "{whole:?} became {less:?}");
            counts[usize::from(less == whole && whole != Verdict::CantTell)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 100), "both happen: {counts:?}");
    }

    #[test]
    fn a_lost_process_makes_no_same_of_slower() {
        // Of nine the interval is the second and the eighth: −1.2 to −0.6 %, beyond the floor.
        let medians = [-0.013, -0.012, -0.012, -0.011, -0.010, -0.009, -0.008, -0.006, 0.0];
        let control = Finding::of(&[0.0; 9].map(Shown::from), LEVEL);
        let verdict = |shown: &[Shown]| judge(&Finding::of(shown, LEVEL).unwrap(), floor(control, 0.0, None));
        let mut shown = medians.map(Shown::from);
        assert_eq!(verdict(&shown), Verdict::Slower);
        shown[1] = Shown::NOTHING;
        let found = Finding::of(&shown, LEVEL).unwrap();
        let interval = found.estimate.interval.unwrap();
        assert!(interval.low > -0.02 && interval.high < 0.02, "it would lie within the margin of `same`");
        assert_eq!(verdict(&shown), Verdict::CantTell);
        assert!(advice(&found, floor(control, 0.0, None), 8, 6).contains("might have shown another result"));
    }

    #[test]
    fn changing_places_mirrors_the_verdict() {
        for (low, high) in [(0.006, 0.009), (-0.3, -0.2), (-0.01, 0.01), (0.0, 0.1)] {
            assert_eq!(judged(low, high, 0.005).mirrored(), judged(-high, -low, 0.005));
        }
    }
}
