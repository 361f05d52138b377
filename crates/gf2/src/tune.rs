//! The autotuner: dynamic programming over measured code.
//!
//! For one length after another, from short to long, every scheme that fits is run with the best choices found so far for all shorter
//! lengths, and the fastest is entered. What is measured is the code that will run, not a model of it. Beside it stands what the model
//! would have chosen: the plan with the fewest operations ([`Counts`](crate::plan::Counts)).

use crate::arm::Arm;
use crate::plan::{MOST_WORDS, Plans, Scheme, shipped};
use crate::recursion::Recursion;
use candor_cpu::Cpu;
use candor_cpu::arms::Routine;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Batches of each candidate.
const ROUNDS: usize = 21;
/// How long a batch lasts, about: long against the clock's step, short against the scheduler's.
const BATCH: Duration = Duration::from_micros(25);
/// A later candidate must beat the best before it by this factor: below that, differences are mostly noise and code layout.
const WIN: f64 = 0.99;

/// What was found for one length.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The length of both factors, in words.
    pub words: usize,
    /// The fastest scheme.
    pub scheme: Scheme,
    /// Its time: the 25th percentile of the batches, in nanoseconds a product.
    pub nanoseconds: f64,
    /// What the operation-count model chooses, with its own choices below.
    pub modelled: Scheme,
    /// The time of the modelled scheme at this length, over the measured plan below. At least `nanoseconds`, but for noise.
    pub modelled_nanoseconds: f64,
}

/// Tunes the arm that `cpu` takes for lengths up to `most` words and calls `found` for each. Longer ones keep the schemes of the table that
/// is shipped for the arm. The returned table has no provenance; [`text`] writes it as text with one.
pub fn tune(cpu: Cpu, most: usize, mut found: impl FnMut(Choice)) -> Plans {
    let arm = Arm::choose(cpu, Routine::Gf2Mul);
    let kernel = arm.kernel();
    // Each length only leads to shorter ones, which are measured before it.
    let mut measured = shipped(kernel.arm).clone().without_provenance();
    let mut modelled = Plans::defaults(kernel.arm, "", kernel.leaf_words());
    for words in 1..=most.min(MOST_WORDS) {
        let schemes = candidates(words, kernel.leaf_words());
        let operations = |scheme: &Scheme| {
            let counts = modelled.counts_of_scheme(words, *scheme);
            counts.clmul + counts.xor + counts.shift + counts.and
        };
        let model = *schemes.iter().min_by_key(|scheme| operations(scheme)).expect("every length has a candidate");
        modelled = modelled.with(words, model).expect("candidates fit");
        let tables: Vec<Plans> =
            schemes.iter().map(|scheme| measured.clone().with(words, *scheme).expect("candidates fit")).collect();
        let runners: Vec<Recursion<'_>> = tables.iter().map(|plans| Recursion { kernel, plans }).collect();
        let times = measure(&runners, words);
        let mut best = 0;
        for (i, time) in times.iter().enumerate() {
            if *time < WIN * times[best] {
                best = i;
            }
        }
        let of_model = schemes.iter().position(|scheme| *scheme == model).expect("chosen among them");
        found(Choice {
            words,
            scheme: schemes[best],
            nanoseconds: times[best],
            modelled: model,
            modelled_nanoseconds: times[of_model],
        });
        measured = tables.into_iter().nth(best).expect("best is an index of it");
    }
    measured
}

/// The table as [`Plans::parse`] reads it, with `head` (lines of `key value`) as its provenance. All lengths have an entry, so that a table
/// tuned for short products leaves the long ones as they were.
pub fn text(plans: &Plans, head: &str) -> String {
    let mut text = format!("candor-gf2-plan 1\narm {}\n{}\n", plans.arm(), head.trim_end());
    for words in 1..=MOST_WORDS {
        text += &format!("{words} {}\n", plans.scheme(words));
    }
    text
}

/// Every scheme worth a try: the plainest first, since a later one must win clearly.
fn candidates(n: usize, leaf_words: usize) -> Vec<Scheme> {
    let mut all = vec![Scheme::Leaf];
    for step in [1, 2, 4, 8, 12, 16, 24, 32, 48, 64] {
        all.push(Scheme::Karatsuba2 { low: n.div_ceil(2).next_multiple_of(step) });
        all.push(Scheme::Karatsuba3 { part: n.div_ceil(3).next_multiple_of(step) });
        // One more word in the lower parts saves one in the values.
        for extra in [0, 1] {
            all.push(Scheme::Toom3 { part: n.div_ceil(3).next_multiple_of(step) + extra });
        }
        all.push(Scheme::Split { low: (n - 1) / step * step });
    }
    let mut kept: Vec<Scheme> = Vec::new();
    for scheme in all {
        // A split with a long rest is schoolbook: never worth the time.
        let hopeless = matches!(scheme, Scheme::Split { low } if 4 * (n - low.min(n)) > n);
        if scheme.fits(n, leaf_words) && !hopeless && !kept.contains(&scheme) {
            kept.push(scheme);
        }
    }
    kept
}

/// Nanoseconds a product, for each runner: batches in rotated order, 25th percentile.
fn measure(runners: &[Recursion<'_>], words: usize) -> Vec<f64> {
    let factor =
        |seed: u64| -> Vec<u64> { (1..=words as u64).map(|i| (i + seed).wrapping_mul(0x9e3779b97f4a7c15)).collect() };
    let (a, b) = (factor(0), factor(1 << 32));
    let mut out = vec![0; 2 * words];
    let most = runners.iter().map(|runner| runner.plans.scratch_words(words)).max().unwrap_or(0);
    let mut scratch = vec![0; most];
    let mut batch = |runner: &Recursion<'_>, iterations: u32| {
        let start = Instant::now();
        for _ in 0..iterations {
            runner.balanced(black_box(&mut out), black_box(&a), black_box(&b), &mut scratch);
        }
        start.elapsed()
    };
    let mut iterations = 1;
    while batch(&runners[0], iterations) < BATCH {
        iterations *= 2;
    }
    let mut times = vec![Vec::with_capacity(ROUNDS); runners.len()];
    for round in 0..ROUNDS {
        for i in 0..runners.len() {
            let i = (i + round) % runners.len();
            times[i].push(batch(&runners[i], iterations).as_secs_f64() * 1e9 / f64::from(iterations));
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 4]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_reads_what_the_tuner_writes() {
        let plans = tune(Cpu::portable(), 12, |_| ());
        let read = Plans::parse(text(&plans, "cpu a machine\n").leak()).unwrap();
        assert_eq!(read.provenance(), "candor-gf2-plan 1\narm portable\ncpu a machine");
        for words in 1..=MOST_WORDS {
            assert_eq!(read.scheme(words), plans.scheme(words), "{words} words");
        }
    }

    #[test]
    fn lengths_beyond_the_longest_tuned_keep_their_shipped_schemes() {
        for cpu in Cpu::tiers().map(|tier| Cpu::named(tier.name).unwrap()) {
            let plans = tune(cpu, 3, |_| ());
            let read = Plans::parse(text(&plans, "cpu a machine\n").leak()).unwrap();
            let shipped = shipped(plans.arm());
            for words in 4..=MOST_WORDS {
                assert_eq!(read.scheme(words), shipped.scheme(words), "{words} words on {}", plans.arm());
            }
            assert_eq!(read.scratch_words(901), shipped.scratch_words(901));
        }
        // The table that a CPU of the test certainly has differs from the defaults out there, or this test would show nothing.
        let portable = shipped("portable");
        let defaults = Plans::defaults("portable", "", portable.leaf_words());
        assert_ne!(portable.scheme(901), defaults.scheme(901));
    }

    #[test]
    fn every_candidate_fits_and_every_length_has_one() {
        for n in 1..=200 {
            let schemes = candidates(n, 16);
            assert!(!schemes.is_empty() && schemes.iter().all(|scheme| scheme.fits(n, 16)), "{n} words");
        }
    }
}
