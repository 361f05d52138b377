//! Many scenarios, on all processors, and what became of them as a table.

use super::scenario::Scenario;
use super::{Outcome, Report, run};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// How far a thread may be ahead of another, in scenarios.
const AHEAD: u64 = 1000;

/// What became of many scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exploration {
    /// How many were carried out, up to the violation if there is one.
    pub scenarios: u64,
    /// By what went wrong.
    pub rows: BTreeMap<&'static str, Row>,
    /// The first violation, by the scenarios' numbers.
    pub found: Option<Found>,
    /// Events in all, each segment one.
    pub events: u64,
    /// Most events of a scenario.
    pub most_events: u64,
    /// The longest virtual time until all clients of a scenario had their outcomes.
    pub longest: Duration,
}

/// A scenario that violates something.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The scenario.
    pub scenario: Scenario,
    /// What became of it first, with the trace of another try.
    pub report: Report,
    /// That try violated the same.
    pub comes_again: bool,
}

impl Eq for Found {}

/// The scenarios with one kind of fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// How many.
    pub scenarios: u64,
    /// Those whose faults did not strike, since they wait for a cell that never came; all arrived.
    pub missed: u64,
    /// Struck, and all arrived in spite of it.
    pub recovered: u64,
    /// Ended before the circuit was built.
    pub not_built: u64,
    /// Ended later.
    pub ended: u64,
    /// Ended by the hop that the error names, from 1; first those where it can name none.
    pub hops: [u64; 4],
    /// Errors without their hop, with how many had each.
    pub errors: BTreeMap<String, u64>,
}

impl Row {
    fn add(&mut self, report: &Report) {
        self.scenarios += 1;
        self.missed += u64::from(report.struck == 0);
        match &report.outcome {
            None => {}
            Some(Outcome::Delivered) => self.recovered += u64::from(report.struck > 0),
            Some(Outcome::Ended { hop, why, is_built }) => {
                *(if *is_built { &mut self.ended } else { &mut self.not_built }) += 1;
                self.hops[hop.unwrap_or_default().min(3)] += 1;
                *self.errors.entry(why.to_string()).or_default() += 1;
            }
        }
    }

    /// Adds up two rows.
    pub fn merge(&mut self, other: &Self) {
        self.scenarios += other.scenarios;
        self.missed += other.missed;
        self.recovered += other.recovered;
        self.not_built += other.not_built;
        self.ended += other.ended;
        self.hops.iter_mut().zip(other.hops).for_each(|(hop, other)| *hop += other);
        for (error, count) in &other.errors {
            *self.errors.entry(error.clone()).or_default() += count;
        }
    }
}

/// Carries out `count` scenarios of a seed, from number `from` on, each twice; no number is beyond `u64::MAX`. Stops at the first that violates something: all before it have
/// been carried out then. `progress` is told of each that is done, from any thread.
pub fn explore(seed: u64, from: u64, count: u64, progress: &(dyn Fn() + Sync)) -> Exploration {
    explore_by(seed, from, count, progress, &|scenario, trace| run(scenario, None, trace))
}

/// [`explore`] with scenarios that `carry_out` carries out, as [`run`] does: with a planted mistake, or not at all. It is told whether the events are wanted as text.
pub fn explore_by(
    seed: u64,
    from: u64,
    count: u64,
    progress: &(dyn Fn() + Sync),
    carry_out: &(dyn Fn(&Scenario, bool) -> Report + Sync),
) -> Exploration {
    let Some(more) = count.checked_sub(1) else { return Exploration::default() };
    let tally = Mutex::new(Tally::new(from, from.saturating_add(more)));
    let locked = || tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let _stop = StopOnPanic(&tally);
                loop {
                    let next = locked().next();
                    let number = match next {
                        Next::Number(number) => number,
                        Next::Later => {
                            thread::sleep(Duration::from_millis(1));
                            continue;
                        }
                        Next::None => return,
                    };
                    let scenario = Scenario::draw(seed, number);
                    let report = carry_out(&scenario, false);
                    locked().done(number, scenario.row(), report);
                    progress();
                }
            });
        }
    });
    let Tally { mut exploration, violated, .. } = tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    exploration.found = violated.map(|(number, report)| {
        let scenario = Scenario::draw(seed, number);
        // Once more, with its events as text. What is reported is what was found first: it need not come again.
        let again = carry_out(&scenario, true);
        let comes_again = again.violation == report.violation;
        Found { scenario, report: Report { trace: again.trace, ..report }, comes_again }
    });
    exploration
}

/// Adds scenarios up in the order of their numbers, so that the sum doesn't depend on which thread was faster.
struct Tally {
    /// The next number to be carried out.
    next: Option<u64>,
    /// The last that need be.
    last: u64,
    /// The next number to be added.
    due: u64,
    /// What is done and not yet due, fewer than [`AHEAD`].
    ahead: BTreeMap<u64, (&'static str, Report)>,
    exploration: Exploration,
    violated: Option<(u64, Report)>,
}

/// What a thread does next.
enum Next {
    Number(u64),
    /// Others are too far behind.
    Later,
    None,
}

/// If a thread panics, no other waits for it.
struct StopOnPanic<'a>(&'a Mutex<Tally>);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next = None;
        }
    }
}

impl Tally {
    fn new(from: u64, last: u64) -> Self {
        let (ahead, exploration) = (BTreeMap::new(), Exploration::default());
        Self { next: Some(from), last, due: from, ahead, exploration, violated: None }
    }

    fn next(&mut self) -> Next {
        let Some(number) = self.next.filter(|number| *number <= self.last) else { return Next::None };
        if number - self.due >= AHEAD {
            return Next::Later;
        }
        self.next = number.checked_add(1);
        Next::Number(number)
    }

    fn done(&mut self, number: u64, row: &'static str, report: Report) {
        if report.violation.is_some() {
            self.last = self.last.min(number);
        }
        self.ahead.insert(number, (row, report));
        while self.violated.is_none()
            && let Some((row, report)) = self.ahead.remove(&self.due)
        {
            self.exploration.add(row, &report);
            if report.violation.is_some() {
                self.violated = Some((self.due, report));
            }
            // There is none behind the last.
            self.due = self.due.saturating_add(1);
        }
    }
}

impl Exploration {
    fn add(&mut self, row: &'static str, report: &Report) {
        self.scenarios += 1;
        self.events += report.events;
        self.most_events = self.most_events.max(report.events);
        self.longest = self.longest.max(report.time);
        self.rows.entry(row).or_default().add(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Plant, Violation};
    use std::sync::atomic::{AtomicU32, Ordering};

    fn clean(events: u64) -> Report {
        let (outcome, digest, trace) = (Some(Outcome::Delivered), [0; 32], String::new());
        Report { outcome, struck: 0, violation: None, digest, trace, events, time: Duration::ZERO }
    }

    #[test]
    fn no_number_is_beyond_the_last() {
        let numbers = Mutex::new(Vec::new());
        let carry_out = |scenario: &Scenario, _| {
            let mut numbers = numbers.lock().unwrap();
            assert!(numbers.len() < 3, "it goes on with {}", scenario.number);
            numbers.push(scenario.number);
            clean(1)
        };
        assert_eq!(explore_by(1, u64::MAX - 1, 3, &|| (), &carry_out).scenarios, 2);
        let mut numbers = numbers.into_inner().unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, [u64::MAX - 1, u64::MAX]);
        assert_eq!(explore_by(1, 7, 0, &|| (), &|_, _| panic!("none was asked for")), Exploration::default());
    }

    #[test]
    fn what_does_not_come_again_is_reported_with_the_events_of_the_second_try() {
        let carry_out = |scenario: &Scenario, trace: bool| Report {
            violation: (scenario.number == 3 && !trace).then_some(Violation::Differs),
            trace: if trace { "of the second try".to_owned() } else { String::new() },
            ..clean(1)
        };
        let found = explore_by(1, 0, 10, &|| (), &carry_out).found.expect("a violation");
        assert_eq!((found.scenario.number, found.comes_again), (3, false));
        assert_eq!((found.report.violation, &found.report.trace[..]), (Some(Violation::Differs), "of the second try"));
    }

    #[test]
    fn what_comes_again_is_reported_with_its_events_whatever_it_is() {
        for (plant, what) in [(Plant::Panic, "panicked: as planted"), (Plant::Spin, "and no end")] {
            let found = explore_by(1, 0, 50, &|| (), &|scenario, trace| run(scenario, Some(plant), trace)).found;
            let Found { report, comes_again, .. } = found.expect("a violation");
            assert!(comes_again && report.trace.lines().count() > 5, "{}", report.trace);
            assert!(report.trace.lines().next_back().is_some_and(|last| last.ends_with(what)), "{}", report.trace);
        }
    }

    #[test]
    fn scenarios_behind_the_violation_are_not_added_although_they_are_done() {
        let done = AtomicU32::new(0);
        let carry_out = |scenario: &Scenario, _| {
            if scenario.number == 2 {
                // Others are faster.
                while thread::available_parallelism().is_ok_and(|threads| threads.get() > 1)
                    && done.load(Ordering::Relaxed) < 20
                {
                    thread::yield_now();
                }
            }
            done.fetch_add(1, Ordering::Relaxed);
            Report { violation: (scenario.number == 2).then_some(Violation::Livelock), ..clean(scenario.number) }
        };
        let exploration = explore_by(1, 0, 1000, &|| (), &carry_out);
        assert_eq!((exploration.scenarios, exploration.events, exploration.most_events), (3, 3, 2));
        assert_eq!(exploration.rows.values().map(|row| row.scenarios).sum::<u64>(), 3);
        assert_eq!(exploration.found.map(|found| found.scenario.number), Some(2));
    }
}
