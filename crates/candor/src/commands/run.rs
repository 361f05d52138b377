//! `candor run`: measures tasks.

use super::parent;
use super::smoke;
use crate::cli::{Format, RunArguments};
use crate::config::Config;
use crate::measure::{all_tasks, measure_builds, measure_by, settings, workers};
use crate::output::{Talk, columns, on_stdout, print};
use crate::{Failure, choose, published, signature};
use candor_lab::plan::Processes;
use candor_lab::program::subject;
use candor_lab::report::{Answer, Form, render};
use candor_lab::session::{Settings, Spawn};
use candor_lab::verdict::Verdict;
use candor_lab::{SelectedBy, Task};
use std::path::{Path, PathBuf, absolute};

/// Seconds for each task under `--quick`.
const QUICK: f64 = 2.0;

impl From<Format> for Form {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Md => Self::Markdown,
            Format::Csv => Self::Csv,
            Format::Json => Self::Json,
            Format::Html => Self::Html,
            Format::Tex => Self::Tex,
        }
    }
}

pub(crate) fn execute(arguments: RunArguments, talk: Talk) -> Result<(), Failure> {
    parent::follow()?;
    let words = match arguments.tasks.is_empty() {
        true => candor_subjects::tour().into_iter().map(str::to_owned).collect(),
        false => arguments.tasks.clone(),
    };
    // Tasks of the self-test can be run by name, but `all` does not include them.
    let mut every =
        if words.iter().any(|word| word.starts_with("self-test")) { all_tasks() } else { candor_subjects::tasks() };
    if arguments.smoke {
        // A moment each: `all` leaves out no variant.
        every
            .iter_mut()
            .filter(|task| task.selected_by == SelectedBy::Part)
            .for_each(|task| task.selected_by = SelectedBy::All);
    }
    let mut tasks = choose::tasks(every, &words)?;
    let programs = programs(&arguments.peer_program, &mut tasks)?;
    if let Some(baseline) = &arguments.baseline {
        choose::baseline(&mut tasks, baseline)?;
    }
    let config = Config::load()?;
    // Builds are compared with each other, whatever peers candor.toml names.
    let mut peers = match (arguments.against.is_empty(), arguments.peer.is_empty()) {
        (false, _) => Vec::new(),
        (true, true) => config.peer.clone(),
        (true, false) => arguments.peer.clone(),
    };
    known_peers(&tasks, &peers)?;
    if !peers.is_empty() {
        peers.extend(programs.iter().map(|program| subject(program)));
    }
    let workers = with_programs(workers()?, &programs);
    if arguments.smoke {
        return smoke::execute(&tasks, arguments.format, &workers);
    }

    let budget = if arguments.quick { Some(QUICK) } else { arguments.budget.or(config.budget) };
    let processes = match arguments.processes.or(config.processes) {
        Some(processes) => Processes::Exactly(processes as usize),
        None if arguments.quick => Processes::LosingOne,
        None => Processes::HalfAgain,
    };
    let settings = settings(budget, processes, arguments.seed, peers, config.runs(arguments.runs));
    let settings = Settings { baseline: arguments.baseline.clone(), ..settings };
    let key = arguments.sign.as_deref().map(signature::Key::find).transpose()?;
    let saved = match &arguments.against[..] {
        [] => measure_by(&workers, &tasks, &settings, talk)?,
        others => measure_builds(&tasks, settings, others, talk)?,
    };
    print(&render(std::slice::from_ref(&saved.report), &[], on_stdout(arguments.format.into())))?;
    for claims in words.iter().filter_map(|word| published::named(word)) {
        let answer = Answer::new(claims, &saved.report);
        match arguments.format {
            Format::Text => print(&format!("\n{}", answer.text(columns())))?,
            Format::Md => print(&format!("\n{}", answer.markdown()))?,
            // Of one kind, for programs: `candor report --answer` has the rows.
            _ => {}
        }
    }
    if let Some(key) = key {
        talk.say(&format!("signed      {}", key.sign(&saved.path)?.display()));
    }
    saved.whole()?;
    // Its name once more, below the tables.
    let next = if arguments.against.is_empty() { "report" } else { "compare" };
    talk.say(&format!("next        candor {next} {}", saved.path.display()));
    let unsettled = saved.report.rows().filter(|(_, row)| row.verdict == Verdict::CantTell).count();
    let settled =
        saved.report.rows().any(|(_, row)| matches!(row.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same));
    match (arguments.require_verdict, unsettled) {
        (true, 1..) => Err(Failure::CantTell(format!("no verdict for {unsettled} rows (\"can't tell\")"))),
        (true, 0) if !settled => {
            Err(Failure::CantTell("no row has a verdict: nothing does the baseline's work".into()))
        }
        _ => Ok(()),
    }
}

/// Adds these programs to the tasks that can be given to programs, and says where they are.
pub(super) fn programs(paths: &[PathBuf], tasks: &mut [Task]) -> Result<Vec<PathBuf>, Failure> {
    let mut programs: Vec<PathBuf> = Vec::new();
    for path in paths {
        let program = absolute(path)?;
        if !program.is_file() {
            return Err(Failure::Error(format!("no program at {}", path.display())));
        }
        if let Some(other) = programs.iter().find(|other| subject(other) == subject(&program)) {
            let (one, other) = (path.display(), other.file_name().unwrap_or_default().display());
            return Err(Failure::Error(format!(
                "{one} and another {other} would both be called {}: rename one",
                subject(path)
            )));
        }
        programs.push(program);
    }
    if !programs.is_empty() && !tasks.iter().any(Task::takes_programs) {
        let known = "hash/…, mac/… and ec/x25519/ecdh";
        return Err(Failure::Error(format!("none of these tasks can be given to a program; those of {known} can")));
    }
    tasks.iter_mut().for_each(|task| programs.iter().for_each(|program| task.program(program)));
    Ok(programs)
}

/// Workers that know these programs, too.
pub(super) fn with_programs(mut workers: Spawn, programs: &[PathBuf]) -> Spawn {
    let flag = |program: &PathBuf| ["--peer-program".to_owned(), Path::new(program).display().to_string()];
    workers.arguments.extend(programs.iter().flat_map(flag));
    workers
}

fn known_peers(tasks: &[Task], peers: &[String]) -> Result<(), Failure> {
    let names = || tasks.iter().flat_map(|task| &task.entries).map(|entry| entry.subject.as_str());
    match peers.iter().find(|peer| !names().any(|name| name.starts_with(peer.as_str()))) {
        Some(peer) => {
            Err(Failure::Error(choose::unknown("subject of these tasks", peer, names(), "candor list peers")))
        }
        None => Ok(()),
    }
}
