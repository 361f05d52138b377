//! Every run in `runs/` has a name as candor gives it and is cited by a document, and every run that a document or `bars.toml` cites is there.

use super::Violation;
use std::collections::{BTreeMap, BTreeSet};

/// How the table of arms is called; its rows say `run NAME`.
pub(super) const ARMS: &str = "arms.table";

/// What is wrong, given the names of the files in `runs/` and the texts that may cite them.
pub(crate) fn check(runs: &BTreeSet<String>, texts: &[(String, String)]) -> Vec<Violation> {
    let mut found = Vec::new();
    for run in runs {
        if !is_name(run) {
            let what = "not a name that candor gives, DAY-CPU-DIGEST: `candor verify` says what it was";
            found.push(Violation::new(&format!("runs/{run}.jsonl"), 1, what));
        }
        let documents = texts.iter().filter(|(file, _)| file.ends_with(".md") || file.ends_with(ARMS));
        if !documents.into_iter().any(|(_, text)| text.contains(run.as_str())) {
            let what = "no document and no table of arms cites this run: remove it, or cite it (`cargo xtask bars --write` cites those that decide a bar)";
            found.push(Violation::new(&format!("runs/{run}.jsonl"), 1, what));
        }
    }
    for (file, text) in texts {
        for (index, line) in text.lines().enumerate() {
            for name in cited(file, line).filter(|name| !runs.contains(*name)) {
                found.push(Violation::new(file, index + 1, format!("cites runs/{name}.jsonl, which is not there")));
            }
        }
    }
    found
}

/// The commits that runs were built from and that nobody can check out: `is_there` says whether one is below HEAD. Those in `gone` are known, and must be gone.
pub(crate) fn check_commits(
    commits: &BTreeMap<String, String>,
    gone: &[&str],
    is_there: impl Fn(&str) -> bool,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for (run, commit) in commits {
        let what = match (is_there(commit), gone.contains(&commit.as_str())) {
            (false, false) => {
                "which is not below HEAD: nobody can build it; commit what it was built from, or measure again"
            }
            (true, true) => {
                "which is there again: it is no longer one of the commits that are gone (xtask/src/bars/report.rs)"
            }
            _ => continue,
        };
        found.push(Violation::new(&format!("runs/{run}.jsonl"), 1, format!("was built from commit {commit}, {what}")));
    }
    let cited = |commit: &&&str| commits.is_empty() || commits.values().any(|known| known == *commit);
    found.extend(gone.iter().filter(|commit| !cited(commit)).map(|commit| {
        Violation::new(
            "xtask/src/bars/report.rs",
            1,
            format!("commit {commit} is gone, and no run was built from it: remove it"),
        )
    }));
    found
}

/// The commit in the first line of a run file, if its tree had no changes.
pub(super) fn commit_of(run: &[u8]) -> Option<String> {
    let line = run.split(|&byte| byte == b'\n').next()?;
    let manifest: serde_json::Value = serde_json::from_slice(line).ok()?;
    let tool = &manifest["tool"];
    (tool["dirty"] == false).then(|| tool["commit"].as_str().map(str::to_owned))?
}

/// Whether a name is a day, a CPU and six digits of a digest. That they are the run's own, its reader sees to.
fn is_name(run: &str) -> bool {
    let day = run.bytes().take(10).map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    let digest = run.rsplit_once('-').map_or("", |(_, digest)| digest);
    let is_digest = digest.len() == 6 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    day.eq(*b"0000-00-00") && is_digest && run.len() > "2026-11-21--3f9c1a".len()
}

/// The runs that a line names: `runs/NAME.jsonl`, in `runs/` itself `(NAME.jsonl)`, in the table of arms `run NAME,`.
fn cited<'a>(file: &str, line: &'a str) -> impl Iterator<Item = &'a str> {
    let (start, end) = match file {
        _ if file.ends_with(ARMS) => ("run ", ","),
        _ if file.starts_with("runs/") => ("(", ".jsonl"),
        _ => ("runs/", ".jsonl"),
    };
    line.split(start).skip(1).filter_map(move |rest| {
        let (name, _) = rest.split_once(end)?;
        let named = |c: char| c.is_ascii_alphanumeric() || c == '-';
        (name.starts_with("20") && name.chars().all(named)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(runs: &[&str], texts: &[(&str, &str)]) -> Vec<String> {
        let texts: Vec<_> = texts.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let runs = runs.iter().map(|run| (*run).to_owned()).collect();
        check(&runs, &texts).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_run_that_no_document_cites_is_found() {
        let (one, two) = ("2026-11-21-zen5-000001", "2026-11-21-zen5-000002");
        let text = format!("see [1]({one}.jsonl) and [2]({two}.jsonl)");
        assert!(found(&[one, two], &[("runs/README.md", &text)]).is_empty());
        // The list of bars is read by a program; it shows nothing to a reader.
        let bars = format!("run = \"runs/{two}.jsonl\"");
        let arms = format!("gf2-mul widest run {two}, 2026-11-21, a CPU");
        let with_arms = [("README.md", format!("see runs/{one}.jsonl")), ("crates/cpu/arms.table", arms)];
        assert!(found(&[one, two], &with_arms.each_ref().map(|(file, text)| (*file, text.as_str()))).is_empty());
        let found = found(&[one, two], &[("README.md", &format!("see runs/{one}.jsonl")), ("bars.toml", &bars)]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .starts_with("runs/2026-11-21-zen5-000002.jsonl:1: no document and no table of arms cites this run"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_run_was_built_from_a_commit_that_everybody_has() {
        let run = |dirty: bool, commit: &str| {
            format!("{{\"kind\":\"manifest\",\"tool\":{{\"commit\":\"{commit}\",\"dirty\":{dirty}}}}}\n{{}}\n")
        };
        assert_eq!(commit_of(run(false, "aa").as_bytes()).as_deref(), Some("aa"));
        assert_eq!((commit_of(run(true, "aa").as_bytes()), commit_of(b"x")), (None, None));
        let commits = BTreeMap::from([("one".to_owned(), "aa".to_owned()), ("two".to_owned(), "bb".to_owned())]);
        let found =
            |gone: &[&str], there: &[&str]| check_commits(&commits, gone, |commit| there.contains(&commit)).len();
        assert_eq!((found(&[], &["aa", "bb"]), found(&["bb"], &["aa"])), (0, 0));
        assert_eq!((found(&[], &["aa"]), found(&["bb"], &["aa", "bb"]), found(&["cc"], &["aa", "bb"])), (1, 1, 1));
    }

    #[test]
    fn a_run_has_the_name_that_candor_gave_it() {
        for (name, is_canonical) in [
            ("2026-11-21-zen5-3f9c1a", true),
            ("2026-11-21-zen5-256-3f9c1a", true),
            ("2026-11-21-zen5-3F9C1A", false),
            ("2026-11-21-zen5-3f9c1a7", false),
            ("2031-01-01-zen5-256-rerun", false),
            ("2026-11-21-3f9c1a", false),
            ("zen5-3f9c1a", false),
        ] {
            let found = found(&[name], &[("README.md", &format!("see runs/{name}.jsonl"))]);
            assert_eq!(found.is_empty(), is_canonical, "{found:?}");
        }
    }

    #[test]
    fn a_citation_of_a_run_that_is_not_there_is_found() {
        for (file, line) in [
            ("METHOD.md", "as runs/2026-11-21-zen5-000001.jsonl shows"),
            ("bars.toml", "run = \"runs/2026-11-21-zen5-000001.jsonl\""),
            ("runs/README.md", "| [000001](2026-11-21-zen5-000001.jsonl) |"),
            ("crates/cpu/arms.table", "keccak widest run 2026-11-21-zen5-000001, 2026-11-21, a CPU"),
        ] {
            assert_eq!(
                found(&[], &[(file, line)]),
                [format!("{file}:1: cites runs/2026-11-21-zen5-000001.jsonl, which is not there")]
            );
        }
        assert!(found(&[], &[("README.md", "`candor report runs/FILE`, runs/*.jsonl, candor-runs/x")]).is_empty());
    }
}
