//! `cargo xtask bars`: every bar of `bars.toml` beside what the runs found.
//!
//! Numbers come from run files by way of `candor report RUN --format json`, so they are what a reader's own report says.
//! Where several runs on one kind of CPU have a row, the newest counts, not the best: choosing among runs is how one fools oneself. Each kind of CPU has
//! a line of its own.

mod document;
mod judge;
pub(crate) mod report;
mod reread;
mod table;

use crate::Failure;
use crate::columns::{self, Align};
use crate::stage::{cargo_with, program};
use crate::workspace::Workspace;
use judge::{Outcome, Wanted, judge, judge_figure};
use report::{OTHER_WORK, Report, Row, is_twice, parse_report, under};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use table::{Asks, BEST_PEER, Bar, matches};

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

/// One printed line of a bar.
#[derive(Debug)]
struct Line {
    outcome: Outcome,
    wanted: String,
    found: String,
    about: String,
    source: String,
}

fn lines(bar: &Bar, rows: &[Row], known: &[String]) -> Vec<Line> {
    match &bar.asks {
        Asks::Ratio { tasks, .. } => tasks.iter().flat_map(|task| ratio_lines(bar, task, rows, known)).collect(),
        Asks::Figure { command, unit, at_least, at_most, measured, evidence } => {
            let limit = |sign: &str, number: &Option<f64>| number.map(|number| format!("{sign} {number} {unit}"));
            let limits: Vec<String> = [limit("≥", at_least), limit("≤", at_most)].into_iter().flatten().collect();
            Vec::from([Line {
                outcome: judge_figure(*measured, *at_least, *at_most),
                wanted: if limits.is_empty() { "a figure".to_owned() } else { limits.join(", ") },
                found: measured.map_or("–".to_owned(), |number| format!("{number} {unit}")),
                about: command.clone(),
                source: evidence.clone().unwrap_or_default(),
            }])
        }
    }
}

/// The lines of one task name or pattern: one for each task and subject that matches, or one that says there is none.
fn ratio_lines(bar: &Bar, pattern: &str, rows: &[Row], known: &[String]) -> Vec<Line> {
    let Asks::Ratio { subject, baseline, wanted, stretch, rule, peers, without, .. } = &bar.asks else {
        return Vec::new();
    };
    let named = rows.iter().map(|row| &row.task).chain(known);
    let mut tasks: Vec<&String> = named.filter(|task| matches(pattern, task)).collect();
    tasks.sort();
    tasks.dedup();
    let empty = |outcome, task: &str| Line {
        outcome,
        wanted: wanted.show(*rule),
        found: "–".to_owned(),
        about: format!("{task}  {subject}"),
        source: String::new(),
    };
    if tasks.is_empty() {
        return Vec::from([empty(Outcome::NotYet, pattern)]);
    }
    let mut lines = Vec::new();
    for task in tasks {
        let of_task: Vec<&Row> = rows
            .iter()
            .filter(|row| {
                row.task == *task && matches(baseline, &row.baseline) && !is_twice(&row.baseline, &row.subject)
            })
            .filter(|row| if subject == BEST_PEER { !row.is_ours } else { matches(subject, &row.subject) })
            .filter(|row| without.as_ref().is_none_or(|feature| !row.features.contains(feature)))
            .collect();
        if of_task.is_empty() {
            lines.push(empty(Outcome::NotMeasured, task));
        }
        for row in newest_of_each_cpu(of_task, subject == BEST_PEER) {
            let absent = absent(peers, row, rows);
            let outcome = match judge(wanted, *rule, &row.found) {
                Outcome::Met | Outcome::Missed if !absent.is_empty() => Outcome::CantTell,
                outcome => outcome,
            };
            let beyond = stretch.map(|stretch| match judge(&Wanted::AtLeast(stretch), *rule, &row.found) {
                Outcome::Met => format!(", stretch {stretch} too"),
                _ => format!(", stretch {stretch}"),
            });
            lines.push(Line {
                outcome,
                wanted: format!("{}{}", wanted.show(*rule), beyond.unwrap_or_default()),
                found: wanted.show_found(&row.found),
                about: format!("{}  {} over {}", row.task, row.baseline, row.subject),
                source: format!("{}{}{}{absent}", row.run, if row.is_other() { OTHER_WORK } else { "" }, row.marks),
            });
        }
    }
    lines
}

/// The rows of the newest run on each kind of CPU: what is met on one may be missed on another, and neither stands for both. Of the peers only the
/// best, if that is asked for.
fn newest_of_each_cpu(rows: Vec<&Row>, best_peer: bool) -> Vec<&Row> {
    let mut kinds: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        kinds.entry(&row.cpu).or_default().push(row);
    }
    kinds
        .into_values()
        .flat_map(|rows| {
            let run = rows.iter().max_by_key(|row| &row.date).map(|row| row.run.as_str());
            let mut newest: Vec<&Row> = rows.iter().copied().filter(|row| Some(row.run.as_str()) == run).collect();
            if best_peer {
                // The peer with the smallest ratio is the fastest, before all that do other work.
                newest.sort_by(|a, b| {
                    (a.is_other(), a.found.ratio).partial_cmp(&(b.is_other(), b.found.ratio)).unwrap_or(Ordering::Equal)
                });
                newest.truncate(1);
            }
            newest
        })
        .collect()
}

/// Which of the peers that a bar names a row's run does not have in that table, each in words for a source: the best of the others is not the best.
fn absent(peers: &[String], row: &Row, rows: &[Row]) -> String {
    let has = |peer: &str| {
        let of_table =
            |other: &&Row| (&other.run, &other.task, &other.baseline) == (&row.run, &row.task, &row.baseline);
        rows.iter().filter(of_table).any(|other| matches(peer, &other.subject))
    };
    peers.iter().filter(|peer| !has(peer)).map(|peer| format!(", without {peer}")).collect()
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
    use super::report::{BUSY, INTERRUPTED, LAYOUT};
    use super::*;

    const REPORT: &str = r#"{"schema": 1, "run": "2026-11-21-zen3-3f9c1a", "date": "2026-11-21T10:00:00Z", "commit": "0123456789ab", "cpu": "zen3", "machine": {}, "rows": [
        {"task": "hash/sm3/10m", "subject": "candor@avx2#2", "baseline": "candor@avx2", "ratio": 1.0, "low": 0.99, "high": 1.01, "floor": 0.005, "verdict": "same"},
        {"task": "hash/sm3/10m", "subject": "candor@portable", "baseline": "candor@avx2", "ratio": 0.5, "low": 0.4, "high": 0.6, "floor": 0.005, "verdict": "slower"},
        {"task": "hash/sm3/10m", "subject": "openssl-4.0.3", "baseline": "candor@avx2", "ratio": 1.8, "low": 1.7, "high": 1.9, "floor": 0.005, "verdict": "faster"},
        {"task": "hash/sm3/10m", "subject": "libgcrypt-1.10", "baseline": "candor@avx2", "ratio": 0.97, "low": 0.96, "high": 0.98, "floor": 0.005, "verdict": "slower"},
        {"task": "hash/sm3/10m", "subject": "size", "value": 3, "unit": "bytes"}],
        "refusals": [], "lints": []}"#;

    fn bar(task: &str, subject: &str, extra: &str) -> Bar {
        let text = format!(
            "[[bar]]\nissue = 7\nwhat = \"w\"\nkind = \"ratio\"\ntask = \"{task}\"\nsubject = \"{subject}\"\n{extra}\n"
        );
        table::parse(&text).unwrap().remove(0)
    }

    fn outcomes(bar: &Bar, known: &[&str]) -> Vec<(Outcome, String)> {
        let rows = parse_report(REPORT).unwrap().rows;
        let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        lines(bar, &rows, &known).into_iter().map(|line| (line.outcome, line.about)).collect()
    }

    #[test]
    fn a_named_peer_is_judged_by_its_row() {
        let found = outcomes(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &[]);
        assert_eq!(found, [(Outcome::Met, "hash/sm3/10m  candor@avx2 over openssl-4.0.3".to_owned())]);
    }

    #[test]
    fn the_best_peer_is_the_fastest_that_is_not_ours() {
        let found = outcomes(&bar("hash/*/10m", "best-peer", "at-least = 1.0\nrule = \"near\""), &[]);
        assert_eq!(found, [(Outcome::Missed, "hash/sm3/10m  candor@avx2 over libgcrypt-1.10".to_owned())]);
    }

    #[test]
    fn what_is_ours_is_no_peer_under_any_name() {
        for name in ["candor+aws-lc@auto", "parts@auto", "insecure-seed-768@auto", "candor@avx512+one-by-one"] {
            let ours = REPORT.replace("libgcrypt-1.10", name);
            let lines =
                lines(&bar("hash/sm3/10m", "best-peer", "at-least = 1.0"), &parse_report(&ours).unwrap().rows, &[]);
            assert_eq!(lines[0].about, "hash/sm3/10m  candor@avx2 over openssl-4.0.3", "{name}");
        }
        // By what a row says of its library, too.
        let ours = REPORT.replace("\"libgcrypt-1.10\",", "\"aside\", \"provenance\": {\"library\": \"candor\"},");
        let lines = lines(&bar("hash/sm3/10m", "best-peer", "at-least = 1.0"), &parse_report(&ours).unwrap().rows, &[]);
        assert_eq!(lines[0].about, "hash/sm3/10m  candor@avx2 over openssl-4.0.3");
    }

    /// The best of those who are there is met easily where the fastest is absent.
    #[test]
    fn a_run_without_a_peer_that_the_bar_names_tells_nothing() {
        let found = |peers: &str| {
            let bar = bar("hash/sm3/10m", "best-peer", &format!("at-least = 1.0\npeers = {peers}"));
            let line = lines(&bar, &parse_report(REPORT).unwrap().rows, &[]).remove(0);
            (line.outcome, line.source)
        };
        let run = "2026-11-21-zen3-3f9c1a";
        assert_eq!(found(r#"["libgcrypt-*", "openssl-4*"]"#), (Outcome::Missed, run.to_owned()));
        assert_eq!(found(r#"["openssl-4*", "gmsm-*"]"#), (Outcome::CantTell, format!("{run}, without gmsm-*")));
    }

    #[test]
    fn a_bar_about_cpus_without_an_instruction_is_judged_on_no_other() {
        let of = |features: &str| {
            let report = REPORT.replace(r#""machine": {}"#, &format!(r#""machine": {{"features": {features}}}"#));
            let bar = bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5\nwithout = \"avx512ifma\"");
            lines(&bar, &parse_report(&report).unwrap().rows, &[]).remove(0).outcome
        };
        assert_eq!(of(r#"["adx", "avx2"]"#), Outcome::Met);
        assert_eq!(of(r#"["adx", "avx2", "avx512ifma"]"#), Outcome::NotMeasured);
    }

    #[test]
    fn a_task_that_exists_without_a_row_is_not_measured_and_others_are_not_yet() {
        let one = bar("hash/sha256/10m", "openssl-4.*", "at-least = 0.99");
        assert_eq!(outcomes(&one, &["hash/sha256/10m"])[0].0, Outcome::NotMeasured);
        assert_eq!(outcomes(&one, &[])[0].0, Outcome::NotYet);
        assert_eq!(outcomes(&bar("hash/sm3/10m", "ring-*", "at-least = 1"), &[])[0].0, Outcome::NotMeasured);
    }

    #[test]
    fn the_newest_run_counts_and_not_the_best() {
        let mut rows = parse_report(REPORT).unwrap().rows;
        // An hour later, with a name that comes before.
        let later = REPORT.replace("T10:", "T11:").replace("3f9c1a", "000000").replace("1.7", "1.2");
        rows.splice(0..0, parse_report(&later).unwrap().rows);
        let lines = lines(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &rows, &[]);
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].outcome, lines[0].source.as_str()), (Outcome::CantTell, "2026-11-21-zen3-000000"));
    }

    #[test]
    fn each_kind_of_cpu_has_the_line_of_its_newest_run() {
        let mut rows = parse_report(REPORT).unwrap().rows;
        // Slower on another kind of CPU, an hour before, and there again, two hours before.
        let other = |hour: &str, digest: &str, low: &str| {
            REPORT
                .replace("T10:", hour)
                .replace("zen3-3f9c1a", &format!("zen5-256-{digest}"))
                .replace("\"zen3\"", "\"zen5-256\"")
                .replace("1.7", low)
        };
        rows.extend(parse_report(&other("T09:", "aaaaaa", "1.2")).unwrap().rows);
        rows.extend(parse_report(&other("T08:", "bbbbbb", "1.6")).unwrap().rows);
        let found = |subject: &str| -> Vec<_> {
            let lines = lines(&bar("hash/sm3/10m", subject, "at-least = 1.5"), &rows, &[]);
            lines.into_iter().map(|line| (line.outcome, line.source)).collect()
        };
        let (zen3, zen5) = ("2026-11-21-zen3-3f9c1a".to_owned(), "2026-11-21-zen5-256-aaaaaa".to_owned());
        assert_eq!(found("openssl-4.*"), [(Outcome::Met, zen3.clone()), (Outcome::CantTell, zen5.clone())]);
        assert_eq!(found("best-peer"), [(Outcome::Missed, zen3), (Outcome::Missed, zen5)]);
    }

    #[test]
    fn a_row_without_an_interval_tells_nothing() {
        let open = REPORT.replace("\"low\": 1.7, \"high\": 1.9", "\"low\": null, \"high\": null");
        let rows = parse_report(&open).unwrap().rows;
        let lines = lines(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &rows, &[]);
        assert_eq!((lines[0].outcome, lines[0].found.as_str()), (Outcome::CantTell, "1.800 [no interval]"));
    }

    #[test]
    fn an_interrupted_run_decides_nothing_and_sources_say_under_what_they_were_made() {
        let with = |lint: &str| REPORT.replace("\"lints\": []", &format!("\"lints\": [{{\"lint\": \"{lint}\"}}]"));
        let read = |lint: &str| parse_report(&with(lint)).unwrap();
        assert_eq!((read("interrupted").rows.len(), read("interrupted").condition.as_str()), (0, INTERRUPTED));
        assert_eq!((read("busy-machine").rows.len(), read("busy-machine").condition.as_str()), (5 - 1, BUSY));
        assert_eq!(read("different-operation").condition, "");
        let changed = with("busy-machine").replace("0123456789ab", "0123456789ab+dirty");
        assert_eq!(parse_report(&changed).unwrap().condition, ", busy, changed tree");
        assert_eq!(read("layout-unknown").condition, LAYOUT);
        let conditions = ["2026-11-21-zen3-3f9c1a", "2026-11-21-zen3-000000"].map(str::to_owned);
        let conditions = BTreeMap::from_iter(conditions.into_iter().zip([BUSY.to_owned(), String::new()]));
        let source = |source: &str| under(source, &conditions);
        assert_eq!(source("2026-11-21-zen3-3f9c1a"), "2026-11-21-zen3-3f9c1a, busy");
        assert_eq!(source("runs/2026-11-21-zen3-3f9c1a.jsonl"), "runs/2026-11-21-zen3-3f9c1a.jsonl, busy");
        assert_eq!(source("2026-11-21-zen3-3f9c1a, other work"), "2026-11-21-zen3-3f9c1a, other work, busy");
        assert_eq!(source("runs/2026-11-21-zen3-000000.jsonl"), "runs/2026-11-21-zen3-000000.jsonl");
        assert_eq!(source("by hand"), "by hand");
    }

    #[test]
    fn a_source_says_whom_its_row_compares_with() {
        let of_peer = |subject: &str| {
            format!("{{\"lint\": \"old-peer\", \"task\": \"hash/sm3/10m\", \"subject\": \"{subject}\"}}")
        };
        let sources = |lint: &str| {
            let report = REPORT.replace("\"lints\": []", &format!("\"lints\": [{lint}]"));
            let rows = parse_report(&report).unwrap().rows;
            let lines = lines(&bar("hash/sm3/10m", "openssl-4.*", "at-least = 1.5"), &rows, &[]);
            lines.into_iter().map(|line| line.source).collect::<Vec<_>>()
        };
        let subject = parse_report(REPORT)
            .unwrap()
            .rows
            .iter()
            .find(|row| row.subject.starts_with("openssl-4."))
            .unwrap()
            .subject
            .clone();
        let run = "2026-11-21-zen3-3f9c1a";
        assert_eq!(sources(&of_peer(&subject)), [format!("{run}, old peer")]);
        assert_eq!(sources(&of_peer("another")), [run]);
        assert_eq!(
            sources("{\"lint\": \"process-lost\", \"task\": \"hash/sm3/10m\", \"subject\": \"\"}"),
            [format!("{run}, a process was lost")]
        );
        assert_eq!(sources("{\"lint\": \"process-lost\", \"task\": \"another\", \"subject\": \"\"}"), [run]);
        // What failed of the baseline failed of all that are compared with it.
        for (failed, marked) in
            [(subject.as_str(), true), ("candor@avx2", true), ("candor@avx2#2", true), ("another", false)]
        {
            let lint = of_peer(failed).replace("old-peer", "failed-work");
            let words = if marked { ", work failed" } else { "" };
            assert_eq!(sources(&lint), [format!("{run}{words}")], "{failed}");
        }
    }

    #[test]
    fn a_peer_that_does_other_work_is_the_best_only_where_all_do() {
        let verdict = |word: &str| format!("\"high\": 0.98, \"floor\": 0.005, \"verdict\": \"{word}\"");
        let other = REPORT.replace(&verdict("slower"), &verdict("none"));
        let judged = |report: &str, subject| {
            let line = lines(&bar("hash/sm3/10m", subject, "at-least = 1.0"), &parse_report(report).unwrap().rows, &[])
                .remove(0);
            (line.about, line.source)
        };
        let run = "2026-11-21-zen3-3f9c1a";
        let (openssl, libgcrypt) =
            ("hash/sm3/10m  candor@avx2 over openssl-4.0.3", "hash/sm3/10m  candor@avx2 over libgcrypt-1.10");
        assert_eq!(judged(&other, "best-peer"), (openssl.to_owned(), run.to_owned()));
        assert_eq!(judged(&other, "libgcrypt-*"), (libgcrypt.to_owned(), format!("{run}, other work")));
        let all = other.replace("\"faster\"", "\"none\"");
        assert_eq!(judged(&all, "best-peer"), (libgcrypt.to_owned(), format!("{run}, other work")));
    }

    #[test]
    fn a_report_that_is_none_is_an_error() {
        for odd in ["", "[]", "{}", r#"{"schema": 2, "rows": []}"#, r#"{"schema": 1}"#] {
            assert!(parse_report(odd).is_err(), "{odd}");
        }
    }

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
