//! `candor run --smoke`: one round of everything, no verdicts, nothing saved. Does each subject work here?

use crate::Failure;
use crate::measure::workers;
use crate::output::print;
use candor_lab::Task;
use candor_lab::plan::TaskPlan;
use candor_lab::session::{Spawn, WorkerDeath, Workers};
use candor_lab::worker::{Reply, Request};

/// What a request brought to light.
#[derive(Default)]
struct Found {
    able: Vec<String>,
    /// What a subject can't do here.
    refused: Vec<String>,
    /// What is broken.
    failed: Vec<String>,
    measured: bool,
}

impl Found {
    fn ask(&mut self, workers: &Spawn, request: &Request) {
        let served = workers.serve(request, 0, &mut |reply| match reply {
            Reply::Able { subject, .. } => self.able.push(subject),
            Reply::Out { subject, reason } if reason.starts_with("wrong answer") || reason.starts_with("panicked") => {
                self.failed.push(format!("{subject}: {reason}"));
            }
            Reply::Out { subject, reason } => self.refused.push(format!("{subject}: {reason}")),
            Reply::Failed(why) => self.failed.push(why),
            Reply::Measured(_) => self.measured = true,
            Reply::Trying(_) | Reply::Done => {}
        });
        if let Err(WorkerDeath::NotStarted(why) | WorkerDeath::Crashed(why)) = served {
            self.failed.push(format!("the worker: {why}"));
        }
    }
}

/// Prints a line for each subject that is refused or fails, then the counts.
pub(super) fn execute(tasks: &[Task]) -> Result<(), Failure> {
    let workers = workers()?;
    let (mut passed, mut failed, mut refused) = (0, 0, 0);
    for Task { name: task, .. } in tasks {
        let mut found = Found::default();
        found.ask(&workers, &Request::Probe { task: task.clone(), seed: 1, without: Vec::new() });
        if !found.able.is_empty() {
            let plan = TaskPlan { subjects: found.able.clone(), iterations: 1, rounds: 1 };
            found.ask(&workers, &Request::Measure { task: task.clone(), plan, process: 0, seed: 1, padding: 0 });
        }
        if !found.measured && found.failed.is_empty() {
            found.failed.push("nothing could be measured".into());
        }
        for (word, lines) in [("refused", &found.refused), ("failed", &found.failed)] {
            for line in lines {
                print(&format!("{word} {task}: {line}\n"))?;
            }
        }
        passed += found.able.len();
        failed += found.failed.len();
        refused += found.refused.len();
    }
    print(&format!("{passed} passed, {failed} failed, {refused} refused\n"))?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Condition(format!("{failed} do not work here"))),
    }
}
