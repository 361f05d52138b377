//! `candor run --smoke`: checks that every subject works, in one round each, without verdicts or a run file.

use crate::Failure;
use crate::cli::Format;
use crate::measure::workers;
use crate::output::print;
use candor_lab::plan::TaskPlan;
use candor_lab::session::{Spawn, WorkerDeath, Workers};
use candor_lab::worker::{Reply, Request};
use candor_lab::{Refusal, RefusalKind, Task};
use serde::Serialize;

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
        let served = workers.serve(request, 0, &mut |reply| match reply {
            Reply::Able { subject, .. } => self.passed.push(subject),
            Reply::Out { subject, refusal } => match refusal.kind() {
                RefusalKind::Failed => self.failed.push(Out { subject, refusal }),
                _ => self.refused.push(Out { subject, refusal }),
            },
            Reply::Failed(why) => self.broken(why),
            Reply::Measured(_) => self.measured = true,
            Reply::Trying(_) | Reply::Done => {}
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

/// Prints each task's outcome, then, in the form for people, the counts.
pub(super) fn execute(tasks: &[Task], format: Format) -> Result<(), Failure> {
    let workers = workers()?;
    let (mut passed, mut failed, mut refused) = (0, 0, 0);
    for Task { name: task, .. } in tasks {
        let mut outcome = Outcome { task: task.clone(), ..Outcome::default() };
        outcome.ask(&workers, &Request::Probe { task: task.clone(), seed: 1, without: Vec::new() });
        if !outcome.passed.is_empty() {
            let plan = TaskPlan { subjects: outcome.passed.clone(), iterations: 1, rounds: 1 };
            outcome.ask(&workers, &Request::Measure { task: task.clone(), plan, process: 0, seed: 1, padding: 0 });
        }
        if !outcome.measured && outcome.failed.is_empty() {
            outcome.broken("measured nothing".into());
        }
        print(&match format {
            Format::Json => serde_json::to_string(&outcome)? + "\n",
            _ => text(&outcome),
        })?;
        passed += outcome.passed.len();
        failed += outcome.failed.len();
        refused += outcome.refused.len();
    }
    if format != Format::Json {
        print(&format!("{passed} passed, {failed} failed, {refused} refused\n"))?;
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Condition(format!("{failed} subjects failed"))),
    }
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
