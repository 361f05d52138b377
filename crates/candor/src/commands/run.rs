//! `candor run`: measures tasks.

use super::smoke;
use crate::cli::{Format, RunArguments};
use crate::config::Config;
use crate::measure::{all_tasks, measure, settings};
use crate::output::{Talk, on_stdout, print};
use crate::{Failure, choose, signature};
use candor_lab::Task;
use candor_lab::report::{Form, render};
use candor_lab::verdict::Verdict;

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
        }
    }
}

pub(crate) fn execute(arguments: RunArguments, talk: Talk) -> Result<(), Failure> {
    let words = match arguments.tasks.is_empty() {
        true => candor_subjects::tour().into_iter().map(str::to_owned).collect(),
        false => arguments.tasks.clone(),
    };
    // Tasks of the self-test can be run by name, but `all` does not include them.
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
        return smoke::execute(&tasks, arguments.format);
    }

    let budget = if arguments.quick { Some(QUICK) } else { arguments.budget.or(config.budget) };
    let processes = arguments.processes.or(config.processes).map(|processes| processes as usize);
    let settings = settings(budget, processes, arguments.seed, peers, config.runs(arguments.runs));
    let key = arguments.sign.as_deref().map(signature::Key::find).transpose()?;
    let saved = measure(&tasks, &settings, talk)?;
    print(&render(std::slice::from_ref(&saved.report), &[], on_stdout(arguments.format.into())))?;
    if let Some(key) = key {
        talk.say(&format!("signed      {}", key.sign(&saved.path)?.display()));
    }
    saved.whole()?;
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

fn known_peers(tasks: &[Task], peers: &[String]) -> Result<(), Failure> {
    let names = || tasks.iter().flat_map(|task| &task.entries).map(|entry| entry.subject.as_str());
    match peers.iter().find(|peer| !names().any(|name| name.starts_with(peer.as_str()))) {
        Some(peer) => {
            Err(Failure::Error(choose::unknown("subject of these tasks", peer, names(), "candor list peers")))
        }
        None => Ok(()),
    }
}
