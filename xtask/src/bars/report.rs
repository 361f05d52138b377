//! Reports as JSON, as far as bars are concerned.

use super::judge::Found;
use crate::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// One row of a report that has a ratio.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) run: String,
    /// When the run began, as RFC 3339 has it, in UTC: the order of the texts is that of the times.
    pub(crate) date: String,
    /// The kind of CPU, by what the run says of its machine.
    pub(crate) cpu: String,
    /// What its run says of the instructions that the CPU has.
    pub(crate) features: Rc<[String]>,
    pub(crate) task: String,
    pub(crate) subject: String,
    pub(crate) baseline: String,
    pub(crate) found: Found,
    /// Whether the subject is ours, and so no peer.
    pub(crate) is_ours: bool,
    /// What a reader must know of the subject, in words for its source.
    pub(crate) marks: String,
    /// Whether a lint says that the subject and the baseline do not do the same work.
    pub(crate) differs: bool,
    /// How many seconds a transfer lasted, where the task says so.
    pub(crate) transfer: Option<f64>,
}

/// A report, as far as bars are concerned.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) run: String,
    /// When it began.
    pub(crate) date: String,
    /// The kind of CPU, and the machine in a few words.
    pub(crate) cpu: String,
    pub(crate) machine: String,
    /// The commit of candor that measured.
    pub(crate) commit: String,
    /// What stands behind its name.
    pub(crate) condition: String,
    pub(crate) rows: Vec<Row>,
    /// Rows of ours beside a baseline that is a peer, turned round: as if ours had been the baseline. They decide no bar.
    pub(crate) turned: Vec<Row>,
}

/// What stands behind the name of a run that was made while other programs used the machine.
pub(crate) const BUSY: &str = ", busy";
/// And of one that was stopped before its plan was complete. Its rows decide no bar; a figure that rests on it says so.
pub(crate) const INTERRUPTED: &str = ", interrupted";
/// And of one whose program was built from a tree with changes that no commit has: nobody can build it again.
pub(crate) const CHANGED: &str = ", changed tree";
/// And of one whose commit is in no repository any more: [`GONE`].
pub(crate) const COMMIT_GONE: &str = ", commit gone";
/// Commits that measured and were lost with the machine before anybody else had them. Nobody can check them out; their rows stand until they are measured again.
pub(crate) const GONE: [&str; 3] = ["209b03d28370", "4e4a7a34b93c", "516c48860412"];
/// And of one that does not know how much code layout matters in its build: no part of its floor.
pub(crate) const LAYOUT: &str = ", layout unknown";
/// What stands behind a row that has no verdict, because its subject does other work than the baseline.
pub(crate) const OTHER_WORK: &str = ", other work";

/// The lint of subjects whose work failed.
const FAILED: &str = "failed-work";

/// Lints of a row that say whom it compares with and whether its work failed, and of a task, that processes died: each in words for a source.
const MARKS: [(&str, &str); 6] = [
    ("old-peer", ", old peer"),
    ("peer-not-at-its-best", ", peer not at its best"),
    ("unlike-conditions", ", unlike conditions"),
    (FAILED, ", work failed"),
    ("process-lost", ", a process was lost"),
    ("mostly-waiting", ", mostly waiting"),
];

/// What stands behind a row of transfers that a claim can't rest on, by the seconds from which one can.
const SHORT: &str = ", short transfers";
const LONG_TRANSFER: f64 = 60.0;

/// A source with what its run was made under.
pub(crate) fn under(source: &str, conditions: &BTreeMap<String, String>) -> String {
    let name = source.trim_start_matches("runs/").split(',').next().unwrap_or_default().trim_end_matches(".jsonl");
    format!("{source}{}", conditions.get(name).map_or("", String::as_str))
}

pub(crate) fn parse_report(json: &str) -> Result<Report, Failure> {
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
    let gone = if GONE.contains(&commit) { COMMIT_GONE } else { "" };
    let layout = if fires("layout-unknown") { LAYOUT } else { "" };
    let condition = [condition, changed, gone, layout].concat();
    let features = report.pointer("/machine/features").and_then(Value::as_array);
    let features = features.into_iter().flatten().filter_map(Value::as_str);
    let features: Rc<[String]> = features.map(str::to_owned).collect();
    let tasks = report.get("tasks").and_then(Value::as_array);
    let transfers: BTreeMap<&str, f64> = tasks
        .into_iter()
        .flatten()
        .filter_map(|task| Some((task.get("task")?.as_str()?, transfer(task.get("what")?.as_str()?)?)))
        .collect();
    let is_candors = |task: &str, subject: &str| {
        let of = |row: &&Value| [("task", task), ("subject", subject)].iter().all(|(key, name)| row[*key] == *name);
        is_ours(subject) || rows.iter().filter(of).any(|row| library(row) == Some("candor"))
    };
    let parsed: Vec<(Row, String)> =
        rows.iter().filter_map(|row| parse_row([run, date, cpu], &features, row, lints, &transfers)).collect();
    let beside_a_peer = parsed.iter().filter(|(row, _)| row.is_ours && !is_candors(&row.task, &row.baseline));
    let turned = beside_a_peer.map(|(row, marks)| row.turned(marks)).collect();
    let rows = parsed.into_iter().map(|(row, _)| row).collect();
    let [run, date, cpu, commit] = [run, date, cpu, commit].map(str::to_owned);
    Ok(Report { run, date, cpu, machine: machine(&report["machine"]), commit, condition, rows, turned })
}

/// The machine as a list of what matters to a reader of ratios.
fn machine(machine: &Value) -> String {
    let text = |key: &str| machine.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let cpus = machine.get("cpus").and_then(Value::as_u64).map(|cpus| format!("{cpus} CPUs"));
    let guest = machine.get("virtual_machine").and_then(Value::as_bool) == Some(true);
    let guest = guest.then(|| "virtual machine".to_owned());
    [text("cpu"), cpus, guest, text("os")].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The seconds that a transfer lasts, by the words of its task.
fn transfer(what: &str) -> Option<f64> {
    let (_, rest) = what.split_once("a transfer of ")?;
    let (seconds, _) = rest.split_once(" s")?;
    seconds.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

fn library(row: &Value) -> Option<&str> {
    row.pointer("/provenance/library").and_then(Value::as_str)
}

/// A row, and what a reader must know of its baseline. Rows without a ratio (sizes, rates, the baseline itself) are no rows for a ratio bar. A row without an interval (too few
/// processes) is one, and nothing can be told from it.
fn parse_row(
    of_run: [&str; 3],
    features: &Rc<[String]>,
    row: &Value,
    lints: &[Value],
    transfers: &BTreeMap<&str, f64>,
) -> Option<(Row, String)> {
    let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| row.get(key).and_then(Value::as_f64);
    let (task, subject, baseline) = (text("task")?, text("subject")?, text("baseline")?);
    let fires = |name: &str, about: &str| {
        let of = |lint: &Value, key: &str| lint.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        // What failed of the baseline, or of its second entry, failed of all that are compared with it.
        let failed = |of: &str| name == FAILED && (of == subject || is_twice(&baseline, of));
        let concerns = |of: &str| of.is_empty() || of == about || failed(of);
        lints.iter().any(|lint| of(lint, "lint") == name && of(lint, "task") == task && concerns(&of(lint, "subject")))
    };
    let differs = fires("different-operation", &subject);
    let marks = |about: &str| -> String {
        MARKS.iter().filter(|(name, _)| fires(name, about)).map(|(_, words)| *words).collect()
    };
    let (marks, of_baseline) = (marks(&subject), marks(&baseline));
    let [run, date, cpu] = of_run.map(str::to_owned);
    let found = Found {
        ratio: number("ratio")?,
        low: number("low").unwrap_or(f64::NAN),
        high: number("high").unwrap_or(f64::NAN),
        floor: number("floor").unwrap_or(f64::INFINITY),
        verdict: text("verdict").unwrap_or_default(),
    };
    let is_ours = library(row) == Some("candor") || is_ours(&subject);
    let (features, transfer) = (Rc::clone(features), transfers.get(task.as_str()).copied());
    let marks = transfer.filter(|seconds| *seconds < LONG_TRANSFER).map_or(marks.clone(), |_| marks + SHORT);
    let row = Row { run, date, cpu, features, task, subject, baseline, found, is_ours, marks, differs, transfer };
    Some((row, of_baseline))
}

/// How the names of our own subjects begin: on our arms, on other people's back ends, the parts of a handshake alone, and the scheme that we keep to show
/// what giving up security gains.
const OURS: [&str; 4] = ["candor@", "candor+", "parts@", "insecure-seed-"];

/// Whether a name is that of a subject of ours.
pub(crate) fn is_ours(subject: &str) -> bool {
    OURS.iter().any(|name| subject.starts_with(name))
}

/// Whether a subject is the baseline or its second entry, which measures the run's own error.
pub(crate) fn is_twice(baseline: &str, subject: &str) -> bool {
    subject.strip_prefix(baseline).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

impl Row {
    /// The same comparison with the baseline as the subject.
    fn turned(&self, marks: &str) -> Self {
        let Found { ratio, low, high, floor, verdict } = &self.found;
        let verdict = match verdict.as_str() {
            "faster" => "slower",
            "slower" => "faster",
            other => other,
        };
        let found =
            Found { ratio: 1.0 / ratio, low: 1.0 / high, high: 1.0 / low, floor: *floor, verdict: verdict.to_owned() };
        Self {
            subject: self.baseline.clone(),
            baseline: self.subject.clone(),
            found,
            is_ours: false,
            marks: marks.to_owned(),
            ..self.clone()
        }
    }

    /// Whether its subject does other work than the baseline: then the report has no verdict.
    pub(crate) fn is_other(&self) -> bool {
        self.found.has_no_verdict()
    }
}
