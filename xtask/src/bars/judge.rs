//! Is a bar met? Pure functions from a wanted number and a found interval to a word.
//!
//! A ratio says how many times faster candor's baseline is than the subject; its interval comes from the run. A bar below
//! the whole interval is met, one above it is missed, and one inside it can't be told: a new, larger run would have to. Neither can one that is closer to
//! the ratio than the run's floor, the smallest difference that it can claim.

/// The condition of a bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// Candor is at least so many times faster than the subject.
    AtLeast(f64),
    /// Candor's time is at most so many times the subject's.
    TimeAtMost(f64),
    /// The two differ by no more than this fraction.
    Within(f64),
    /// The lab's own word, such as `same`.
    Verdict(String),
}

/// How strict a ratio bar is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The whole interval reaches the bar.
    Interval,
    /// The estimate is at least 0.99 of the bar and the whole interval at least 0.98 of it: for rows that tie, or stand close by a bar. A wider interval
    /// or a higher floor never meets a bar more easily.
    Near,
}

/// The numbers of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The smallest difference that the run can claim, as a fraction. Infinite if it can claim none.
    pub(crate) floor: f64,
    pub(crate) verdict: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Met,
    Missed,
    CantTell,
    /// The task exists and no run that was read has the row.
    NotMeasured,
    /// The task does not exist yet.
    NotYet,
    /// A figure that was asked for whatever it is, or a row without a verdict.
    Recorded,
}

impl Outcome {
    pub(crate) const ALL: [Self; 6] =
        [Self::Met, Self::Missed, Self::CantTell, Self::NotMeasured, Self::NotYet, Self::Recorded];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::CantTell => "can't tell",
            Self::NotMeasured => "not measured",
            Self::NotYet => "not yet",
            Self::Recorded => "recorded",
        }
    }
}

/// A row against a bar. A row that the lab gives no verdict is recorded: it does other work, or was not measured in the same rounds, and neither meets
/// a bar nor misses one.
pub(crate) fn judge(wanted: &Wanted, rule: Rule, found: &Found) -> Outcome {
    match wanted {
        _ if found.has_no_verdict() => Outcome::Recorded,
        Wanted::AtLeast(bar) => judge_ratio(*bar, rule, found),
        Wanted::TimeAtMost(times) => judge_ratio(1.0 / times, rule, found),
        Wanted::Within(margin) => judge_within(*margin, found),
        Wanted::Verdict(word) if *word == found.verdict => Outcome::Met,
        Wanted::Verdict(_) if found.verdict == Outcome::CantTell.word() => Outcome::CantTell,
        Wanted::Verdict(_) => Outcome::Missed,
    }
}

fn judge_ratio(bar: f64, rule: Rule, found: &Found) -> Outcome {
    let Found { ratio, low, high, .. } = *found;
    let sound = [bar, ratio, low, high].iter().all(|number| number.is_finite()) && low <= high;
    if !sound {
        return Outcome::CantTell;
    }
    let (estimate, interval) = match rule {
        Rule::Interval => (bar, bar),
        Rule::Near => (0.99 * bar, 0.98 * bar),
    };
    if ratio >= estimate && low >= interval {
        if found.is_told_from(interval) { Outcome::Met } else { Outcome::CantTell }
    } else if high < bar && found.is_told_from(bar) {
        Outcome::Missed
    } else {
        Outcome::CantTell
    }
}

fn judge_within(margin: f64, found: &Found) -> Outcome {
    let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
    match (found.low, found.high) {
        (low, high) if low >= least && high <= most && low <= high && found.floor <= margin => Outcome::Met,
        (low, high) if low > most && low <= high && found.is_told_from(most) => Outcome::Missed,
        (low, high) if high < least && low <= high && found.is_told_from(least) => Outcome::Missed,
        _ => Outcome::CantTell,
    }
}

impl Found {
    /// Whether the lab gave no verdict. (`can't tell` is one.)
    pub(crate) fn has_no_verdict(&self) -> bool {
        self.verdict == "none"
    }

    /// Whether the run can claim the difference between its ratio and this one.
    fn is_told_from(&self, ratio: f64) -> bool {
        (self.ratio / ratio).ln().abs() >= self.floor.ln_1p()
    }
}

/// A figure against its limits; without limits it was asked for whatever it is.
pub(crate) fn judge_figure(measured: Option<f64>, at_least: Option<f64>, at_most: Option<f64>) -> Outcome {
    let Some(value) = measured else { return Outcome::NotMeasured };
    if !value.is_finite() {
        return Outcome::CantTell;
    }
    match (at_least, at_most) {
        (None, None) => Outcome::Recorded,
        _ if at_least.is_some_and(|least| value < least) || at_most.is_some_and(|most| value > most) => Outcome::Missed,
        _ => Outcome::Met,
    }
}

impl Wanted {
    pub(crate) fn show(&self, rule: Rule) -> String {
        let near = if rule == Rule::Near { ", near" } else { "" };
        match self {
            Self::AtLeast(bar) => format!("≥ {bar}{near}"),
            Self::TimeAtMost(times) => format!("time ≤ {times}×{near}"),
            Self::Within(margin) => format!("same at ±{} %", margin * 100.0),
            Self::Verdict(word) => word.clone(),
        }
    }

    /// The found interval in the direction in which the bar speaks.
    pub(crate) fn show_found(&self, found: &Found) -> String {
        let Found { ratio, low, high, verdict, .. } = found;
        let interval = |low: f64, high: f64| match low.is_finite() && high.is_finite() {
            true => format!("[{low:.3}–{high:.3}]"),
            false => "[no interval]".to_owned(),
        };
        match self {
            Self::AtLeast(_) | Self::Within(_) => format!("{ratio:.3} {}", interval(*low, *high)),
            Self::TimeAtMost(_) => format!("{:.3} {}", 1.0 / ratio, interval(1.0 / high, 1.0 / low)),
            Self::Verdict(_) => format!("{verdict}, {ratio:.3} {}", interval(*low, *high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ratio: f64, low: f64, high: f64) -> Found {
        Found { ratio, low, high, floor: 0.005, verdict: "faster".to_owned() }
    }

    #[test]
    fn a_ratio_bar_is_met_missed_or_untold_by_its_interval() {
        let bar = Wanted::AtLeast(2.0);
        assert_eq!(judge(&bar, Rule::Interval, &found(2.1, 2.0, 2.2)), Outcome::Met);
        assert_eq!(judge(&bar, Rule::Interval, &found(2.1, 1.9, 2.2)), Outcome::CantTell);
        assert_eq!(judge(&bar, Rule::Interval, &found(1.9, 1.8, 2.0)), Outcome::CantTell);
        assert_eq!(judge(&bar, Rule::Interval, &found(1.9, 1.8, 1.99)), Outcome::Missed);
    }

    /// A ratio of 1.051 that a run found whose baseline differs from itself by 17 % says nothing of a bar at 1.
    #[test]
    fn a_bar_closer_than_the_floor_cant_be_told() {
        let with = |floor: f64, found: Found| Found { floor, ..found };
        let outcome = |rule, floor, found| judge(&Wanted::AtLeast(1.0), rule, &with(floor, found));
        for rule in [Rule::Interval, Rule::Near] {
            assert_eq!(outcome(rule, 0.17, found(1.051, 1.01, 1.078)), Outcome::CantTell);
            assert_eq!(outcome(rule, 0.02, found(1.051, 1.01, 1.078)), Outcome::Met);
            assert_eq!(outcome(rule, f64::INFINITY, found(2.0, 1.9, 2.1)), Outcome::CantTell);
            assert_eq!(outcome(rule, 0.17, found(0.95, 0.94, 0.96)), Outcome::CantTell, "nor is it missed");
            assert_eq!(outcome(rule, 0.02, found(0.95, 0.94, 0.96)), Outcome::Missed);
        }
        // What is near meets a bar at two per cent below: a tie does if the run can tell two per cent.
        assert_eq!(outcome(Rule::Near, 0.02, found(1.0, 0.99, 1.01)), Outcome::Met);
        assert_eq!(outcome(Rule::Near, 0.03, found(1.0, 0.99, 1.01)), Outcome::CantTell);
        assert_eq!(outcome(Rule::Interval, 0.005, found(1.004, 1.001, 1.007)), Outcome::CantTell);
        let same = |floor| judge(&Wanted::Within(0.01), Rule::Interval, &with(floor, found(1.0, 0.995, 1.005)));
        assert_eq!((same(0.005), same(0.02)), (Outcome::Met, Outcome::CantTell));
    }

    #[test]
    fn near_asks_for_the_estimate_and_for_an_interval_that_stays_near_the_bar() {
        let bar = Wanted::AtLeast(1.0);
        assert_eq!(judge(&bar, Rule::Near, &found(0.995, 0.98, 1.0)), Outcome::Met);
        assert_eq!(judge(&bar, Rule::Near, &found(0.995, 0.979, 1.011)), Outcome::CantTell, "too wide to decide");
        assert_eq!(judge(&bar, Rule::Near, &found(0.995, 0.99, 0.999)), Outcome::Met);
        assert_eq!(judge(&bar, Rule::Near, &found(0.985, 0.98, 0.999)), Outcome::Missed);
        assert_eq!(judge(&bar, Rule::Near, &found(0.98, 0.9, 1.1)), Outcome::CantTell);
        assert_eq!(judge(&bar, Rule::Near, &found(0.98, 0.97, 0.99)), Outcome::Missed);
    }

    #[test]
    fn a_wider_interval_never_meets_a_bar_more_easily() {
        let steps = || (0..40).map(|step| f64::from(step) / 500.0);
        for rule in [Rule::Interval, Rule::Near] {
            for ratio in (950..1050).map(|ratio| f64::from(ratio) / 1000.0) {
                let outcome =
                    |width: f64| judge(&Wanted::AtLeast(1.0), rule, &found(ratio, ratio - width, ratio + width));
                let met: Vec<bool> = steps().map(|width| outcome(width) == Outcome::Met).collect();
                assert!(met.is_sorted_by(|narrow, wide| narrow >= wide), "{rule:?} at {ratio}: {met:?}");
            }
        }
    }

    #[test]
    fn a_bar_on_our_time_is_the_reciprocal() {
        let bar = Wanted::TimeAtMost(1.25);
        assert_eq!(judge(&bar, Rule::Interval, &found(0.9, 0.8, 1.0)), Outcome::Met);
        assert_eq!(judge(&bar, Rule::Interval, &found(0.7, 0.6, 0.79)), Outcome::Missed);
        assert_eq!(judge(&bar, Rule::Interval, &found(0.8, 0.7, 0.9)), Outcome::CantTell);
        assert_eq!(bar.show_found(&found(0.8, 0.5, 1.0)), "1.250 [1.000–2.000]");
    }

    #[test]
    fn a_verdict_is_taken_at_its_word() {
        let bar = Wanted::Verdict("same".to_owned());
        let says = |word: &str| Found { verdict: word.to_owned(), ..found(1.0, 0.99, 1.01) };
        assert_eq!(judge(&bar, Rule::Interval, &says("same")), Outcome::Met);
        assert_eq!(judge(&bar, Rule::Interval, &says("can't tell")), Outcome::CantTell);
        assert_eq!(judge(&bar, Rule::Interval, &says("faster")), Outcome::Missed);
        assert_eq!(judge(&bar, Rule::Interval, &says("slower")), Outcome::Missed);
    }

    /// A library that does other work is no opponent, however slow or fast it is.
    #[test]
    fn a_row_without_a_verdict_is_recorded() {
        let none = |ratio: f64| Found { verdict: "none".to_owned(), ..found(ratio, ratio - 0.01, ratio + 0.01) };
        let bars =
            [Wanted::AtLeast(1.0), Wanted::TimeAtMost(1.0), Wanted::Within(0.02), Wanted::Verdict("same".to_owned())];
        for bar in bars {
            for ratio in [0.5, 1.0, 5.58] {
                for rule in [Rule::Interval, Rule::Near] {
                    assert_eq!(judge(&bar, rule, &none(ratio)), Outcome::Recorded, "{bar:?} at {ratio}");
                    assert_ne!(judge(&bar, rule, &found(ratio, ratio - 0.01, ratio + 0.01)), Outcome::Recorded);
                }
            }
        }
    }

    #[test]
    fn same_within_a_margin_is_judged_at_that_margin() {
        let bar = Wanted::Within(0.01);
        let verdict = |low: f64, high: f64| judge(&bar, Rule::Interval, &found((low + high) / 2.0, low, high));
        assert_eq!(verdict(0.991, 1.009), Outcome::Met);
        // The lab's own word would be `same`, which is a matter of ±2 %.
        assert_eq!(verdict(0.985, 1.001), Outcome::CantTell);
        assert_eq!(verdict(0.98, 0.985), Outcome::Missed);
        assert_eq!(verdict(1.016, 1.020), Outcome::Missed);
        assert_eq!(verdict(1.011, 1.015), Outcome::CantTell, "less beyond than the floor");
        assert_eq!(verdict(f64::NAN, f64::NAN), Outcome::CantTell);
    }

    #[test]
    fn numbers_that_are_none_are_never_met() {
        for odd in
            [found(f64::NAN, 3.0, 4.0), found(3.0, f64::NAN, 4.0), found(3.0, 4.0, 2.5), found(3.0, 3.0, f64::INFINITY)]
        {
            assert_eq!(judge(&Wanted::AtLeast(2.0), Rule::Interval, &odd), Outcome::CantTell);
        }
        assert_eq!(judge(&Wanted::TimeAtMost(0.0), Rule::Interval, &found(3.0, 2.0, 4.0)), Outcome::CantTell);
    }

    #[test]
    fn a_figure_is_held_against_both_limits() {
        assert_eq!(judge_figure(None, None, Some(6.0)), Outcome::NotMeasured);
        assert_eq!(judge_figure(Some(5.9), None, Some(6.0)), Outcome::Met);
        assert_eq!(judge_figure(Some(6.1), None, Some(6.0)), Outcome::Missed);
        assert_eq!(judge_figure(Some(0.9), Some(0.9), None), Outcome::Met);
        assert_eq!(judge_figure(Some(0.89), Some(0.9), None), Outcome::Missed);
        assert_eq!(judge_figure(Some(7.0), None, None), Outcome::Recorded);
        assert_eq!(judge_figure(Some(f64::NAN), None, Some(6.0)), Outcome::CantTell);
    }
}
