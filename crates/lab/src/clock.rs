//! The clock, and the two functions that read it around a subject: [`epoch`] once before and once after, [`phased_epoch`] between phases as well.
//!
//! With one call site for each of two subjects, a third of all comparisons of identical code showed a difference. Therefore
//! each is the only call site of its kind: it is never inlined and calls every subject through `dyn`.

use crate::Subject;
use crate::turn::{Place, Timed, Turn};
use std::time::Instant;

/// Takes a subject's turn: operations outside the clock, then an epoch, and before or after that its phases. `switches` counts how often the processor was
/// taken away. The error says what the subject did wrong.
pub(crate) fn take(subject: &mut dyn Subject, turn: &Turn, switches: impl Fn() -> i64) -> Result<Timed, String> {
    if let Some(timed) = subject.timed_elsewhere(turn) {
        return timed;
    }
    if turn.unclocked > 0 {
        epoch(subject, turn.unclocked);
    }
    let (before, failures) = (switches(), failures_of(subject));
    let phased = |subject: &mut dyn Subject, place: Place| {
        if turn.phases != Some(place) {
            return Ok(Vec::new());
        }
        let sums = phased_epoch(subject, turn.iterations);
        sums.ok_or_else(|| "did not report the end of each of its phases exactly once".to_owned())
    };
    let mut phases = phased(subject, Place::First)?;
    let cpu_before = subject.cpu_ns();
    let ns = epoch(subject, turn.iterations).max(1);
    let cpu_ns = cpu_before.zip(subject.cpu_ns()).map(|(before, after)| after.saturating_sub(before).max(1));
    phases.extend(phased(subject, Place::Last)?);
    let (disturbed, failed) = (switches() != before, failures_of(subject) != failures);
    Ok(Timed { ns, phases, cpu_ns, disturbed, failed, outcomes: subject.outcomes() })
}

/// How often the subject's work has failed.
pub(crate) fn failures_of(subject: &dyn Subject) -> u64 {
    subject.outcomes().map_or(0, |outcomes| outcomes.attempts.saturating_sub(outcomes.successes))
}

/// The wall time of `iterations` operations in nanoseconds.
#[inline(never)]
pub(crate) fn epoch(subject: &mut dyn Subject, iterations: u64) -> u64 {
    subject.restock(iterations);
    let start = Instant::now();
    subject.run(iterations);
    nanoseconds(start, Instant::now())
}

/// The wall time of each phase in nanoseconds, summed over `iterations` operations.
///
/// `None` if the subject did not call `lap` exactly once per phase.
#[inline(never)]
pub(crate) fn phased_epoch(subject: &mut dyn Subject, iterations: u64) -> Option<Vec<u64>> {
    let mut sums = vec![0u64; subject.phases().len()];
    for _ in 0..iterations {
        let mut phase = 0;
        subject.restock(1);
        let mut from = Instant::now();
        subject.run_phased(&mut || {
            let now = Instant::now();
            if let Some(sum) = sums.get_mut(phase) {
                *sum += nanoseconds(from, now);
            }
            phase += 1;
            from = now;
        });
        if phase != sums.len() {
            return None;
        }
    }
    Some(sums)
}

/// The smallest observed step of the clock in nanoseconds, at least 1.
pub fn quantum() -> u64 {
    let mut smallest = u64::MAX;
    for _ in 0..2000 {
        let start = Instant::now();
        let mut step = 0;
        while step == 0 {
            step = nanoseconds(start, Instant::now());
        }
        smallest = smallest.min(step);
    }
    smallest.max(1)
}

fn nanoseconds(start: Instant, end: Instant) -> u64 {
    u64::try_from(end.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mismatch, Provenance, Refusal, Witness};

    struct Lapper(usize);

    impl Subject for Lapper {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(Witness::default())
        }
        fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
            Ok(())
        }
        fn run(&mut self, _: u64) {}
        fn phases(&self) -> &'static [&'static str] {
            &["first", "second"]
        }
        fn run_phased(&mut self, lap: &mut dyn FnMut()) {
            (0..self.0).for_each(|_| lap());
        }
        fn provenance(&self) -> Provenance {
            Provenance::default()
        }
    }

    #[test]
    fn a_subject_that_laps_too_often_or_too_rarely_is_noticed() {
        assert_eq!(phased_epoch(&mut Lapper(2), 3).map(|sums| sums.len()), Some(2));
        assert_eq!(phased_epoch(&mut Lapper(1), 3), None);
        assert_eq!(phased_epoch(&mut Lapper(3), 3), None);
    }

    /// Uses up what it has in stock.
    #[derive(Default)]
    struct Consumer(u64);

    impl Subject for Consumer {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(Witness::default())
        }
        fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
            Ok(())
        }
        fn restock(&mut self, iterations: u64) {
            self.0 = iterations;
        }
        fn run(&mut self, iterations: u64) {
            self.0 = self.0.checked_sub(iterations).expect("as much in stock as is used up");
        }
        fn phases(&self) -> &'static [&'static str] {
            &["all"]
        }
        fn run_phased(&mut self, lap: &mut dyn FnMut()) {
            self.run(1);
            lap();
        }
        fn provenance(&self) -> Provenance {
            Provenance::default()
        }
    }

    #[test]
    fn a_subject_is_restocked_for_each_epoch() {
        let mut consumer = Consumer::default();
        epoch(&mut consumer, 3);
        epoch(&mut consumer, 5);
        assert_eq!(consumer.0, 0);
        assert!(phased_epoch(&mut consumer, 4).is_some() && consumer.0 == 0);
    }

    #[test]
    fn the_clock_moves() {
        assert!(quantum() < 1_000_000, "a clock that steps in milliseconds can't time epochs of one");
    }
}
