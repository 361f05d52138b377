//! Whether the times of two classes differ: the tests of dudect, as pure functions.
//!
//! Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017. Welch's t-test compares the means of the two classes
//! (first order) and their variances (second order). Interrupts make long tails that hide small differences, so both tests are also made on
//! what remains below each of several thresholds. A threshold is a quantile of all times together and does not know the classes.

use crate::measure::Times;

/// From this |t| on the classes differ. The authors of dudect take the same number; by chance it comes once in 10²³ tests.
pub(crate) const DIFFERS: f64 = 10.0;
/// Zero must differ from random secrets by a cycle as well. A core does less work on wires that stay at zero and then runs faster, by up to half a
/// cycle in a thousand here, in code that memcheck has passed too (`gf2-mul@clmul`). A branch that zero takes, or a look-up, costs more.
pub(crate) const CYCLE: f64 = 1.0;
/// Up to this |t| they do not. By chance one of the forty tests of a case exceeds it less than once in 3,000 cases.
pub(crate) const SAME: f64 = 4.5;

/// Fractions of all times that stay below a threshold: 1 − 2^(−k/2).
const CROPS: u32 = 20;
/// Fewer times than this below a threshold are not compared.
const ENOUGH: usize = 1_000;

/// What two classes of times say; in ticks first, then in cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Comparison {
    /// How many times each class has.
    pub(crate) counts: [usize; 2],
    /// Welch's t of the means and of the variances, at the threshold where each is largest.
    pub(crate) t: [f64; 2],
    /// Mean of the second class less that of the first, at the threshold that resolves best and keeps nine of ten times.
    pub(crate) difference: f64,
    /// The difference that would have reached [`DIFFERS`] there.
    pub(crate) resolvable: f64,
    /// The median of all times.
    pub(crate) median: f64,
}

/// What a case has shown.
#[derive(Debug)]
pub(crate) struct Found {
    /// How many times were measured.
    pub(crate) count: usize,
    /// The fixed secret beside random ones.
    pub(crate) fixed: Comparison,
    /// The secret that is zero beside random ones.
    pub(crate) zero: Comparison,
}

/// The verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No test found a difference.
    Same,
    /// Some test did, beyond doubt.
    Differs,
    /// Neither: measure again, longer or on a quieter machine.
    CantTell,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Same => "no difference",
            Self::Differs => "differs",
            Self::CantTell => "can't tell",
        }
    }
}

impl Found {
    /// Compares the classes; a tick lasts so many cycles.
    pub(crate) fn new(mut times: Times, cycles_per_tick: f64) -> Self {
        times.iter_mut().for_each(|times| times.sort_unstable());
        let [zero, fixed, random] = &times;
        let compared = |class| compare(class, random).in_cycles(cycles_per_tick);
        Self { count: times.iter().map(Vec::len).sum(), fixed: compared(fixed), zero: compared(zero) }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let largest = self.fixed.t[0].abs().max(self.fixed.t[1].abs());
        let enough =
            [&self.fixed, &self.zero].iter().all(|compared| compared.counts.iter().all(|count| *count >= ENOUGH));
        match () {
            () if !enough || largest.is_nan() => Verdict::CantTell,
            () if largest >= DIFFERS => Verdict::Differs,
            () if self.zero.t[0].abs() >= DIFFERS && self.zero.difference.abs() >= CYCLE => Verdict::Differs,
            () if largest > SAME => Verdict::CantTell,
            () => Verdict::Same,
        }
    }
}

impl Comparison {
    fn in_cycles(self, cycles: f64) -> Self {
        let [difference, resolvable, median] =
            [self.difference, self.resolvable, self.median].map(|ticks| ticks * cycles);
        Self { difference, resolvable, median, ..self }
    }
}

/// Compares two classes, whose times are sorted.
fn compare(first: &[u32], second: &[u32]) -> Comparison {
    let times = [first, second];
    let mut all = times.concat();
    all.sort_unstable();
    let counts = times.map(<[u32]>::len);
    let Some(last) = all.len().checked_sub(1) else { return Comparison::default() };
    let mut found =
        Comparison { counts, resolvable: f64::INFINITY, median: f64::from(all[last / 2]), ..Default::default() };
    let kept = (1..=CROPS).map(|crop| 1.0 - 0.5_f64.powf(f64::from(crop) / 2.0)).chain([1.0]);
    for fraction in kept {
        let threshold = all[(fraction * last as f64) as usize];
        let [a, b] = times.map(|times| Moments::of(&times[..times.partition_point(|time| *time <= threshold)]));
        if a.count.min(b.count) < ENOUGH as f64 {
            continue;
        }
        let error = (a.variance / a.count + b.variance / b.count).sqrt();
        let first = ratio(b.mean - a.mean, error);
        let second = ratio(b.variance - a.variance, (a.of_squares() / a.count + b.of_squares() / b.count).sqrt());
        for (largest, t) in found.t.iter_mut().zip([first, second]) {
            if t.abs() > largest.abs() {
                *largest = t;
            }
        }
        if fraction >= 0.9 && DIFFERS * error < found.resolvable {
            (found.resolvable, found.difference) = (DIFFERS * error, b.mean - a.mean);
        }
    }
    found
}

/// t: a difference by its error. Times that are all equal have no error.
fn ratio(difference: f64, error: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / error }
}

#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    variance: f64,
    /// The mean of the fourth powers of the distances from the mean.
    fourth: f64,
}

impl Moments {
    fn of(times: &[u32]) -> Self {
        let count = times.len() as f64;
        let mean = times.iter().map(|time| f64::from(*time)).sum::<f64>() / count;
        let (mut squares, mut fourths) = (0.0, 0.0);
        for time in times {
            let square = (f64::from(*time) - mean).powi(2);
            squares += square;
            fourths += square * square;
        }
        Self { count, mean, variance: squares / count, fourth: fourths / count }
    }

    /// The variance of the squared distances from the mean.
    fn of_squares(&self) -> f64 {
        self.fourth - self.variance * self.variance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Times around 500 ticks, in steps of 20 as coarse counters have them, with an interrupt in a hundred; `more` ticks are added, with
    /// jitter of ± `jitter`.
    fn times(bits: &mut SplitMix64, more: f64, jitter: f64) -> Vec<u32> {
        let uniform = |bits: &mut SplitMix64| bits.next_u64() as f64 / u64::MAX as f64;
        (0..100_000)
            .map(|_| {
                let noise: f64 = (0..12).map(|_| uniform(bits) - 0.5).sum();
                let interrupt = if bits.next_u64().is_multiple_of(100) { 3_000.0 * uniform(bits) } else { 0.0 };
                let time = 500.0 + 30.0 * noise + jitter * (uniform(bits) - 0.5) + more + interrupt;
                ((time / 20.0 + uniform(bits)) as u32) * 20
            })
            .collect()
    }

    /// A secret that is no different, and one that takes `more`.
    fn verdict(seed: u64, more: f64, jitter: f64) -> (Verdict, Comparison) {
        let mut bits = SplitMix64::seed_from_u64(seed);
        let [zero, random, fixed] =
            [0.0, 0.0, more].map(|more| times(&mut bits, more, if more == 0.0 { 0.0 } else { jitter }));
        let found = Found::new([zero, fixed, random], 1.0);
        (found.verdict(), found.fixed)
    }

    #[test]
    fn equal_classes_show_no_difference() {
        for seed in 0..20 {
            let (verdict, compared) = verdict(seed, 0.0, 0.0);
            assert_eq!(verdict, Verdict::Same, "seed {seed}: {compared:?}");
        }
    }

    #[test]
    fn a_difference_far_below_the_counters_step_and_the_noise_is_found() {
        for (seed, more) in [(1, 3.0), (2, -3.0), (3, 5.0)] {
            let (verdict, compared) = verdict(seed, more, 0.0);
            assert_eq!(verdict, Verdict::Differs, "{compared:?}");
            assert_eq!(compared.difference.signum(), -more.signum());
        }
    }

    #[test]
    fn what_is_said_to_be_resolvable_is_found_and_a_fifth_of_it_is_not() {
        let resolvable = verdict(7, 0.0, 0.0).1.resolvable;
        assert!((0.5..3.0).contains(&resolvable), "{resolvable}");
        assert_eq!(verdict(8, 1.5 * resolvable, 0.0).0, Verdict::Differs);
        assert_ne!(verdict(9, 0.2 * resolvable, 0.0).0, Verdict::Differs);
    }

    #[test]
    fn a_difference_of_the_spread_alone_is_found_by_the_second_order() {
        let (verdict, compared) = verdict(4, f64::MIN_POSITIVE, 80.0);
        assert_eq!(verdict, Verdict::Differs);
        assert!(compared.t[1].abs() >= DIFFERS, "{compared:?}");
    }

    #[test]
    fn interrupts_hide_nothing_below_them() {
        // With the tail alone, three ticks drown; the crops find them.
        let mut bits = SplitMix64::seed_from_u64(5);
        let with_tail = |bits: &mut SplitMix64, more| -> Vec<u32> {
            let mut times = times(bits, more, 0.0);
            times.iter_mut().step_by(50).for_each(|time| *time += (bits.next_u64() % 1_000_000) as u32);
            times
        };
        let mut pair = [with_tail(&mut bits, 0.0), with_tail(&mut bits, 3.0)];
        pair.iter_mut().for_each(|times| times.sort_unstable());
        let [a, b] = [Moments::of(&pair[0]), Moments::of(&pair[1])];
        assert!(ratio(b.mean - a.mean, (a.variance / a.count + b.variance / b.count).sqrt()).abs() < SAME);
        assert!(compare(&pair[0], &pair[1]).t[0] >= DIFFERS);
    }

    #[test]
    fn zero_must_differ_by_a_cycle() {
        let mut bits = SplitMix64::seed_from_u64(6);
        let [fixed, random, zero] = [0.0, 0.0, -3.0].map(|more| times(&mut bits, more, 0.0));
        let verdict = |cycles| Found::new([zero.clone(), fixed.clone(), random.clone()], cycles).verdict();
        assert_eq!([verdict(1.0), verdict(0.1)], [Verdict::Differs, Verdict::Same]);
    }

    #[test]
    fn too_few_times_say_nothing() {
        let verdict = |count, other| Found::new([vec![7; count], vec![other; count], vec![7; count]], 1.0).verdict();
        assert_eq!([verdict(0, 7), verdict(10, 7)], [Verdict::CantTell; 2]);
        assert_eq!([verdict(2_000, 7), verdict(2_000, 8)], [Verdict::Same, Verdict::Differs]);
    }
}
