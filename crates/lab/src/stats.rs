//! Statistics, as pure functions.
//!
//! Verdicts rest on order statistics alone. A median does not depend on the length of the tail, and the sign-test interval is exact for
//! independent values of any distribution: it needs neither normality nor symmetry nor a bootstrap. Mean and standard deviation are here for
//! readers who look for them, and nothing is decided by them.

use serde::{Deserialize, Serialize};

/// A closed interval: of log-ratios in the statistics, of ratios in reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half the width.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Applies a monotone function to both ends.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { low: f(self.low), high: f(self.high) }
    }

    /// Whether it contains `value`.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The quantile `q` (from 0 to 1) of `values`, interpolated linearly. `None` without values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    // Also right where one of the two is infinite, or both.
    Some(if below == above { below } else { below * (1.0 - at.fract()) + above * at.fract() })
}

/// The median. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The arithmetic mean. `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// The standard deviation of a sample, with n − 1 in the denominator. `None` with fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// How many values a quantile needs to be meaningful: ten beyond it on the shorter side.
pub fn needed_for_quantile(q: f64) -> usize {
    // The small term keeps 1 − 0.99 from needing 1001.
    (10.0 / q.min(1.0 - q) - 1e-6).ceil() as usize
}

/// The exact two-sided sign-test interval of the median at error level `level`: the tightest pair of order statistics that
/// misses the median with probability at most `level`. `None` if there are too few values.
pub fn sign_interval(values: &[f64], level: f64) -> Option<Interval> {
    let depth = sign_depth(values.len(), level)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(Interval { low: sorted[depth], high: sorted[sorted.len() - 1 - depth] })
}

/// How many values to cut off at each end: the largest d with 2·P(Bin(n, ½) ≤ d) ≤ level.
fn sign_depth(n: usize, level: f64) -> Option<usize> {
    // Of P(Bin = 0) and the next terms the logarithms, since 2⁻¹⁰⁷⁵ is smaller than any number of type `f64`.
    let mut probability = -std::f64::consts::LN_2 * n as f64;
    let mut below = 0.0;
    let mut depth = None;
    for k in 0..n {
        below += probability.exp();
        if 2.0 * below > level {
            break;
        }
        depth = Some(k);
        probability += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    depth
}

/// The fewest processes for which the sign-test interval at level 0.05/K exists: ⌈log₂(40·K)⌉ for K comparisons.
pub fn fewest_processes(comparisons: usize) -> usize {
    (40.0 * comparisons.max(1) as f64).log2().ceil() as usize
}

/// The fewest processes for which that interval still ends somewhere when so many of them are lost, each of which might have shown anything.
pub fn fewest_processes_losing(lost: usize, comparisons: usize) -> usize {
    let level = 0.05 / comparisons.max(1) as f64;
    let enough = |n: &usize| sign_depth(*n, level).is_some_and(|depth| depth >= lost);
    (fewest_processes(comparisons) + lost..).find(enough).expect("the depth grows with the number of values")
}

/// The error level of [`clopper_pearson`].
const RATE_LEVEL: f64 = 0.05;

/// Half of that level lies beyond so many standard deviations of a normal distribution.
const RATE_DEVIATIONS: f64 = 1.959_963_984_540_054;

/// From so many successes and as many failures on, the interval of a rate is computed from the moments of its distribution.
const MANY: u64 = 1000;

/// The Clopper–Pearson interval of a success rate at 95 %: exact up to a thousandth of its half-width.
pub fn clopper_pearson(successes: u64, trials: u64) -> Interval {
    let successes = successes.min(trials);
    Interval { low: rate_above(successes, trials), high: 1.0 - rate_above(trials - successes, trials) }
}

/// The rate at which so many successes or more have half of the error level as probability: a quantile of Beta(k, n − k + 1).
fn rate_above(successes: u64, trials: u64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    if successes.min(trials - successes) >= MANY {
        // The expansion of Cornish and Fisher with mean, deviation and skewness. Sums of terms would be as long as the root of the number of trials.
        let (a, b) = (successes as f64, (trials - successes + 1) as f64);
        let n = a + b;
        let deviation = (a * b / (n + 1.0)).sqrt() / n;
        let skewness = 2.0 * (b - a) * (n + 1.0).sqrt() / ((n + 2.0) * (a * b).sqrt());
        let z = -RATE_DEVIATIONS;
        return a / n + deviation * (z + skewness * (z * z - 1.0) / 6.0);
    }
    // The tail grows with the rate, so bisect.
    let (mut below, mut above) = (0.0f64, 1.0f64);
    for _ in 0..100 {
        let middle = (below + above) / 2.0;
        let tail = 1.0 - binomial_cdf(successes - 1, trials, middle);
        if tail < RATE_LEVEL / 2.0 { below = middle } else { above = middle }
    }
    (below + above) / 2.0
}

/// P(Bin(n, p) ≤ k). Terms are added from k away from the mean until they no longer count.
fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if p <= 0.0 || k >= n {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let odds = p / (1.0 - p);
    let term = |i: u64| {
        let ways = ln_factorial(n) - ln_factorial(i) - ln_factorial(n - i);
        (ways + i as f64 * p.ln() + (n - i) as f64 * (-p).ln_1p()).exp()
    };
    let tail = |terms: &mut dyn Iterator<Item = f64>| {
        let mut sum = 0.0;
        for term in terms {
            sum += term;
            if term <= sum * 1e-17 {
                break;
            }
        }
        sum
    };
    if (k as f64) < n as f64 * p {
        let below = |&(i, last): &(u64, f64)| (i > 0).then(|| (i - 1, last * i as f64 / (n - i + 1) as f64 / odds));
        tail(&mut std::iter::successors(Some((k, term(k))), below).map(|(_, term)| term)).min(1.0)
    } else {
        let above = |&(i, last): &(u64, f64)| (i < n).then(|| (i + 1, last * (n - i) as f64 / (i + 1) as f64 * odds));
        let above = tail(&mut std::iter::successors(Some((k + 1, term(k + 1))), above).map(|(_, term)| term));
        (1.0 - above).max(0.0)
    }
}

/// ln n!, by Stirling's series where that has all digits.
fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let n = n as f64;
    let series = 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3)) + 1.0 / (1260.0 * n.powi(5));
    n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST's Statistical Reference Datasets: Lottery (certified mean 518.958715596330, standard deviation 291.699727470969) is too long to
    /// stand here; NumAcc4 is one number, a thousand pairs about it and a deviation of exactly 0.1, made to find sums of squares that cancel.
    #[test]
    fn mean_and_deviation_of_numacc4_are_the_certified_ones() {
        let values: Vec<f64> = std::iter::once(10_000_000.2)
            .chain((0..1000).map(|at| if at % 2 == 0 { 10_000_000.1 } else { 10_000_000.3 }))
            .collect();
        assert!((mean(&values).unwrap() - 10_000_000.2).abs() < 1e-7);
        assert!((deviation(&values).unwrap() - 0.1).abs() < 1e-8);
        assert_eq!((mean(&[]), deviation(&[]), deviation(&[1.0])), (None, None, None));
        assert_eq!(deviation(&[1.0, 3.0]), Some(std::f64::consts::SQRT_2));
    }

    #[test]
    fn median_and_quantiles_of_small_sets() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(quantile(&[0.0, 10.0], 0.25), Some(2.5));
    }

    #[test]
    fn the_median_needs_twenty_values_and_p99_a_thousand() {
        assert_eq!(needed_for_quantile(0.5), 20);
        assert_eq!(needed_for_quantile(0.99), 1000);
    }

    #[test]
    fn sign_intervals_match_the_binomial_table() {
        // n = 9 at 5 %: 2·(1 + 9)/512 = 0.039, so the second smallest to the second largest.
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(sign_interval(&nine, 0.05), Some(Interval { low: 2.0, high: 8.0 }));
        // n = 6: 2/64 = 0.031, smallest to largest. n = 5: 2/32 = 0.0625, none.
        assert_eq!(sign_interval(&nine[..6], 0.05), Some(Interval { low: 1.0, high: 6.0 }));
        assert_eq!(sign_interval(&nine[..5], 0.05), None);
        // n = 20 at 5 %: the tabulated ranks are 6 and 15.
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(sign_interval(&twenty, 0.05), Some(Interval { low: 6.0, high: 15.0 }));
    }

    #[test]
    fn the_fewest_processes_are_those_of_the_method() {
        assert_eq!(fewest_processes(1), 6);
        assert_eq!(fewest_processes(60), 12);
        for comparisons in 1..500 {
            let n = fewest_processes(comparisons);
            let level = 0.05 / comparisons as f64;
            let values = vec![0.0; n];
            assert!(sign_interval(&values, level).is_some() && sign_interval(&values[1..], level).is_none());
        }
    }

    #[test]
    fn with_a_reserve_an_interval_survives_as_many_losses_and_no_more() {
        assert_eq!([1, 60, 1110].map(|comparisons| fewest_processes_losing(1, comparisons)), [9, 16, 20]);
        for comparisons in (1..2000).step_by(7) {
            assert_eq!(fewest_processes_losing(0, comparisons), fewest_processes(comparisons));
            let n = fewest_processes_losing(1, comparisons);
            let ends = |n: usize, lost: usize| {
                let anything = [f64::NEG_INFINITY, f64::INFINITY];
                let interval = |lost_ones| {
                    let values = [vec![lost_ones; lost], vec![0.0; n - lost]].concat();
                    sign_interval(&values, 0.05 / comparisons as f64)
                };
                anything.iter().all(|&lost| interval(lost).is_some_and(|found| found.half_width() == 0.0))
            };
            assert!(ends(n, 1) && !ends(n, 2) && !ends(n - 1, 1), "{comparisons}: {n}");
        }
    }

    /// From 1075 values on, 2⁻ⁿ is zero, and a depth found with it would turn the interval inside out.
    #[test]
    fn no_number_of_values_turns_the_interval_inside_out() {
        for n in [900, 1000, 1074, 1075, 1100, 5000, 100_000] {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            let found = sign_interval(&values, 0.05).unwrap();
            // By the normal distribution, which is close at so many: 1.96 standard deviations of ½·√n to either side.
            let half = 0.98 * f64::from(n).sqrt();
            assert!((found.half_width() - half).abs() < 1.5, "{n}: {found:?}, {half}");
            assert!(found.contains(f64::from(n - 1) / 2.0), "{n}: {found:?}");
        }
    }

    #[test]
    fn a_median_may_be_infinite_and_is_never_no_number() {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(median(&[low, 1.0, 2.0]), Some(1.0));
        assert_eq!(median(&[low, low, 1.0, 2.0]), Some(low));
        assert_eq!(median(&[1.0, 2.0, high, high]), Some(high));
        assert_eq!(median(&[high, high]), Some(high));
    }

    #[test]
    fn clopper_pearson_knows_the_textbook_cases() {
        let all = clopper_pearson(10, 10);
        assert!((all.low - 0.025f64.powf(0.1)).abs() < 1e-6 && all.high == 1.0);
        let none = clopper_pearson(0, 60);
        assert!(none.low == 0.0 && (none.high - (1.0 - 0.025f64.powf(1.0 / 60.0))).abs() < 1e-6);
        let some = clopper_pearson(8, 10);
        assert!((some.low - 0.4439).abs() < 1e-4 && (some.high - 0.9748).abs() < 1e-4, "{some:?}");
    }

    #[test]
    fn a_rate_of_many_attempts_is_that_of_the_normal_distribution() {
        // √(p(1 − p)/n)·1.96 about p, less than a twentieth of that off where both outcomes are frequent.
        for (successes, trials) in
            [(500_000, 1_000_000), (999_000, 1_000_000), (300_000_000, 1_000_000_000), (1 << 62, u64::MAX)]
        {
            let found = clopper_pearson(successes, trials);
            let rate = successes as f64 / trials as f64;
            let half = 1.959_964 * (rate * (1.0 - rate) / trials as f64).sqrt();
            for (bound, expected) in [(found.low, rate - half), (found.high, rate + half)] {
                assert!((bound - expected).abs() < 0.05 * half, "{successes} of {trials}: {bound} and not {expected}");
            }
        }
        assert_eq!(clopper_pearson(1_000_000_000, 1_000_000_000).high, 1.0);
    }

    #[test]
    fn the_interval_of_a_rate_goes_on_where_moments_take_over_from_sums() {
        for trials in [2 * MANY, 10 * MANY, 1000 * MANY] {
            let low = |successes| clopper_pearson(successes, trials).low * trials as f64;
            let steps = [MANY - 2, MANY - 1, MANY, MANY + 1].map(low);
            let widths = [steps[1] - steps[0], steps[2] - steps[1], steps[3] - steps[2]];
            // A success more moves the bound by nearly one; a thousandth of the half-width is 0.04 or more.
            assert!(widths.iter().all(|width| (width - 0.98).abs() < 0.04), "{trials}: {widths:?}");
        }
    }

    #[test]
    fn sums_of_binomial_terms_are_those_that_are_added_one_by_one() {
        for (n, p) in [(1_u64, 0.5), (7, 0.01), (40, 0.5), (100, 0.93), (60, 1e-9)] {
            let mut sum = 0.0;
            for k in 0..=n {
                let ways: f64 = (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product();
                sum += ways * f64::powf(p, k as f64) * f64::powf(1.0 - p, (n - k) as f64);
                assert!((binomial_cdf(k, n, p) - sum).abs() < 1e-12, "P(Bin({n}, {p}) <= {k})");
            }
        }
    }
}
