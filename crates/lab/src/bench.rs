//! A `main` for the `cargo bench` of other projects: their own tasks, measured as candor measures its own.
//!
//! In `Cargo.toml`, `[[bench]]` with `harness = false`; in the file, [`main`] with the tasks. `examples/bench` in candor's repository is a whole project of that kind.
//!
//! ```no_run
//! use candor_lab::{Entry, Refusal, Task, bench};
//!
//! fn main() -> std::process::ExitCode {
//!     let entry = Entry::refused("nobody", Refusal::new("this is an example"));
//!     bench::main(vec![Task::new("sums/add", "adds 500 numbers").entry(entry)])
//! }
//! ```

use crate::analysis::Report;
use crate::plan::Processes;
use crate::remote::serve_lines;
use crate::report::{Form, render};
use crate::runfile::{Run, Tool};
use crate::session::{self, Progress, Settings, Spawn};
use crate::{LabError, Task};
use std::io::{stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The argument that makes this program a worker.
const WORKER: &str = "worker";

/// Time for each task, and with `--quick`.
const BUDGETS: [Duration; 2] = [Duration::from_secs(6), Duration::from_secs(2)];

/// Where runs are sealed, from the package's folder.
const RUNS: &str = "candor-runs";

const USAGE: &str = "usage: cargo bench -- [--quick] [WORDS OF A TASK'S NAME]";

/// Measures the tasks whose names contain one of the words on the command line, all without words; seals the run in `candor-runs` and prints its report.
pub fn main(tasks: Vec<Task>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some(WORKER) => serve_lines(|_| tasks, tool, stdin().lock(), &mut stdout().lock()),
        _ => {
            chosen(tasks, &arguments).and_then(|(tasks, budget)| run(&tasks, budget).map_err(|error| error.to_string()))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// What the command line asks for. cargo itself adds `--bench`.
fn chosen(mut tasks: Vec<Task>, arguments: &[String]) -> Result<(Vec<Task>, Duration), String> {
    let mut budget = BUDGETS[0];
    let mut words = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--bench" => {}
            "--quick" => budget = BUDGETS[1],
            flag if flag.starts_with('-') => return Err(format!("{flag} is not known; {USAGE}")),
            word => words.push(word),
        }
    }
    tasks.retain(|task| words.is_empty() || words.iter().any(|word| task.name.contains(word)));
    match tasks.is_empty() {
        true => Err(format!("no task is named like {}; {USAGE}", words.join(" or "))),
        false => Ok((tasks, budget)),
    }
}

/// This program: the lab's version, since that of the project says nothing of how it measures.
fn tool() -> Tool {
    Tool { version: env!("CARGO_PKG_VERSION").into(), ..Tool::default() }
}

fn run(tasks: &[Task], budget: Duration) -> Result<(), LabError> {
    let settings = Settings {
        budget,
        processes: Processes::default(),
        seed: None,
        subjects: Vec::new(),
        baseline: None,
        directory: PathBuf::from(RUNS),
        layout: None,
        repeats: None,
        tool: Tool { sha256: Tool::digest(), ..tool() },
        paired: None,
        command: vec!["cargo bench".into()],
    };
    let program = std::env::current_exe().map_err(|error| LabError::Worker(error.to_string()))?;
    let workers = Spawn { program, arguments: vec![WORKER.into()] };
    let watch = &mut |progress: Progress<'_>| match progress {
        Progress::Refused(out) => eprintln!("refused     {} of {}: {}", out.subject, out.task, out.reason),
        Progress::Lost(lost) => eprintln!("lost        process {} of {}: {}", lost.process, lost.task, lost.reason),
        _ => {}
    };
    // Ctrl-C ends the whole process group; nothing of an unfinished run is kept.
    let finished = session::run(tasks, &settings, &workers, &AtomicBool::new(false), watch)?;
    let report = Report::of(&Run::open(&finished.path)?);
    print!("{}", render(&[report], &[], Form::Text));
    eprintln!("run saved   {}", finished.path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Result<(Vec<String>, Duration), String> {
        let tasks = ["hash/sha256", "hash/sm3", "mac/hmac"].map(|name| Task::new(name, "")).into();
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        chosen(tasks, &arguments).map(|(tasks, budget)| (tasks.into_iter().map(|task| task.name).collect(), budget))
    }

    #[test]
    fn words_choose_tasks_and_what_cargo_adds_is_ignored() {
        assert_eq!(names(&["--bench"]).unwrap().0.len(), 3);
        assert_eq!(
            names(&["hash", "--bench", "--quick"]),
            Ok((vec!["hash/sha256".into(), "hash/sm3".into()], BUDGETS[1]))
        );
        assert!(names(&["--slow"]).unwrap_err().starts_with("--slow is not known; usage: cargo bench"));
        assert!(names(&["aead"]).unwrap_err().starts_with("no task is named like aead"));
    }
}
