//! Reports as JSON, as far as bars are concerned.

use super::judge::Found;
use crate::Failure;
use serde_json::Value;
use std::collections::BTreeMap;

/// One row of a report that has a ratio.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) run: String,
    /// When the run began, as RFC 3339 has it, in UTC: the order of the texts is that of the times.
    pub(super) date: String,
    /// The kind of CPU, by what the run says of its machine.
    pub(super) cpu: String,
    pub(super) task: String,
    pub(super) subject: String,
    pub(super) baseline: String,
    pub(super) found: Found,
    /// Whether the subject is ours, and so no peer.
    pub(super) is_ours: bool,
    /// What a reader must know of the subject, in words for its source.
    pub(super) marks: String,
}

/// A report, as far as bars are concerned.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) run: String,
    /// What stands behind its name.
    pub(super) condition: String,
    pub(super) rows: Vec<Row>,
}

/// What stands behind the name of a run that was made while other programs used the machine.
pub(super) const BUSY: &str = ", busy";
/// And of one that was stopped before its plan was complete. Its rows decide no bar; a figure that rests on it says so.
pub(super) const INTERRUPTED: &str = ", interrupted";
/// And of one whose program was built from a tree with changes that no commit has: nobody can build it again.
pub(super) const CHANGED: &str = ", changed tree";
/// And of one that does not know how much code layout matters in its build: no part of its floor.
pub(super) const LAYOUT: &str = ", layout unknown";
/// What stands behind a row that has no verdict, because its subject does other work than the baseline.
pub(super) const OTHER_WORK: &str = ", other work";

/// The lint of subjects whose work failed.
const FAILED: &str = "failed-work";

/// Lints of a row that say whom it compares with and whether its work failed, and of a task, that processes died: each in words for a source.
const MARKS: [(&str, &str); 5] = [
    ("old-peer", ", old peer"),
    ("peer-not-at-its-best", ", peer not at its best"),
    ("unlike-conditions", ", unlike conditions"),
    (FAILED, ", work failed"),
    ("process-lost", ", a process was lost"),
];

/// A source with what its run was made under.
pub(super) fn under(source: &str, conditions: &BTreeMap<String, String>) -> String {
    let name = source.trim_start_matches("runs/").split(',').next().unwrap_or_default().trim_end_matches(".jsonl");
    format!("{source}{}", conditions.get(name).map_or("", String::as_str))
}

pub(super) fn parse_report(json: &str) -> Result<Report, Failure> {
    let report: Value = serde_json::from_str(json).map_err(|error| format!("not a JSON report: {error}"))?;
    match report.get("schema").and_then(Value::as_u64) {
        Some(1) => {}
        Some(other) => return Err(format!("a report of schema {other}; this xtask reads schema 1")),
        None => return Err("not a report: it has no `schema`".to_owned()),
    }
    let run = report.get("run").and_then(Value::as_str).unwrap_or("?");
    // The name of a run holds the day and a digest, which says nothing about the hour.
    let date = report.get("date").and_then(Value::as_str).ok_or("not a report: it has no `date`")?;
    let cpu = report.get("cpu").and_then(Value::as_str).ok_or("not a report: it has no `cpu`")?;
    let commit = report.get("commit").and_then(Value::as_str).ok_or("not a report: it has no `commit`")?;
    let rows = report.get("rows").and_then(Value::as_array).ok_or("not a report: it has no `rows`")?;
    let lints = report.get("lints").and_then(Value::as_array).ok_or("not a report: it has no `lints`")?;
    let fires = |name: &str| lints.iter().any(|lint| lint.get("lint").and_then(Value::as_str) == Some(name));
    let (condition, rows) = match (fires("interrupted"), fires("busy-machine")) {
        (true, _) => (INTERRUPTED, &[][..]),
        (false, true) => (BUSY, &rows[..]),
        (false, false) => ("", &rows[..]),
    };
    let changed = if commit.ends_with("+dirty") { CHANGED } else { "" };
    let layout = if fires("layout-unknown") { LAYOUT } else { "" };
    let condition = [condition, changed, layout].concat();
    let rows = rows.iter().filter_map(|row| parse_row([run, date, cpu], row, lints)).collect();
    Ok(Report { run: run.to_owned(), condition, rows })
}

/// Rows without a ratio (sizes, rates, the baseline itself) are no rows for a ratio bar. A row without an interval (too few
/// processes) is one, and nothing can be told from it.
fn parse_row(of_run: [&str; 3], row: &Value, lints: &[Value]) -> Option<Row> {
    let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| row.get(key).and_then(Value::as_f64);
    let (task, subject, baseline) = (text("task")?, text("subject")?, text("baseline")?);
    let fires = |name: &str| {
        let of = |lint: &Value, key: &str| lint.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        // What failed of the baseline, or of its second entry, failed of all that are compared with it.
        let concerns = |of: &str| of.is_empty() || of == subject || (name == FAILED && is_twice(&baseline, of));
        lints.iter().any(|lint| of(lint, "lint") == name && of(lint, "task") == task && concerns(&of(lint, "subject")))
    };
    let marks = MARKS.iter().filter(|(name, _)| fires(name)).map(|(_, words)| *words).collect();
    let [run, date, cpu] = of_run.map(str::to_owned);
    let found = Found {
        ratio: number("ratio")?,
        low: number("low").unwrap_or(f64::NAN),
        high: number("high").unwrap_or(f64::NAN),
        floor: number("floor").unwrap_or(f64::INFINITY),
        verdict: text("verdict").unwrap_or_default(),
    };
    let library = row.pointer("/provenance/library").and_then(Value::as_str);
    let is_ours = library == Some("candor") || OURS.iter().any(|name| subject.starts_with(name));
    Some(Row { run, date, cpu, task, subject, baseline, found, is_ours, marks })
}

/// How the names of our own subjects begin: on our arms, on other people's back ends, the parts of a handshake alone, and the scheme that we keep to show
/// what giving up security gains.
const OURS: [&str; 4] = ["candor@", "candor+", "parts@", "insecure-seed-"];

/// Whether a subject is the baseline or its second entry, which measures the run's own error.
pub(super) fn is_twice(baseline: &str, subject: &str) -> bool {
    subject.strip_prefix(baseline).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

impl Row {
    /// Whether its subject does other work than the baseline: then the report has no verdict.
    pub(super) fn is_other(&self) -> bool {
        self.found.has_no_verdict()
    }
}
