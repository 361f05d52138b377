//! The table of bars in `runs/README.md`: the document that cites the runs.

use super::{Judged, Line, counts};
use crate::Failure;
use std::fmt::Write as _;
use std::path::Path;

/// Where the table stands.
pub(super) const FILE: &str = "runs/README.md";
/// The line above it. What stands before is written by hand.
const MARK: &str = "<!-- below: cargo xtask bars --write -->";

/// Puts the table into the document.
pub(super) fn write(root: &Path, judged: &[Judged]) -> Result<(), Failure> {
    let text = with_table(&read(root)?, judged)?;
    std::fs::write(root.join(FILE), text).map_err(|error| format!("cannot write {FILE}: {error}"))
}

/// Whether the document has this table.
pub(super) fn check(root: &Path, judged: &[Judged]) -> Result<bool, Failure> {
    let text = read(root)?;
    let wanted = with_table(&text, judged)?;
    let differs = text.lines().zip(wanted.lines()).position(|(has, wanted)| has != wanted);
    if text != wanted {
        let line = differs.unwrap_or_else(|| text.lines().count().min(wanted.lines().count())) + 1;
        println!(
            "{FILE}:{line}: the table is not what the runs and bars.toml say: `cargo xtask bars --write` writes it"
        );
    }
    Ok(text == wanted)
}

fn read(root: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("cannot read {FILE}: {error}"))
}

fn with_table(text: &str, judged: &[Judged]) -> Result<String, Failure> {
    let (head, _) = text.split_once(MARK).ok_or_else(|| format!("{FILE} lacks the line `{MARK}`"))?;
    Ok(format!("{head}{MARK}\n\n{}", markdown(judged)))
}

/// A table for each issue. A bar's words stand in its first row.
fn markdown(judged: &[Judged]) -> String {
    let mut text = format!("{}.\n", counts(judged));
    let mut issue = None;
    for (bar, lines) in judged {
        if issue != Some(bar.issue) {
            let _ = write!(text, "\n## Issue {}\n\n| bar | wanted | found | outcome | of | source |\n", bar.issue);
            text += "|---|---|---|---|---|---|\n";
            issue = Some(bar.issue);
        }
        for (at, Line { outcome, wanted, found, about, source }) in lines.iter().enumerate() {
            let what = if at == 0 { bar.what.as_str() } else { "" };
            let cells =
                [what, wanted, found, outcome.word(), about, &cited(source)].map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
    }
    text
}

/// The name of a run, or its path, as a link; a sentence as it is.
fn cited(source: &str) -> String {
    let (run, conditions) = source.split_at(source.find(',').unwrap_or(source.len()));
    let name = run.trim_start_matches("runs/").trim_end_matches(".jsonl");
    let is_name = name.starts_with("20") && !name.contains(char::is_whitespace);
    match is_name {
        // The CPU and the digest: a figure without its CPU says little.
        true => format!("[{}]({name}.jsonl){conditions}", name.get("2026-11-21-".len()..).unwrap_or(name)),
        false => source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge::Outcome;
    use super::super::table;
    use super::*;

    fn judged() -> Vec<Judged> {
        let bar = "[[bar]]\nissue = 7\nwhat = \"w\"\nkind = \"ratio\"\ntask = \"t\"\nsubject = \"s\"\nat-least = 1\n";
        let line = |source: &str| Line {
            outcome: Outcome::Met,
            wanted: "≥ 1".to_owned(),
            found: "2".to_owned(),
            about: "a | b".to_owned(),
            source: source.to_owned(),
        };
        let lines = ["2026-11-21-zen3-3f9c1a", "runs/2026-11-21-zen3-3f9c1a.jsonl, busy", "a note"].map(line);
        Vec::from([(table::parse(bar).unwrap().remove(0), lines.into())])
    }

    #[test]
    fn the_table_cites_its_runs_and_keeps_what_stands_above() {
        let text = with_table(&format!("By hand.\n{MARK}\nold"), &judged()).unwrap();
        let link = "[zen3-3f9c1a](2026-11-21-zen3-3f9c1a.jsonl)";
        assert_eq!(
            text,
            format!(
                "By hand.\n{MARK}\n\n3 met.\n\n## Issue 7\n\n| bar | wanted | found | outcome | of | source |\n|---|---|---|---|---|---|\n\
                 | w | ≥ 1 | 2 | met | a \\| b | {link} |\n|  | ≥ 1 | 2 | met | a \\| b | {link}, busy |\n|  | ≥ 1 | 2 | met | a \\| b | a note |\n"
            )
        );
        assert_eq!(with_table(&text, &judged()).unwrap(), text, "written twice, it is the same");
        assert!(with_table("no mark", &judged()).unwrap_err().contains(MARK));
    }

    #[test]
    fn a_table_that_is_out_of_date_is_noticed() {
        let root = std::env::temp_dir().join(format!("xtask-bars-{}", std::process::id()));
        std::fs::create_dir_all(root.join("runs")).unwrap();
        std::fs::write(root.join(FILE), format!("{MARK}\n")).unwrap();
        let stale = check(&root, &judged());
        write(&root, &judged()).unwrap();
        let fresh = check(&root, &judged());
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!((stale, fresh), (Ok(false), Ok(true)));
    }
}
