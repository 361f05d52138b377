//! `candor rerun`: repeats a run on this machine and sets the two side by side.

use super::run::{programs, with_programs};
use crate::Failure;
use crate::cli::RerunArguments;
use crate::config::Config;
use crate::measure::{all_tasks, measure_by, settings, workers};
use crate::output::{Talk, on_stdout, print};
use candor_lab::compare::{Comparison, todays_name};
use candor_lab::program::subject;
use candor_lab::report::render_comparison;
use candor_lab::runfile::Run;
use candor_lab::session::Settings;
use candor_lab::{Task, is_program};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) fn execute(arguments: RerunArguments, talk: Talk) -> Result<(), Failure> {
    let old = Run::open(&arguments.run)?;
    if old.is_import() {
        return Err(Failure::Error(format!(
            "{}: an import; only its own tool can measure that again",
            arguments.run.display()
        )));
    }
    if old.manifest.paired.is_some() {
        let why = "the run paired two builds, and only one of them is here; use `candor run --against`";
        return Err(Failure::Error(format!("can't repeat {}: {why}", arguments.run.display())));
    }
    let mut tasks = same_tasks(&old)?;
    // Programs may be the run's baseline, so they come before that is chosen.
    let programs = programs(&arguments.peer_program, &mut tasks)?;
    same_baselines(&mut tasks, &old);
    for left_out in left_out(&old, &tasks, &programs) {
        talk.say(&format!("! {left_out}"));
    }
    let directory = Config::load()?.runs(arguments.runs);
    let setting = |name: &str| old.manifest.settings.get(name);
    let budget = setting("budget_seconds").and_then(|seconds| seconds.parse().ok());
    let subjects = setting("subjects").map(|names| names.split(' ').map(str::to_owned).collect()).unwrap_or_default();
    let baseline = old.manifest.asked_baseline().map(str::to_owned);
    // The run's own number of processes keeps the error level, its seed keeps the inputs.
    let settings = settings(budget, old.manifest.processes.into(), Some(old.manifest.seed), subjects, directory);
    let settings = Settings { repeats: Some(old.name.clone()), baseline, ..settings };
    let saved = measure_by(&with_programs(workers()?, &programs), &tasks, &settings, talk)?;
    let new = Run::open(&saved.path)?;
    let comparison = Comparison::of(&[(arguments.run, old), (saved.path.clone(), new)])?;
    print(&render_comparison(&comparison, &[], on_stdout(arguments.format.into())))?;
    match comparison.flips() {
        flips if flips.is_empty() => saved.whole(),
        flips => Err(Failure::Condition(format!("flipped on this machine: {}", flips.join(", ")))),
    }
}

/// The tasks of the run that this version still has.
fn same_tasks(old: &Run) -> Result<Vec<Task>, Failure> {
    let mut tasks = all_tasks();
    tasks.retain(|task| old.tasks.iter().any(|known| todays_name(&known.task) == task.name));
    match tasks.is_empty() {
        true => Err(Failure::Error("this version of candor has none of the tasks of this run".into())),
        false => Ok(tasks),
    }
}

/// The run may have used another baseline than the task's own. If it is missing here, the task keeps its own.
fn same_baselines(tasks: &mut [Task], old: &Run) {
    for task in tasks {
        let known = old.tasks.iter().find(|known| todays_name(&known.task) == task.name);
        let plan = known.and_then(|known| known.plan.as_ref());
        plan.map(|plan| task.baseline(plan.baseline()));
    }
}

/// What the run measured and this machine will not, in a sentence each.
fn left_out(old: &Run, tasks: &[Task], programs: &[PathBuf]) -> Vec<String> {
    let is_here = |name: &str| tasks.iter().any(|task| task.name == name);
    let tasks = old.tasks.iter().filter(|known| !is_here(todays_name(&known.task)));
    let tasks = tasks.map(|known| format!("this version of candor has no task {}", known.task));
    let mut missing = BTreeMap::new();
    for row in old.subjects.iter().filter(|row| is_program(&row.subject)) {
        if !programs.iter().any(|program| subject(program) == row.subject) {
            let digest = row.provenance.object_sha256.as_deref().unwrap_or("unknown");
            missing.insert(
                &row.subject,
                format!("{} {}, sha256 {digest:.12}…", row.provenance.library, row.provenance.version),
            );
        }
    }
    let programs = missing
        .into_iter()
        .map(|(row, of)| format!("{row} is not measured: give its program ({of}) with --peer-program"));
    tasks.chain(programs).collect()
}
