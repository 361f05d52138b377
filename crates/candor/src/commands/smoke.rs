//! `candor run --smoke`: checks that every subject works, in one round each, without verdicts or a run file.

use crate::Failure;
use crate::cli::Format;
use crate::output::print;
use candor_lab::plan::TaskPlan;
use candor_lab::session::{PROBE_PATIENCE, Spawn, WorkerDeath, Workers};
use candor_lab::worker::{Reply, Request};
use candor_lab::{Refusal, RefusalKind, Task};
use serde::Serialize;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// The outcome of one task. With `--format json` it is one line of output.
#[derive(Default, Serialize)]
struct Outcome {
    task: String,
    /// Subjects that did the work.
    passed: Vec<String>,
    /// Subjects that can't, each with its reason.
    refused: Vec<Out>,
    /// Subjects, or the worker itself, that failed.
    failed: Vec<Out>,
    #[serde(skip)]
    measured: bool,
}

/// A subject without a time.
#[derive(Serialize)]
struct Out {
    subject: String,
    #[serde(flatten)]
    refusal: Refusal,
}

impl Outcome {
    /// Asks a fresh worker and sorts its replies.
    fn ask(&mut self, workers: &Spawn, request: &Request) {
        let served = workers.serve(request, 0, PROBE_PATIENCE, &mut |reply| match reply {
            Reply::Able { subject, .. } => self.passed.push(subject),
            Reply::Out { subject, refusal } => match refusal.kind() {
                RefusalKind::Failed => self.failed.push(Out { subject, refusal }),
                _ => self.refused.push(Out { subject, refusal }),
            },
            Reply::Failed(why) => self.broken(why),
            Reply::Measured(_) => self.measured = true,
            Reply::Trying(_)
            | Reply::Watching(_)
            | Reply::Used { .. }
            | Reply::Checked
            | Reply::Met(_)
            | Reply::Done => {}
        });
        match served {
            Ok(()) => {}
            Err(WorkerDeath::NotStarted(why) | WorkerDeath::Crashed(why)) => self.broken(why),
            Err(WorkerDeath::Stopped) => self.broken("was stopped".into()),
        }
    }

    fn broken(&mut self, why: String) {
        self.failed.push(Out { subject: "worker".into(), refusal: Refusal::failed(why) });
    }
}

/// Prints each task's outcome, then, in the form for people, the counts. Nothing is timed, so every core has a task.
pub(super) fn execute(tasks: &[Task], format: Format, workers: &Spawn) -> Result<(), Failure> {
    let (mut passed, mut failed, mut refused) = (0, 0, 0);
    let next = AtomicUsize::new(0);
    let (sender, outcomes) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Nobody takes outcomes any more once one could not be printed.
                    if sender.send(outcome(task, workers)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for outcome in outcomes {
            print(&match format {
                Format::Json => serde_json::to_string(&outcome)? + "\n",
                _ => text(&outcome),
            })?;
            passed += outcome.passed.len();
            failed += outcome.failed.len();
            refused += outcome.refused.len();
        }
        Ok::<(), Failure>(())
    })?;
    if format != Format::Json {
        print(&format!("{passed} passed, {failed} failed, {refused} refused\n"))?;
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Condition(format!("{failed} subjects failed"))),
    }
}

/// Prepares and checks all subjects of a task, then lets those that can do one round.
fn outcome(Task { name: task, .. }: &Task, workers: &Spawn) -> Outcome {
    let mut outcome = Outcome { task: task.clone(), ..Outcome::default() };
    outcome.ask(
        workers,
        &Request::Probe { task: task.clone(), seed: 1, without: Vec::new(), watched: false, objects: Vec::new() },
    );
    if !outcome.passed.is_empty() {
        let plan = TaskPlan { subjects: outcome.passed.clone(), iterations: 1, rounds: 1, ..TaskPlan::default() };
        outcome.ask(
            workers,
            &Request::Measure { task: task.clone(), plan, process: 0, seed: 1, padding: 0, objects: None },
        );
    }
    if !outcome.measured && outcome.failed.is_empty() {
        outcome.broken("measured nothing".into());
    }
    outcome
}

/// A line with the subjects whose answers agree, and a line for each other subject.
fn text(outcome: &Outcome) -> String {
    let passed = match &outcome.passed[..] {
        [] => String::new(),
        [alone] => format!("passed {}: {alone} alone: nothing confirms its answer\n", outcome.task),
        several => format!("passed {}: {}\n", outcome.task, several.join(", ")),
    };
    let lines = |word: &str, outs: &[Out]| -> String {
        outs.iter().map(|out| format!("{word} {}: {}: {}\n", outcome.task, out.subject, out.refusal)).collect()
    };
    passed + &lines("refused", &outcome.refused) + &lines("failed", &outcome.failed)
}
