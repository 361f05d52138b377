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

/// An estimate of a log-ratio with its interval, from one value per process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the processes' medians.
    pub centre: f64,
    /// The exact sign-test interval. `None` if there are too few processes for the level.
    pub interval: Option<Interval>,
}

/// The estimate from each process's median paired log-ratio; `None` without processes. `lost` processes gave none. Each might have been anything: the
/// interval is wide enough for all of them below the others and for all above.
pub fn estimate(process_medians: &[f64], lost: usize, level: f64) -> Option<Estimate> {
    let with = |value: f64| {
        let all: Vec<f64> = process_medians.iter().copied().chain(std::iter::repeat_n(value, lost)).collect();
        sign_interval(&all, level)
    };
    let interval = with(f64::NEG_INFINITY).zip(with(f64::INFINITY));
    let interval = interval.map(|(below, above)| Interval { low: below.low, high: above.high });
    let interval = interval.filter(|interval| interval.low.is_finite() && interval.high.is_finite());
    Some(Estimate { centre: median(process_medians)?, interval })
}

/// The smallest difference that this run can claim, as a log-ratio: the largest of 0.5 %, twice the difference between the
/// baseline and itself, half the width of that difference's interval, and the effect of code layout. Infinite if the control
/// has no interval.
pub fn floor(control: Option<Estimate>, layout: f64) -> f64 {
    match control {
        Some(Estimate { centre, interval: Some(interval) }) => {
            LEAST_FLOOR.max(2.0 * centre.abs()).max(interval.half_width()).max(layout)
        }
        _ => f64::INFINITY,
    }
}

/// The verdict about the baseline, given the log-ratio subject : baseline.
pub fn judge(estimate: Estimate, floor: f64) -> Verdict {
    let Some(interval) = estimate.interval else { return Verdict::CantTell };
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
pub fn advice(estimate: Estimate, floor: f64, processes: usize, fewest: usize) -> String {
    let Some(interval) = estimate.interval else {
        return format!("measured {processes} processes, a verdict needs at least {fewest}: run it again to the end");
    };
    let margin = SAME_MARGIN.ln_1p();
    if floor > margin {
        return format!(
            "the baseline differs from itself by up to {:.1} %: quiet the machine or use a larger --budget",
            floor.exp_m1() * 100.0
        );
    }
    // The half-width with which the interval would clear the floor or fit into the margin.
    let centre = estimate.centre.abs();
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

    fn at(low: f64, high: f64) -> Estimate {
        Estimate { centre: (low + high) / 2.0, interval: Some(Interval { low, high }) }
    }

    #[test]
    fn the_verdict_follows_the_order_of_the_method() {
        assert_eq!(judge(at(0.006, 0.008), 0.005), Verdict::Faster);
        assert_eq!(judge(at(-0.008, -0.006), 0.005), Verdict::Slower);
        assert_eq!(judge(at(-0.004, 0.006), 0.005), Verdict::Same);
        assert_eq!(judge(at(0.004, 0.03), 0.005), Verdict::CantTell);
        assert_eq!(judge(Estimate { centre: 0.5, interval: None }, 0.005), Verdict::CantTell);
    }

    #[test]
    fn a_floor_above_the_margin_leaves_no_same() {
        assert_eq!(judge(at(-0.001, 0.001), 0.03), Verdict::CantTell);
        assert_eq!(judge(at(0.10, 0.12), 0.03), Verdict::Faster);
    }

    #[test]
    fn the_floor_is_the_largest_of_its_parts() {
        assert_eq!(floor(Some(at(-0.001, 0.001)), 0.0), LEAST_FLOOR);
        assert_eq!(floor(Some(at(0.010, 0.012)), 0.0), 0.022);
        assert_eq!(floor(Some(at(-0.02, 0.02)), 0.0), 0.02);
        assert_eq!(floor(Some(at(-0.001, 0.001)), 0.009), 0.009);
        assert_eq!(floor(None, 0.0), f64::INFINITY);
    }

    #[test]
    fn a_lost_process_may_have_been_anything() {
        let medians: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = |lost| estimate(&medians, lost, 0.05).unwrap().interval;
        // Of 20 the sixth and the fifteenth; of 21 and 22 the same ranks from either end, where one or two stand that nobody saw.
        assert_eq!(interval(0), Some(Interval { low: 6.0, high: 15.0 }));
        assert_eq!(interval(1), Some(Interval { low: 5.0, high: 16.0 }));
        assert_eq!(interval(2), Some(Interval { low: 4.0, high: 17.0 }));
        assert_eq!(interval(30), None, "more than the interval cuts off");
        assert_eq!(estimate(&[], 3, 0.05), None);
    }

    #[test]
    fn changing_places_mirrors_the_verdict() {
        for (low, high) in [(0.006, 0.009), (-0.3, -0.2), (-0.01, 0.01), (0.0, 0.1)] {
            assert_eq!(judge(at(low, high), 0.005).mirrored(), judge(at(-high, -low), 0.005));
        }
    }
}
