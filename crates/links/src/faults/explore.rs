//! Many scenarios, on all processors, and what became of them as a table.

use super::scenario::Scenario;
use super::{Outcome, Report, run};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

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
    /// What became of it, with its trace.
    pub report: Report,
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

/// Carries out `count` scenarios of a seed, from number `from` on, each twice. Stops at the first that violates something: all before it have been carried out then.
/// `progress` is told of each that is done, from any thread.
pub fn explore(seed: u64, from: u64, count: u64, progress: &(dyn Fn() + Sync)) -> Exploration {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let end = from.saturating_add(count);
    let next = AtomicU64::new(from);
    // The first number that need not be looked at any more.
    let stop = AtomicU64::new(end);
    let done: Mutex<Vec<(u64, Scenario, Report)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let scenario = Scenario::draw(seed, number);
                    let report = run(&scenario, None, false);
                    if report.violation.is_some() {
                        stop.fetch_min(number, Ordering::Relaxed);
                    }
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, scenario, report));
                    progress();
                }
            });
        }
    });
    let stop = stop.into_inner();
    let mut exploration = Exploration::default();
    for (number, scenario, report) in done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        if number > stop {
            continue;
        }
        exploration.scenarios += 1;
        exploration.events += report.events;
        exploration.most_events = exploration.most_events.max(report.events);
        exploration.longest = exploration.longest.max(report.time);
        exploration.rows.entry(scenario.row()).or_default().add(&report);
        if number == stop && report.violation.is_some() {
            // Once more, with its events as text.
            let report = run(&scenario, None, true);
            exploration.found = Some(Found { scenario, report });
        }
    }
    exploration
}
