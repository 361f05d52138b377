//! What a soak has counted: successes, failures with their reasons, and how sure one can be that more of them would go as well.

use candor_lab::Outcomes;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts, shared by all circuits and streams.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) circuits: Kind,
    pub(super) streams: Kind,
    /// Bytes that came and were what they should be.
    pub(super) bytes: AtomicU64,
    /// Streams that were closed by the schedule before their end, after bytes that were what they should be.
    pub(super) closed: AtomicU64,
}

/// What was tried again and again.
#[derive(Default)]
pub(super) struct Kind {
    well: AtomicU64,
    failures: Mutex<BTreeMap<String, Failures>>,
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Failures of one kind.
struct Failures {
    count: u64,
    /// In the words of the first.
    first: String,
}

/// One of those that there are now.
pub(super) struct Alive<'a>(&'a Kind);

impl Kind {
    /// Another one is there, until this is dropped.
    pub(super) fn alive(&self) -> Alive<'_> {
        self.comes();
        Alive(self)
    }

    pub(super) fn comes(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    pub(super) fn goes(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn went_well(&self) {
        self.well.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self, why: &str) {
        // Ports and lengths make no kind of their own.
        let kind = why.chars().filter(|c| !c.is_ascii_digit()).collect();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.entry(kind).or_insert_with(|| Failures { count: 0, first: why.to_owned() }).count += 1;
    }

    /// How many there are.
    pub(super) fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// How many there were at once at most.
    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    pub(super) fn outcomes(&self) -> Outcomes {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let successes = self.well.load(Ordering::Relaxed);
        Outcomes { attempts: successes + failures.values().map(|failures| failures.count).sum::<u64>(), successes }
    }

    pub(super) fn failures(&self) -> u64 {
        let Outcomes { attempts, successes } = self.outcomes();
        attempts - successes
    }

    /// `2000 circuits built, 0 failed: at most 0.15 % fail (95 %)`, and each reason.
    pub(super) fn told(&self, what: &str) -> String {
        let Outcomes { attempts, .. } = self.outcomes();
        let failed = self.failures();
        let bound = bound(self.outcomes()).map_or_else(String::new, |bound| {
            format!(
                ": at most {} % of such fail (95 %, {})",
                percent(bound),
                if failed == 0 { "rule of three" } else { "Clopper–Pearson" }
            )
        });
        let mut text = format!("{attempts} {what}, {failed} failed{bound}\n");
        for Failures { count, first } in self.failures.lock().unwrap_or_else(PoisonError::into_inner).values() {
            let _ = writeln!(text, "  {count} times: {first}");
        }
        text
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.goes();
    }
}

/// The share of failures that is not exceeded, at 95 %: 3/n where none failed, and the upper end of the Clopper–Pearson interval where some did.
pub(super) fn bound(outcomes: Outcomes) -> Option<f64> {
    match outcomes {
        Outcomes { attempts: 0, .. } => None,
        Outcomes { attempts, successes } if attempts == successes => Some((3.0 / attempts as f64).min(1.0)),
        some => Some(1.0 - some.at_least()),
    }
}

/// With two digits that mean something.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent > 0.0 { (1.0 - percent.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    format!("{percent:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_failure_the_bound_is_three_divided_by_the_attempts() {
        let of = |attempts, successes| bound(Outcomes { attempts, successes });
        assert_eq!(of(2000, 2000), Some(0.0015));
        assert_eq!((of(0, 0), of(2, 2)), (None, Some(1.0)));
        let some = of(2000, 1999).unwrap();
        assert!(some > 0.0015 && some < 0.004, "{some}");
        assert_eq!(
            (percent(0.0015), percent(0.5), percent(0.000_001_2)),
            ("0.15".into(), "50".into(), "0.00012".into())
        );
    }

    #[test]
    fn failures_are_counted_by_their_reasons_whatever_numbers_they_name() {
        let kind = Kind::default();
        (0..3).for_each(|_| kind.went_well());
        ["port 1: no", "port 22: no", "other"].iter().for_each(|why| kind.failed(why));
        assert_eq!((kind.outcomes(), kind.failures()), (Outcomes { attempts: 6, successes: 3 }, 3));
        let told = kind.told("circuits built");
        assert!(
            told.starts_with("6 circuits built, 3 failed: at most ") && told.contains("\n  2 times: port 1: no\n"),
            "{told}"
        );
        let (one, two) = (kind.alive(), kind.alive());
        drop(one);
        assert_eq!((kind.now(), kind.most()), (1, 2));
        drop(two);
        assert_eq!(kind.now(), 0);
    }
}
