//! Finds the tasks that a user asks for.

use crate::Failure;
use candor_lab::Task;

/// The tasks that the words select, in the order of the list. A word is the name of a task, some of its segments
/// (`hash/sha256`, `ml-kem-768/encaps`), or `all`.
pub(crate) fn tasks(all: Vec<Task>, words: &[String]) -> Result<Vec<Task>, Failure> {
    for word in words {
        if !all.iter().any(|task| selects(word, &task.name)) {
            return Err(Failure::Error(unknown(
                "task",
                word,
                all.iter().map(|task| task.name.as_str()),
                "candor list tasks",
            )));
        }
    }
    Ok(all.into_iter().filter(|task| words.iter().any(|word| selects(word, &task.name))).collect())
}

/// The task of that name, or all tasks that the word selects.
pub(crate) fn matches<'a>(all: &'a [Task], word: &str) -> Vec<&'a Task> {
    match all.iter().find(|task| task.name == word) {
        Some(task) => vec![task],
        None => all.iter().filter(|task| selects(word, &task.name)).collect(),
    }
}

/// Makes the subject of that name the baseline of every task. An error if a task does not have it.
pub(crate) fn baseline(tasks: &mut [Task], subject: &str) -> Result<(), Failure> {
    for task in tasks {
        if !task.baseline(subject) {
            let names = task.entries.iter().map(|entry| entry.subject.as_str());
            let see = format!("candor explain {}", task.name);
            return Err(Failure::Error(unknown(&format!("subject of {}", task.name), subject, names, &see)));
        }
    }
    Ok(())
}

/// Whether the word is `all` or consists of consecutive whole segments of the name.
fn selects(word: &str, name: &str) -> bool {
    let word = word.trim_end_matches('/');
    word == "all" || format!("/{name}/").contains(&format!("/{word}/")) && !word.is_empty()
}

/// Says that there is no such name, and suggests the nearest ones.
pub(crate) fn unknown<'a>(kind: &str, word: &str, names: impl Iterator<Item = &'a str>, see: &str) -> String {
    // A prefix is a name too: `hash/sha256` is a good suggestion for `hash/sha265`.
    let mut candidates: Vec<&str> = Vec::new();
    for name in names {
        candidates.push(name);
        candidates.extend(name.match_indices('/').map(|(at, _)| &name[..at]));
    }
    candidates.sort_unstable();
    candidates.dedup();
    let mut near: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|name| (strsim::jaro_winkler(word, name), name))
        .filter(|(near, _)| *near > 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, name)| name).collect();
    match near.is_empty() {
        true => format!("no {kind} is named {word:?}; `{see}` lists them all"),
        false => format!("no {kind} is named {word:?}; did you mean {}? `{see}` lists them all", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Vec<String>, String> {
        let all = ["kem/ml-kem-768/encaps", "kem/ml-kem-768/decaps", "kem/ml-kem-1024/encaps", "hash/sha256/1k"];
        let all = all.map(|name| Task::new(name, "")).into();
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        match tasks(all, &words) {
            Ok(tasks) => Ok(tasks.into_iter().map(|task| task.name).collect()),
            Err(Failure::Error(message)) => Err(message),
            Err(_) => unreachable!("choosing fails only with errors"),
        }
    }

    #[test]
    fn a_prefix_selects_everything_below_it_by_whole_segments() {
        assert_eq!(names(&["kem/ml-kem-768"]).unwrap().len(), 2);
        assert_eq!(names(&["kem/"]).unwrap().len(), 3);
        assert!(names(&["kem/ml-kem-76"]).is_err());
        assert_eq!(names(&["all"]).unwrap().len(), 4);
    }

    #[test]
    fn a_chosen_baseline_goes_first_and_the_others_keep_their_order() {
        use candor_lab::{Entry, Refusal};
        let entry = |name: &str| Entry::refused(name, Refusal::new("a test"));
        let mut tasks = [Task::new("t", "").entry(entry("a")).entry(entry("b")).entry(entry("c"))];
        assert!(baseline(&mut tasks, "c").is_ok());
        let names: Vec<_> = tasks[0].entries.iter().map(|entry| entry.subject.as_str()).collect();
        assert_eq!(names, ["c", "a", "b"]);
        assert!(baseline(&mut tasks, "d").is_err());
    }

    #[test]
    fn the_name_of_a_task_matches_that_task_alone() {
        let all = ["hash/sha256/1k", "batch/hash/sha256/1k", "hash/sm3/1k"].map(|name| Task::new(name, ""));
        let found = |word| matches(&all, word).iter().map(|task| task.name.as_str()).collect::<Vec<_>>();
        assert_eq!(found("hash/sha256/1k"), ["hash/sha256/1k"]);
        assert_eq!(found("sha256"), ["hash/sha256/1k", "batch/hash/sha256/1k"]);
        assert_eq!(found("sm3"), ["hash/sm3/1k"]);
        assert!(found("sm4").is_empty());
    }

    #[test]
    fn some_segments_of_a_name_are_enough() {
        assert_eq!(names(&["ml-kem-1024"]).unwrap(), ["kem/ml-kem-1024/encaps"]);
        assert_eq!(names(&["encaps", "sha256"]).unwrap().len(), 3);
    }

    #[test]
    fn a_mistyped_name_suggests_the_nearest() {
        assert!(names(&["hash/sha265"]).unwrap_err().contains("hash/sha256"));
        assert!(names(&["kem/ml-kem-786"]).unwrap_err().contains("kem/ml-kem-768"));
        assert!(names(&[""]).is_err());
    }
}
