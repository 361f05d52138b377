//! The words of committed runs beside those of today: whoever puts a sentence into other words leaves the runs comparable, and whoever renames a task has them found.

use candor_lab::compare::{differing_work, todays_name};
use candor_lab::runfile::Run;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn runs() -> Vec<PathBuf> {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs");
    let entries = std::fs::read_dir(runs).map(|entries| entries.map(|entry| entry.unwrap().path()).collect());
    let mut runs: Vec<PathBuf> = entries.unwrap_or_default();
    runs.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    if runs.is_empty() {
        println!("skipped: this copy of the crate has no committed runs beside it");
    }
    runs
}

/// `candor rerun` works with anybody's run.
#[test]
fn every_task_of_a_committed_run_is_one_of_today() {
    let known: BTreeSet<String> = candor_subjects::tasks().into_iter().map(|task| task.name).collect();
    let missing: Vec<(String, String)> = runs()
        .iter()
        .map(|path| Run::open(path).unwrap())
        .flat_map(|run| run.tasks.into_iter().map(move |task| (run.name.clone(), task.task)))
        .filter(|(_, task)| !known.contains(todays_name(task)))
        .collect();
    assert!(
        missing.is_empty(),
        "renamed? then FORMER_TASKS in the lab's compare/words.rs needs the former name: {missing:?}"
    );
}

/// The run that README recommends to repeat, and one of each kind of work whose sentences were reworded since: each subject that this build has is the same.
#[test]
fn what_runs_say_of_a_timed_call_is_what_this_build_says_in_whatever_words() {
    let named = ["24-zen4-f107e2", "24-zen4-a9070a", "24-zen4-bec9ac", "25-zen3-1c3647"];
    let tasks = candor_subjects::tasks();
    let mut compared = 0;
    let mut differing = Vec::new();
    for path in runs() {
        if !named.iter().any(|name| path.display().to_string().contains(name)) {
            continue;
        }
        for record in Run::open(&path).unwrap().subjects {
            let Some(task) = tasks.iter().find(|task| task.name == todays_name(&record.task)) else { continue };
            let Some(entry) = task.entries.iter().find(|entry| entry.subject == record.subject) else { continue };
            let Ok(subject) = entry.make() else { continue };
            // Its sentence said nothing of where its randomness comes from, in words that others have of which some draw none.
            if record.subject == "sm2-0.14.0" {
                continue;
            }
            compared += 1;
            differing.extend(
                differing_work(&record.provenance, &subject.provenance())
                    .map(|why| format!("{} {}: {why}", record.task, record.subject)),
            );
        }
    }
    assert!(compared > 100, "{compared} subjects");
    assert_eq!(differing, [""; 0], "reworded? then FORMER in the lab's compare/words.rs needs the former words");
}
