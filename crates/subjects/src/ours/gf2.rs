//! Our binary polynomials: each arm that this machine has, the best one first.

use super::{distinct_arms, ours};
use candor_cpu::Cpu;
use candor_gf2::Multiplier;
use candor_gf2::plan::{Plans, Scheme};
use candor_lab::{Entry, Provenance};
use candor_peers::contract::gf2::{self, Loop, Product, Work};
use std::hint::black_box;

/// The arm that is the default, then the machine's others from most to least.
pub(super) fn best_first(arm: impl Fn(Cpu) -> &'static str) -> Vec<(&'static str, Cpu)> {
    let mut arms = distinct_arms(arm);
    arms[1..].reverse();
    arms
}

/// The entries for products of `words` words.
pub(crate) fn products(words: usize, work: Work) -> Vec<Entry> {
    let entry = |(arm, cpu)| {
        let (name, multiplier) = (format!("candor@{arm}"), Multiplier::with_cpu(cpu));
        match work {
            Work::Inlined => inlined(name, words, multiplier),
            _ => gf2::entry(name, words, work, move || Ok(Ours(multiplier))),
        }
    };
    best_first(|cpu| Multiplier::with_cpu(cpu).arm()).into_iter().map(entry).collect()
}

/// Loops over products of `words` words, up to nine, by the public entry point for many of one length.
pub(crate) fn many(words: usize, multiplier: Multiplier) -> Box<dyn Loop> {
    match words {
        1 => Box::new(Many::<1>(multiplier)),
        2 => Box::new(Many::<2>(multiplier)),
        3 => Box::new(Many::<3>(multiplier)),
        4 => Box::new(Many::<4>(multiplier)),
        5 => Box::new(Many::<5>(multiplier)),
        6 => Box::new(Many::<6>(multiplier)),
        7 => Box::new(Many::<7>(multiplier)),
        8 => Box::new(Many::<8>(multiplier)),
        9 => Box::new(Many::<9>(multiplier)),
        _ => unreachable!("no one asks for {words} words"),
    }
}

fn inlined(name: String, words: usize, multiplier: Multiplier) -> Entry {
    match words {
        3 => gf2::inlined(name, words, move || Ok(Many::<3>(multiplier))),
        4 => gf2::inlined(name, words, move || Ok(Many::<4>(multiplier))),
        8 => gf2::inlined(name, words, move || Ok(Many::<8>(multiplier))),
        _ => gf2::inlined(name, words, move || Ok(Many::<9>(multiplier))),
    }
}

/// The public entry point for any length.
struct Ours(Multiplier);

impl Product for Ours {
    #[inline]
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]) {
        self.0.mul(out, a, b);
    }

    fn provenance(&self, words: usize, timed: &str) -> Provenance {
        provenance(self.0, words, &format!("{timed}; Multiplier::mul"))
    }

    fn explanation(&self, words: usize) -> Option<String> {
        Some(explanation(self.0, words))
    }
}

/// The public entry point for many products of one length.
struct Many<const N: usize>(Multiplier);

impl<const N: usize> Loop for Many<N> {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64], _: usize, count: u64) {
        let (a, b) = (a.as_chunks().0, b.as_chunks().0);
        let out = out.as_chunks_mut().0.as_chunks_mut().0;
        let mut left = count as usize;
        while left > 0 {
            let pairs = left.min(a.len());
            left -= pairs;
            self.0.mul_many::<N>(black_box(&mut out[..pairs]), black_box(&a[..pairs]), black_box(&b[..pairs]));
        }
    }

    fn provenance(&self, words: usize, timed: &str) -> Provenance {
        provenance(self.0, words, &format!("{timed}; Multiplier::mul_many"))
    }

    fn explanation(&self, words: usize) -> Option<String> {
        Some(explanation(self.0, words))
    }
}

fn provenance(multiplier: Multiplier, words: usize, timed: &str) -> Provenance {
    let plans = multiplier.plans();
    let arm = format!("{}; plan {} ({}); {}", multiplier.arm(), plan(plans, words), table(plans), counts(plans, words));
    Provenance { arm: Some(arm), ..ours(timed) }
}

/// The plan and its operations, a line each.
fn explanation(multiplier: Multiplier, words: usize) -> String {
    let plans = multiplier.plans();
    format!("plan: {}\n{}\n{}", plan(plans, words), counts(plans, words), table(plans))
}

/// The time of a row over the number of clmuls is its distance to what the multiplier unit alone would take.
fn counts(plans: &Plans, words: usize) -> String {
    let counts = plans.counts(words);
    format!("{} carry-less products of words, {} xors of words", counts.clmul, counts.xor)
}

/// `277 = toom3 93, 94 = karatsuba2 47, …, 16 = leaf`: the way down from `words` to the leaves, longest first.
fn plan(plans: &Plans, words: usize) -> String {
    let (mut lengths, mut text) = (std::collections::BTreeSet::from([words]), Vec::new());
    while let Some(n) = lengths.pop_last() {
        let scheme = plans.scheme(n);
        text.push(format!("{n} = {scheme}"));
        lengths.extend(parts(scheme, n));
    }
    text.join(", ")
}

/// The lengths of the products that a scheme makes of one of `n` words.
fn parts(scheme: Scheme, n: usize) -> Vec<usize> {
    match scheme {
        Scheme::Split { low } | Scheme::Karatsuba2 { low } => vec![low, n - low],
        Scheme::Karatsuba3 { part } => vec![part, n - 2 * part],
        // The values at X and X + 1 are longer than the parts.
        Scheme::Toom3 { part } => vec![part, n - 2 * part, (n - 2 * part + 2).max(part + 1)],
        _ => vec![],
    }
}

fn table(plans: &Plans) -> String {
    match plans.provenance() {
        "" => "table of defaults".to_owned(),
        told => format!("table: {}", told.lines().collect::<Vec<_>>().join(", ")),
    }
}
