//! `candor compare`: saved runs side by side.

use super::claims::claims;
use super::report::{ending, save, save_figure};
use crate::cli::{CompareArguments, FailOn};
use crate::output::{Talk, on_stdout, print};
use crate::{Failure, signature};
use candor_lab::compare::{Change, Comparison, Fate, Quoted};
use candor_lab::figure::slopes;
use candor_lab::report::render_comparison;
use candor_lab::runfile::Run;
use candor_lab::verdict::Verdict;
use std::path::{Path, PathBuf};

/// How the files of a comparison are called.
const NAME: &str = "comparison";

pub(crate) fn execute(arguments: &CompareArguments, talk: Talk) -> Result<(), Failure> {
    let mut runs: Vec<(PathBuf, Run)> = Vec::new();
    let mut lints = Vec::new();
    for path in &arguments.runs {
        let bytes = Run::bytes(path)?;
        let run = Run::of(path, &bytes)?;
        lints.extend(signature::lint(path, &bytes, talk).map(|lint| (run.name.clone(), lint)));
        runs.push((path.clone(), run));
    }
    let mut comparison = Comparison::of(&runs)?;
    for report in comparison.columns.iter_mut().flat_map(|column| &mut column.reports) {
        report.lints.extend(lints.iter().filter(|(run, _)| *run == report.run).map(|(_, lint)| lint.clone()));
    }
    let tasks: Vec<&str> = runs.iter().flat_map(|(_, run)| &run.tasks).map(|task| task.task.as_str()).collect();
    let claims = claims(&arguments.claims, &tasks)?;
    let quoted: Vec<Quoted> = claims.iter().flat_map(|claims| comparison.quoted(claims)).collect();
    let directory = arguments.output.as_deref();
    let form = arguments.format.into();
    match directory {
        Some(directory) => {
            let text = render_comparison(&comparison, &quoted, form);
            save(directory, &format!("{NAME}.{}", ending(arguments.format)), text.as_bytes(), talk)?;
        }
        None => print(&render_comparison(&comparison, &quoted, on_stdout(form)))?,
    }
    if !arguments.figures.is_empty() {
        match slopes(&comparison) {
            Some(figure) => {
                save_figure(&figure, NAME, &arguments.figures, directory.unwrap_or(Path::new(".")), talk)?;
            }
            None => talk.say("no figure: no comparison stands in two columns"),
        }
    }
    judge(&comparison, arguments)
}

/// What keeps the evidence from showing that there is nothing of the kind.
fn open(condition: FailOn, comparison: &Comparison) -> Option<String> {
    match condition {
        FailOn::Slower if comparison.tells_of_changes() => None,
        FailOn::Slower if comparison.changes.iter().any(Change::is_told) => {
            Some(format!("no verdict about the later build at {}", comparison.untold().join(", ")))
        }
        FailOn::Slower => Some("no change from one build to another can be told".into()),
        FailOn::Broken => comparison.changes.is_empty().then(|| "no two builds were compared".into()),
        FailOn::Flips => (!comparison.tells_of_fates()).then(|| "no verdict stands in two columns".into()),
    }
}

/// What was found of the kind.
fn found(condition: FailOn, comparison: &Comparison) -> Option<String> {
    let (found, what) = match condition {
        FailOn::Slower => (comparison.slower(), "slower"),
        FailOn::Broken => (comparison.broken(), "broken"),
        FailOn::Flips => (comparison.flips(), "flipped"),
    };
    (!found.is_empty()).then(|| format!("{what}: {}", found.join(", ")))
}

/// Whether what was asked for holds. That a condition is met says more than that another one can't be told.
fn judge(comparison: &Comparison, arguments: &CompareArguments) -> Result<(), Failure> {
    let of_all = |look: fn(FailOn, &Comparison) -> Option<String>| {
        let all: Vec<String> = arguments.fail_on.iter().filter_map(|condition| look(*condition, comparison)).collect();
        (!all.is_empty()).then(|| all.join("; "))
    };
    if let Some(found) = of_all(found) {
        return Err(Failure::Condition(found));
    }
    if let Some(open) = of_all(open) {
        return Err(Failure::CantTell(open));
    }
    let open = comparison.changed(Verdict::CantTell) + comparison.count(|fate| *fate == Fate::CantTell);
    match open {
        1.. if arguments.require_verdict => Err(Failure::CantTell(format!("{open} times \"can't tell\""))),
        _ => Ok(()),
    }
}
