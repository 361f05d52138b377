//! `candor rerun`: repeats a run on this machine and sets the two side by side.

use crate::Failure;
use crate::cli::RerunArguments;
use crate::config::Config;
use crate::measure::{all_tasks, measure, settings};
use crate::output::{Talk, on_stdout, print};
use candor_lab::Task;
use candor_lab::compare::{Comparison, todays_name};
use candor_lab::report::render_comparison;
use candor_lab::runfile::Run;
use candor_lab::session::Settings;

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
    let tasks = same_tasks(&old, talk)?;
    let directory = Config::load()?.runs(arguments.runs);
    let setting = |name: &str| old.manifest.settings.get(name);
    let budget = setting("budget_seconds").and_then(|seconds| seconds.parse().ok());
    let subjects = setting("subjects").map(|names| names.split(' ').map(str::to_owned).collect()).unwrap_or_default();
    let baseline = old.manifest.asked_baseline().map(str::to_owned);
    // The run's own number of processes keeps the error level, its seed keeps the inputs.
    let settings = settings(budget, old.manifest.processes.into(), Some(old.manifest.seed), subjects, directory);
    let settings = Settings { repeats: Some(old.name.clone()), baseline, ..settings };
    let saved = measure(&tasks, &settings, talk)?;
    let new = Run::open(&saved.path)?;
    let comparison = Comparison::of(&[(arguments.run, old), (saved.path.clone(), new)])?;
    print(&render_comparison(&comparison, &[], on_stdout(arguments.format.into())))?;
    match comparison.flips() {
        flips if flips.is_empty() => saved.whole(),
        flips => Err(Failure::Condition(format!("flipped on this machine: {}", flips.join(", ")))),
    }
}

/// The tasks of the run that this version still has.
fn same_tasks(old: &Run, talk: Talk) -> Result<Vec<Task>, Failure> {
    let mut tasks = all_tasks();
    tasks.retain(|task| old.tasks.iter().any(|known| todays_name(&known.task) == task.name));
    for task in &mut tasks {
        // The run may have used another baseline than the task's own. If it is missing here, the task keeps its own.
        let plan =
            old.tasks.iter().find(|known| todays_name(&known.task) == task.name).and_then(|known| known.plan.as_ref());
        plan.map(|plan| task.baseline(plan.baseline()));
    }
    for known in old.tasks.iter().filter(|known| !tasks.iter().any(|task| task.name == todays_name(&known.task))) {
        talk.say(&format!("! this version of candor has no task {}", known.task));
    }
    match tasks.is_empty() {
        true => Err(Failure::Error("this version of candor has none of the tasks of this run".into())),
        false => Ok(tasks),
    }
}
