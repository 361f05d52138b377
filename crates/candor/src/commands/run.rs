//! `candor run`.

use super::{STOP, Talk, all_tasks, command_line, doctor, print, smoke, stop_in_good_order, tool, workers};
use crate::cli::{Format, RunArguments};
use crate::config::Config;
use crate::progress::Watch;
use crate::{Failure, choose};
use candor_lab::Task;
use candor_lab::analysis::Report;
use candor_lab::report::{Form, render};
use candor_lab::runfile::Run;
use candor_lab::session::{self, Settings};
use candor_lab::verdict::Verdict;
use std::path::PathBuf;
use std::time::Duration;

/// Seconds a task, unless told otherwise.
const BUDGET: f64 = 6.0;

/// Seconds a task under `--quick`.
const QUICK: f64 = 2.0;

impl From<Format> for Form {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Md => Self::Markdown,
            Format::Csv => Self::Csv,
            Format::Json => Self::Json,
            Format::Html => Self::Html,
        }
    }
}

pub(crate) fn execute(arguments: RunArguments, talk: Talk) -> Result<(), Failure> {
    let words = match arguments.tasks.is_empty() {
        true => candor_subjects::tour().into_iter().map(str::to_owned).collect(),
        false => arguments.tasks.clone(),
    };
    // The self-test's tasks answer to their full names, but `all` means the products.
    let every =
        if words.iter().any(|word| word.starts_with("self-test")) { all_tasks() } else { candor_subjects::tasks() };
    let mut tasks = choose::tasks(every, &words)?;
    if let Some(baseline) = &arguments.baseline {
        choose::baseline(&mut tasks, baseline)?;
    }
    let config = Config::load()?;
    let peers = if arguments.peer.is_empty() { config.peer.clone() } else { arguments.peer.clone() };
    known_peers(&tasks, &peers)?;
    if arguments.smoke {
        return smoke::execute(&tasks);
    }

    let budget = if arguments.quick { Some(QUICK) } else { arguments.budget.or(config.budget) };
    let processes = arguments.processes.or(config.processes).map(|processes| processes as usize);
    let settings = settings(budget, processes, arguments.seed, peers, config.runs(arguments.runs));
    let report = measure(&tasks, &settings, talk)?;
    print(&render(std::slice::from_ref(&report), &[], arguments.format.into()))?;
    let unsettled = report.rows().filter(|(_, row)| row.verdict == Verdict::CantTell).count();
    match arguments.require_verdict && unsettled > 0 {
        true => Err(Failure::CantTell(format!("{unsettled} rows read \"can't tell\""))),
        false => Ok(()),
    }
}

/// The settings of a run, with what the self-test found on this machine.
pub(crate) fn settings(
    budget: Option<f64>,
    processes: Option<usize>,
    seed: Option<u64>,
    subjects: Vec<String>,
    directory: PathBuf,
) -> Settings {
    Settings {
        budget: Duration::from_secs_f64(budget.unwrap_or(BUDGET)),
        processes,
        seed,
        subjects,
        layout: doctor::known_layout(&directory),
        directory,
        repeats: None,
        tool: tool(),
        command: command_line(),
    }
}

/// Measures, seals, reads back what was sealed, and says where it is.
pub(crate) fn measure(tasks: &[Task], settings: &Settings, talk: Talk) -> Result<Report, Failure> {
    stop_in_good_order()?;
    let mut watch = Watch::new(talk.quiet, talk.verbose);
    let finished = session::run(tasks, settings, &workers()?, &STOP, &mut |progress| watch.event(progress))?;
    drop(watch);
    let run = Run::open(&finished.path)?;
    if finished.interrupted {
        talk.say("stopped: what was measured is sealed, unfinished tasks read \"can't tell\"");
    }
    talk.say(&format!("run saved   {}", finished.path.display()));
    Ok(Report::of(&run))
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
