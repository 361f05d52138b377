//! Measuring, as `run`, `rerun` and the self-test share it: settings, workers, Ctrl-C, and the run file at the end.

use crate::config::RUNS;
use crate::output::Talk;
use crate::progress::Watch;
use crate::{Failure, layout};
use candor_lab::analysis::Report;
use candor_lab::paired::{Builds, Program};
use candor_lab::plan::Processes;
use candor_lab::runfile::{Lock, Run, Tool};
use candor_lab::session::{self, Settings, Spawn, Workers};
use candor_lab::{LabError, Task};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Seconds for each task where neither flag nor file says otherwise.
pub(crate) const BUDGET: f64 = 6.0;

/// Set by Ctrl-C or SIGTERM: what has been measured by then is sealed.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C and SIGTERM end a run in good order from now on.
pub(crate) fn stop_on_signals() -> Result<(), Failure> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Error(format!("can't catch Ctrl-C: {error}")))
}

/// The settings of a run, with what the newest self-test of this build found, there or in the default directory of runs.
pub(crate) fn settings(
    budget: Option<f64>,
    processes: Processes,
    seed: Option<u64>,
    subjects: Vec<String>,
    directory: PathBuf,
) -> Settings {
    let tool = tool();
    let layout = layout::known(&directory, &tool).or_else(|| layout::known(Path::new(RUNS), &tool));
    Settings {
        budget: Duration::from_secs_f64(budget.unwrap_or(BUDGET)),
        processes,
        seed,
        subjects,
        baseline: None,
        layout,
        directory,
        repeats: None,
        paired: None,
        tool,
        command: command(),
    }
}

/// The command line, as a run file has it.
pub(crate) fn command() -> Vec<String> {
    std::iter::once("candor".to_owned()).chain(std::env::args().skip(1).map(without_directories)).collect()
}

/// An argument as the run file has it: of an absolute path the last name alone. Run files are given to others, and the rest may name a user.
fn without_directories(argument: String) -> String {
    let (flag, value) = argument.split_once('=').map_or(("", argument.as_str()), |(flag, value)| (flag, value));
    let path = Path::new(value);
    match path.file_name().filter(|_| path.is_absolute()) {
        Some(name) if flag.is_empty() => format!("…/{}", name.display()),
        Some(name) => format!("{flag}=…/{}", name.display()),
        None => argument,
    }
}

/// A run that has been saved.
pub(crate) struct Saved {
    pub(crate) report: Report,
    pub(crate) path: PathBuf,
    interrupted: bool,
}

impl Saved {
    /// Whether all of the plan was measured.
    pub(crate) fn whole(&self) -> Result<(), Failure> {
        whole(self.interrupted)
    }
}

/// A script must not take a part of a run for the whole.
pub(crate) fn whole(interrupted: bool) -> Result<(), Failure> {
    match interrupted {
        true => Err(Failure::Condition("the run was interrupted before its plan was complete".into())),
        false => Ok(()),
    }
}

/// [`measure_by`] this build and others, of the baselines of these tasks.
pub(crate) fn measure_builds(
    tasks: &[Task],
    settings: Settings,
    others: &[PathBuf],
    talk: Talk,
) -> Result<Saved, Failure> {
    let worker = |path: &PathBuf| Program { path: path.clone(), arguments: vec!["worker".into()] };
    // A name without a slash is a file here, not a program on the search path.
    let absolute = |path: &PathBuf| {
        std::path::absolute(path).map_err(|error| Failure::Error(format!("can't find {}: {error}", path.display())))
    };
    let others: Vec<PathBuf> = others.iter().map(absolute).collect::<Result<_, Failure>>()?;
    let own = (worker(&std::env::current_exe()?), settings.tool.clone());
    let builds = Builds::meet(own, others.iter().map(worker).collect(), tasks)?;
    let settings = Settings { paired: Some(builds.record()), ..settings };
    measure_by(&builds, &builds.tasks(), &settings, talk)
}

/// Measures, seals, reads back what was sealed, and says where it is.
pub(crate) fn measure_by(
    workers: &dyn Workers,
    tasks: &[Task],
    settings: &Settings,
    talk: Talk,
) -> Result<Saved, Failure> {
    stop_on_signals()?;
    let mut watch = Watch::new(talk.quiet, talk.verbose);
    let finished = session::run(tasks, settings, workers, &STOP, &mut |progress| watch.event(progress))?;
    drop(watch);
    let run = Run::open(&finished.path)?;
    if finished.interrupted {
        talk.say("stopped early: the measurements so far are sealed; unfinished tasks read \"can't tell\"");
    }
    talk.say(&format!("run saved   {}", finished.path.display()));
    Ok(Saved { report: Report::of(&run), path: finished.path, interrupted: finished.interrupted })
}

/// One run without progress or report, for a trial of the self-test. `None` if it was stopped.
pub(crate) fn trial(task: Task, settings: &Settings, workers: &Spawn) -> Result<Option<Run>, LabError> {
    match session::run(&[task], settings, workers, &STOP, &mut |_| {}) {
        Ok(finished) if !finished.interrupted => Run::open(&finished.path).map(Some),
        Ok(_) => Ok(None),
        Err(_) if STOP.load(Ordering::Relaxed) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Every task that a worker can be asked for: those of the list and those of the self-test.
pub(crate) fn all_tasks() -> Vec<Task> {
    with_self_test(candor_subjects::tasks())
}

/// `tasks` and those of the self-test.
pub(crate) fn with_self_test(mut tasks: Vec<Task>) -> Vec<Task> {
    tasks.extend(candor_subjects::self_test::all().into_iter().map(|test| test.task));
    tasks
}

/// This very program as worker.
pub(crate) fn workers() -> Result<Spawn, Failure> {
    Ok(Spawn { program: std::env::current_exe()?, arguments: vec!["worker".into()] })
}

/// This program.
pub(crate) fn tool() -> Tool {
    Tool { sha256: Tool::digest(), ..described() }
}

/// This program without the digest of its file, which takes a while to compute.
pub(crate) fn described() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("CANDOR_COMMIT").map(str::to_owned),
        dirty: option_env!("CANDOR_DIRTY") == Some("true"),
        rustc: env!("CANDOR_RUSTC").into(),
        build: env!("CANDOR_BUILD").into(),
        sha256: None,
        lock: option_env!("CANDOR_LOCK").and_then(Lock::told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_file_names_no_directory_of_this_machine() {
        let kept = |argument: &str| without_directories(argument.to_owned());
        assert_eq!(kept("/some/user/runs"), "…/runs");
        assert_eq!(kept("--runs=/some/user/runs/"), "--runs=…/runs");
        for harmless in ["run", "kem/ml-kem-768", "--budget=3", "--runs=here", "runs/a.jsonl", "--peer=", "/"] {
            assert_eq!(kept(harmless), harmless);
        }
    }
}
