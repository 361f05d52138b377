//! `cargo xtask bars`: every bar of `bars.toml` beside what the runs found.
//!
//! Numbers come from run files by way of `candor report RUN --format json`, so they are what a reader's own report says.
//! Where several runs on one kind of CPU have a row, the newest counts, not the best: choosing among runs is how one fools oneself. Each kind of CPU has
//! a line of its own.

mod document;
mod judge;
mod lines;
pub(crate) mod report;
mod reread;
mod table;

use crate::Failure;
use crate::columns::{self, Align};
use crate::stage::{cargo_with, program};
use crate::workspace::Workspace;
use judge::Outcome;
use lines::{Line, lines};
use report::{Report, Row, parse_report, under};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use table::Bar;

/// A bar, and what was found.
type Judged = (Bar, Vec<Line>);

/// Prints the table; `Ok(true)` unless a bar is missed.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let order = Order::parse(words)?;
    let workspace = Workspace::here()?;
    let judged = judge_all(&workspace, &order)?;
    if order.write {
        document::write(&workspace.root, &judged)?;
        println!("written: {}", document::FILE);
        return Ok(true);
    }
    print!("{}", terminal(&judged));
    Ok(judged.iter().flat_map(|(_, lines)| lines).all(|line| line.outcome != Outcome::Missed))
}

/// Whether the table in the document is what the committed runs say. A bar that is missed is no fault here; hiding it would be.
pub(crate) fn is_documented(workspace: &Workspace) -> Result<bool, Failure> {
    document::check(&workspace.root, &judge_all(workspace, &Order::default())?)
}

fn judge_all(workspace: &Workspace, order: &Order) -> Result<Vec<Judged>, Failure> {
    let path = workspace.root.join("bars.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut bars = table::parse(&text)?;
    bars.retain(|bar| order.issue.is_none_or(|issue| bar.issue == issue));
    if bars.is_empty() {
        return Err(format!("bars.toml has no bar of issue {}", order.issue.unwrap_or_default()));
    }
    let files = if order.files.is_empty() { committed_runs(&workspace.root)? } else { order.files.clone() };
    let candor = Candor::build(workspace)?;
    let reports = candor.reports(&files)?;
    let conditions = reports.iter().map(|report| (report.run.clone(), report.condition.clone())).collect();
    let rows: Vec<Row> = reports.into_iter().flat_map(|report| report.rows).collect();
    let known = candor.tasks();
    let judged = bars.into_iter().map(|bar| {
        let mut lines = lines(&bar, &rows, &known);
        for line in &mut lines {
            line.source = under(&line.source, &conditions);
        }
        (bar, lines)
    });
    Ok(judged.collect())
}

/// The options after `bars`.
#[derive(Debug, Default, PartialEq)]
struct Order {
    issue: Option<u64>,
    files: Vec<PathBuf>,
    /// The table goes into the document.
    write: bool,
}

impl Order {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let mut order = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            if name == "--issue" {
                let value = value.or_else(|| words.next().map(String::as_str)).unwrap_or("");
                let issue = value.parse().map_err(|_| format!("`--issue` needs a number, not `{value}`"))?;
                order.issue = Some(issue);
            } else if word == "--write" {
                order.write = true;
            } else if word.starts_with('-') {
                return Err(format!("`bars` has no option `{word}`; it has `--issue N` and `--write`"));
            } else {
                order.files.push(PathBuf::from(word));
            }
        }
        if order.write && (order.issue.is_some() || !order.files.is_empty()) {
            return Err("`--write` takes all bars and all committed runs: leave out `--issue` and the files".to_owned());
        }
        Ok(order)
    }
}

/// runs/*.jsonl by name, which begins with the date: the oldest first.
pub(crate) fn committed_runs(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = root.join("runs");
    let mut files = Vec::new();
    if folder.is_dir() {
        let cannot = |error: std::io::Error| format!("cannot list {}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The command line that we ask for reports.
pub(crate) struct Candor(PathBuf);

impl Candor {
    /// Builds it for release.
    pub(crate) fn build(workspace: &Workspace) -> Result<Self, Failure> {
        let built = cargo_with(["build", "--release", "--quiet"])
            .current_dir(&workspace.root)
            .stdin(Stdio::null())
            .status()
            .map_err(|error| format!("cannot start cargo: {error}"))?;
        if !built.success() {
            return Err("candor does not build; without it no run file can be read".to_owned());
        }
        Ok(Self(workspace.target.join("release").join(format!("candor{}", std::env::consts::EXE_SUFFIX))))
    }

    /// The reports of runs that are what they say they are, in this order.
    pub(crate) fn reports(&self, files: &[PathBuf]) -> Result<Vec<Report>, Failure> {
        self.verify(files)?;
        let parsed =
            |file: &PathBuf| parse_report(&self.report(file)?).map_err(|why| format!("{}: {why}", file.display()));
        let mut reports = files.iter().map(parsed).collect::<Result<Vec<_>, _>>()?;
        reread::reread(&mut reports);
        Ok(reports)
    }

    /// A run's report as JSON; a file that ends in `.json` is one already.
    fn report(&self, file: &Path) -> Result<String, Failure> {
        if is_report(file) {
            return std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()));
        }
        self.says(["report".as_ref(), file.as_os_str(), "--format".as_ref(), "json".as_ref()])
    }

    /// Whether these files are what they say they are: of rows of one kind of CPU the newest counts, so none may be of the future.
    fn verify(&self, files: &[PathBuf]) -> Result<(), Failure> {
        let runs: Vec<&OsStr> = files.iter().filter(|file| !is_report(file)).map(|file| file.as_os_str()).collect();
        if runs.is_empty() { Ok(()) } else { self.says([&["verify".as_ref()], &runs[..]].concat()).map(drop) }
    }

    /// The program, to be started.
    pub(crate) fn command(&self) -> Command {
        program(&self.0)
    }

    /// What it prints for these words.
    pub(crate) fn says<'a>(&self, words: impl IntoIterator<Item = &'a OsStr>) -> Result<String, Failure> {
        let words: Vec<&OsStr> = words.into_iter().collect();
        let output = self.command().args(&words).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot start candor: {error}"))?;
        if !output.status.success() {
            let (said, words) = (String::from_utf8_lossy(&output.stderr), words.join(OsStr::new(" ")));
            return Err(format!("`candor {}` failed: {}", words.display(), said.trim_end()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Names of the CPU tiers, from least to most.
    pub(crate) fn tiers(&self) -> Result<Vec<String>, Failure> {
        let listed = self.says(["list", "tiers", "--format", "json"].map(OsStr::new))?;
        let listed: Vec<Value> = serde_json::from_str(&listed).map_err(|error| format!("candor's tiers: {error}"))?;
        let name = |tier: &Value| tier.get("tier").and_then(Value::as_str).map(str::to_owned);
        listed.iter().map(|tier| name(tier).ok_or_else(|| "candor lists a tier without a name".to_owned())).collect()
    }

    /// Names of the tasks that exist; none if candor can't list them yet.
    fn tasks(&self) -> Vec<String> {
        let output = program(&self.0).args(["list", "tasks", "--format", "json"]).stdin(Stdio::null()).output();
        let listed = output.ok().filter(|output| output.status.success());
        listed.map_or_else(Vec::new, |output| parse_tasks(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// Whether a file is a report as JSON, and not a run.
fn is_report(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

/// Every task name in the list, whether it stands as a text or as the field `task` or `name` of an object.
fn parse_tasks(json: &str) -> Vec<String> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(list) => {
                for item in list {
                    let named = item.get("task").or_else(|| item.get("name")).unwrap_or(item);
                    match named.as_str() {
                        Some(name) => found.push(name.to_owned()),
                        None => walk(item, found),
                    }
                }
            }
            Value::Object(fields) => fields.values().for_each(|value| walk(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(json) {
        walk(&value, &mut found);
    }
    found.retain(|name| name.contains('/'));
    found
}

/// All lines by issue and bar, then the counts.
fn terminal(judged: &[Judged]) -> String {
    let cells = |line: &Line| {
        let [wanted, found, about, source] = [&line.wanted, &line.found, &line.about, &line.source].map(String::clone);
        [format!("    {}", line.outcome.word()), wanted, found, about, source]
    };
    let rows = judged.iter().flat_map(|(_, lines)| lines).map(cells);
    let mut rows = columns::lines([Align::Left; 5], rows).into_iter();
    let (mut text, mut issue) = (String::new(), None);
    for (bar, lines) in judged {
        if issue != Some(bar.issue) {
            text += &format!("{}issue {}\n", if issue.is_some() { "\n" } else { "" }, bar.issue);
            issue = Some(bar.issue);
        }
        text += &format!("  {}\n", bar.what);
        rows.by_ref().take(lines.len()).for_each(|row| text += &format!("{row}\n"));
    }
    text + &format!("\n{}\n", counts(judged))
}

/// How many lines have each outcome.
fn counts(judged: &[Judged]) -> String {
    let count =
        |outcome: &Outcome| judged.iter().flat_map(|(_, lines)| lines).filter(|line| line.outcome == *outcome).count();
    let counted = Outcome::ALL.iter().map(|outcome| (count(outcome), outcome.word())).filter(|(count, _)| *count > 0);
    counted.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let order = Order::parse(&words("--issue 7 a.jsonl")).unwrap();
        assert_eq!(order, Order { issue: Some(7), files: Vec::from([PathBuf::from("a.jsonl")]), write: false });
        assert!(Order::parse(&words("--write")).unwrap().write);
        assert!(Order::parse(&words("--write --issue 7")).is_err() && Order::parse(&words("--write a.jsonl")).is_err());
        assert_eq!(Order::parse(&words("--issue=3")).unwrap().issue, Some(3));
        assert!(Order::parse(&words("--issue")).is_err());
        assert!(Order::parse(&words("--issue x")).is_err());
        assert!(Order::parse(&words("--best")).unwrap_err().contains("--best"));
    }

    #[test]
    fn task_lists_are_read_in_either_form() {
        assert_eq!(parse_tasks(r#"["a/b", "c/d"]"#), ["a/b", "c/d"]);
        assert_eq!(parse_tasks(r#"{"schema": 1, "tasks": [{"task": "a/b", "about": "x"}]}"#), ["a/b"]);
        assert!(parse_tasks("nonsense").is_empty());
    }
}
