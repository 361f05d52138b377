//! Finds the tasks that a user asks for.

use crate::{Failure, published};
use candor_lab::{SelectedBy, Task};
use std::collections::BTreeSet;

/// The tasks that the words select, in the order of the list; see [`matches()`].
pub(crate) fn tasks(all: Vec<Task>, words: &[String]) -> Result<Vec<Task>, Failure> {
    let mut chosen = BTreeSet::new();
    for word in words {
        let found = matches(&all, word);
        if found.is_empty() {
            let names = all.iter().map(|task| task.name.as_str());
            return Err(Failure::Error(unknown("task", word, names, "candor list tasks")));
        }
        chosen.extend(found);
    }
    let all = all.into_iter().enumerate();
    Ok(all.filter(|(at, _)| chosen.contains(at)).map(|(_, task)| task).collect())
}

/// Where the tasks are that one word selects: the task of that name, or those of a publication's key (`kctsb-001`), else those that have the
/// word among their segments (`hash/sha256`, `ml-kem-768/encaps`; `all` selects all but [variants](SelectedBy::Part)), else those of a family (`kem/hqc`, `mceliece/decode`),
/// whose segments go on with the parameters of a set. Of a task that is selected by the [beginning](SelectedBy::Beginning) of its name the word must be that.
pub(crate) fn matches(all: &[Task], word: &str) -> Vec<usize> {
    let word = word.trim_end_matches('/');
    if word.is_empty() {
        return Vec::new();
    }
    let published = published::tasks(word);
    let those =
        |selects: &dyn Fn(&Task) -> bool| -> Vec<usize> { (0..all.len()).filter(|&at| selects(&all[at])).collect() };
    let ways: [&dyn Fn(&Task) -> bool; 3] = [
        &|task| task.name == word || published.contains(task.name.as_str()),
        &|task| match task.selected_by {
            SelectedBy::Beginning => task.name.strip_prefix(word).is_some_and(|rest| rest.starts_with('/')),
            SelectedBy::All if word == "all" => true,
            _ => has_segments(&task.name, word, |segment, word| segment == word),
        },
        &|task| task.selected_by != SelectedBy::Beginning && has_segments(&task.name, word, is_of_family),
    ];
    ways.into_iter().map(those).find(|found| !found.is_empty()).unwrap_or_default()
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

/// Whether consecutive segments of the name are those of the word, as `same` compares them.
fn has_segments(name: &str, word: &str, same: impl Fn(&str, &str) -> bool) -> bool {
    let name: Vec<&str> = name.split('/').collect();
    let word: Vec<&str> = word.split('/').collect();
    name.windows(word.len()).any(|part| part.iter().zip(&word).all(|(segment, word)| same(segment, word)))
}

/// Whether a segment is the word, or the word and the parameters of a set: `hqc-1` and `mceliece348864f`, but not `ml-kem-768`
/// for `ml-kem-76`, which cuts a number.
fn is_of_family(segment: &str, word: &str) -> bool {
    let Some(rest) = segment.strip_prefix(word).filter(|_| !word.is_empty()) else { return false };
    let number = |c: char| c.is_ascii_digit();
    rest.is_empty() || rest.starts_with('-') || (rest.starts_with(number) && !word.ends_with(number))
}

/// The names and their beginnings, in order. A prefix is a name too: `hash/sha256` is a good suggestion for `hash/sha265`.
pub(crate) fn with_prefixes<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    names.flat_map(|name| name.match_indices('/').map(|(at, _)| &name[..at]).chain([name])).collect()
}

/// Says that there is no such name, and suggests the nearest ones: names, their beginnings and, for a word of one segment, segments.
pub(crate) fn unknown<'a>(kind: &str, word: &str, names: impl Iterator<Item = &'a str>, see: &str) -> String {
    let names: Vec<&str> = names.collect();
    let segments = names.iter().flat_map(|name| name.split('/')).filter(|_| !word.contains('/'));
    let known: BTreeSet<&str> = with_prefixes(names.iter().copied()).into_iter().chain(segments).collect();
    let mut near: Vec<(f64, &str)> = known
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
        names_of(&["kem/ml-kem-768/encaps", "kem/ml-kem-768/decaps", "kem/ml-kem-1024/encaps", "hash/sha256/1k"], words)
    }

    fn names_of(all: &[&str], words: &[&str]) -> Result<Vec<String>, String> {
        let all = all.iter().map(|&name| Task::new(name, "")).collect();
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
        let found = |word| matches(&all, word).into_iter().map(|at| all[at].name.as_str()).collect::<Vec<_>>();
        assert_eq!(found("hash/sha256/1k"), ["hash/sha256/1k"]);
        assert_eq!(found("sha256"), ["hash/sha256/1k", "batch/hash/sha256/1k"]);
        assert_eq!(found("sm3"), ["hash/sm3/1k"]);
        assert!(found("sm4").is_empty());
    }

    #[test]
    fn a_long_task_is_selected_by_the_beginning_of_its_name_only() {
        let all =
            [Task::new("hash/sha256/1k", ""), Task::new("file/hash/sha256/1g", "").selected_by(SelectedBy::Beginning)];
        let found = |word| matches(&all, word).into_iter().map(|at| all[at].name.as_str()).collect::<Vec<_>>();
        for word in ["all", "hash", "sha256", "hash/sha256"] {
            assert_eq!(found(word), ["hash/sha256/1k"], "{word}");
        }
        for word in ["file", "file/", "file/hash", "file/hash/sha256/1g"] {
            assert_eq!(found(word), ["file/hash/sha256/1g"], "{word}");
        }
        for word in ["fi", "1g", "sha256/1g"] {
            assert!(found(word).is_empty(), "{word}");
        }
    }

    #[test]
    fn a_variant_is_selected_by_parts_of_its_name_and_not_by_all() {
        let all = [Task::new("hash/sha256/1k", ""), Task::new("hash/sha256/10m", "").selected_by(SelectedBy::Part)];
        let found = |word| matches(&all, word).into_iter().map(|at| all[at].name.as_str()).collect::<Vec<_>>();
        assert_eq!(found("all"), ["hash/sha256/1k"]);
        assert_eq!(found("10m"), ["hash/sha256/10m"]);
        assert_eq!(found("hash"), ["hash/sha256/1k", "hash/sha256/10m"]);
    }

    #[test]
    fn the_key_of_a_publication_selects_the_tasks_that_do_its_work() {
        let all = candor_subjects::tasks();
        let found = matches(&all, "kctsb-001");
        let names: Vec<&str> = found.iter().map(|&at| all[at].name.as_str()).collect();
        let expected = published::tasks("kctsb-001");
        assert_eq!(names.len(), expected.len(), "each of its tasks is one of ours");
        assert!(names.iter().all(|name| expected.contains(*name)));
        assert!(names.contains(&"rsa/4096/pss-verify") && names.contains(&"sm2/decrypt"));
        assert!(published::tasks("kctsb-002").is_empty() && matches(&all, "kctsb-002").is_empty());
    }

    #[test]
    fn some_segments_of_a_name_are_enough() {
        assert_eq!(names(&["ml-kem-1024"]).unwrap(), ["kem/ml-kem-1024/encaps"]);
        assert_eq!(names(&["encaps", "sha256"]).unwrap().len(), 3);
    }

    #[test]
    fn a_family_selects_its_sets_where_no_segment_is_the_word() {
        let all = [
            "kem/hqc-1/decode",
            "kem/hqc-1/keygen",
            "kem/mceliece348864f/decode",
            "ntor/ntor/server",
            "ntor/ntor-v3/server",
        ];
        let names = |words: &[&str]| names_of(&all, words);
        assert_eq!(names(&["kem/hqc"]).unwrap(), ["kem/hqc-1/decode", "kem/hqc-1/keygen"]);
        assert_eq!(names(&["kem/mceliece", "hqc/decode"]).unwrap(), ["kem/hqc-1/decode", "kem/mceliece348864f/decode"]);
        // A segment that is the word leaves no room for its family.
        assert_eq!(names(&["ntor/ntor"]).unwrap(), ["ntor/ntor/server"]);
        for word in ["kem/hq", "mceliece3", "mceliece348864f/deco", "//decode", "/"] {
            assert!(names(&[word]).is_err(), "{word}");
        }
    }

    #[test]
    fn a_mistyped_name_suggests_the_nearest() {
        assert!(names(&["hash/sha265"]).unwrap_err().contains("hash/sha256"));
        assert!(names(&["kem/ml-kem-786"]).unwrap_err().contains("kem/ml-kem-768"));
        assert!(names(&["ml-kme-768"]).unwrap_err().contains("did you mean ml-kem-768"));
        assert!(names(&[""]).is_err());
    }
}
