//! `cargo xtask tune arms`: which arm each routine takes on a microarchitecture, from sealed runs into `crates/cpu/arms.table`.
//!
//! `candor doctor --arms RUN --format json` says what the runs found; here it only becomes rows. A row names its runs, so it can be derived
//! again, and the gate does that: a row that its own runs do not support is stale.

use crate::Failure;
use crate::bars::Candor;
use crate::workspace::Workspace;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The table.
const TABLE: &str = "crates/cpu/arms.table";
/// What is measured, with our own subjects only. Of the ciphers only short messages: ten megabytes in portable code take a second each, and the
/// order of the arms is the same.
const TASKS: [&str; 11] = [
    "hash",
    "gf2",
    "gf2m",
    "relay/cells",
    "ksf",
    "seal/256",
    "seal/1k",
    "open/256",
    "open/1k",
    "cipher/sm4-ctr/1k",
    "cipher/sm4-cbc/decrypt/1k",
];
/// Seconds for each task.
const BUDGET: &str = "1.5";

/// A row for a routine: its arms, and where that comes from.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    routine: String,
    arms: String,
    source: String,
}

/// Writes the rows that the runs support, or with `--check` only compares.
pub(super) fn run(words: &[String]) -> Result<bool, Failure> {
    let workspace = Workspace::here()?;
    if words == ["--check"] {
        return is_current(&workspace);
    }
    if let Some(word) = words.iter().find(|word| word.starts_with('-')) {
        return Err(format!("`tune arms` has no option `{word}`; it has `--check`"));
    }
    let candor = Candor::build(&workspace)?;
    let mut runs: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
    if runs.is_empty() {
        runs.push(measure(&candor, &workspace.root.join("runs"))?);
    }
    let (cpu, rows) = derive(&candor, &runs)?;
    let path = workspace.root.join(TABLE);
    let table = read(&path)?;
    let (written, changes) = with_rows(&table, &cpu, &rows)?;
    std::fs::write(&path, &written).map_err(|error| format!("cannot write {TABLE}: {error}"))?;
    println!("{TABLE}: {} rows for {cpu}", rows.len());
    changes.iter().for_each(|change| println!("  {change}"));
    println!("build candor again, and look at it: candor doctor --arms");
    Ok(true)
}

/// Whether each row that names runs says what they found.
pub(crate) fn is_current(workspace: &Workspace) -> Result<bool, Failure> {
    let table = read(&workspace.root.join(TABLE))?;
    let candor = Candor::build(workspace)?;
    let mut derived: BTreeMap<Vec<PathBuf>, (String, Vec<Row>)> = BTreeMap::new();
    let mut stale = Vec::new();
    for (cpu, row) in table.lines().filter_map(section).flat_map(|cpu| {
        rows_of(&table, cpu).into_iter().map(move |row| (cpu, row)).filter(|(_, row)| row.source.starts_with("run "))
    }) {
        let runs: Vec<PathBuf> =
            cited(&row.source).map(|name| workspace.root.join("runs").join(format!("{name}.jsonl"))).collect();
        if !derived.contains_key(&runs) {
            derived.insert(runs.clone(), derive(&candor, &runs)?);
        }
        let (measured_on, found) = &derived[&runs];
        if measured_on != cpu || !found.contains(&row) {
            let found = found.iter().find(|found| found.routine == row.routine);
            let found = found.map_or("nothing", |found| found.arms.as_str());
            stale.push(format!("{cpu}: {} {}: its runs, on {measured_on}, say {found}", row.routine, row.arms));
        }
    }
    stale.iter().for_each(|line| println!("{TABLE}: {line}"));
    if !stale.is_empty() {
        println!("write the rows again: cargo xtask tune arms runs/RUN.jsonl");
    }
    Ok(stale.is_empty())
}

/// Measures all arms here and gives the sealed run, which goes into `folder`.
fn measure(candor: &Candor, folder: &Path) -> Result<PathBuf, Failure> {
    let before = sealed(folder)?;
    let mut command = candor.command();
    command.arg("run").args(TASKS).args(["--peer", "candor@", "--budget", BUDGET, "--format", "csv"]);
    // A run keeps its command line, and a run in the repository may name no folder of this machine.
    let (above, name) = (folder.parent().unwrap_or(folder), folder.file_name().unwrap_or(folder.as_os_str()));
    command.current_dir(above).arg("--runs").arg(name).stdin(Stdio::null()).stdout(Stdio::null());
    let done = command.status().map_err(|error| format!("cannot start candor: {error}"))?;
    if !done.success() {
        return Err("`candor run` did not measure the arms; see above".to_owned());
    }
    let after = sealed(folder)?;
    let new: Vec<&PathBuf> = after.difference(&before).collect();
    match new[..] {
        [run] => Ok(run.clone()),
        _ => Err(format!("expected one new run in {}, found {}", folder.display(), new.len())),
    }
}

/// The run files in a folder.
fn sealed(folder: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect())
}

/// The microarchitecture of the runs, and the rows that they support.
fn derive(candor: &Candor, runs: &[PathBuf]) -> Result<(String, Vec<Row>), Failure> {
    let mut words: Vec<&OsStr> = vec!["doctor".as_ref(), "--format".as_ref(), "json".as_ref(), "--arms".as_ref()];
    words.extend(runs.iter().map(|run| run.as_os_str()));
    parse(&candor.says(words)?)
}

fn parse(json: &str) -> Result<(String, Vec<Row>), Failure> {
    let value: Value =
        serde_json::from_str(json).map_err(|error| format!("not what `candor doctor` prints: {error}"))?;
    let text = |value: &Value, key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
            .ok_or_else(|| format!("`candor doctor` gave no `{key}`"))
    };
    let mut rows = Vec::new();
    for choice in value.get("choices").and_then(Value::as_array).into_iter().flatten() {
        let sources = choice.get("sources").and_then(Value::as_array).into_iter().flatten();
        let source = sources.filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
        rows.push(Row { routine: text(choice, "routine")?, arms: text(choice, "found")?, source });
    }
    match rows.is_empty() {
        true => Err("these runs compare no arms".to_owned()),
        false => Ok((text(&value, "microarchitecture")?, rows)),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// The table with these rows in the section of `cpu`, and what changed.
fn with_rows(table: &str, cpu: &str, rows: &[Row]) -> Result<(String, Vec<String>), Failure> {
    if cpu == "unknown" || !table.lines().any(|line| section(line) == Some(cpu)) {
        return Err(format!("{TABLE} does not know this CPU: add a line `cpu NAME VENDOR FAMILY MODELS` and its rows"));
    }
    let (mut here, mut written, mut changes) = (false, String::new(), Vec::new());
    for line in table.lines() {
        here = section(line).map_or(here, |name| name == cpu);
        let routine = line.split(' ').next().unwrap_or_default();
        let new = rows.iter().find(|row| here && row.routine == routine);
        let new = new.map_or_else(|| line.to_owned(), |row| format!("{routine} {} {}", row.arms, row.source));
        if new != line {
            changes.push(format!("{line}\n    -> {new}"));
        }
        written += &new;
        written.push('\n');
    }
    Ok((written, changes))
}

/// The microarchitecture whose section this line begins.
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("cpu ")?.split(' ').next()
}

/// The rows of a section.
fn rows_of(table: &str, cpu: &str) -> Vec<Row> {
    let mut here = false;
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        here = section(line).map_or(here, |name| name == cpu);
        if let [routine, arms, source] = line.splitn(3, ' ').collect::<Vec<_>>()[..]
            && here
            && section(line).is_none()
        {
            rows.push(Row { routine: routine.into(), arms: arms.into(), source: source.into() });
        }
    }
    rows
}

/// The runs that a source names: `run NAME, DATE, CPU; run …`.
fn cited(source: &str) -> impl Iterator<Item = &str> {
    source.split("; ").filter_map(|run| Some(run.strip_prefix("run ")?.split_once(',')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "candor-arms 1\n# comment\n\ncpu unknown\ngf2-mul widest rule\n\ncpu zen4 AuthenticAMD 25 10-1f\ngf2-mul - not run\n\n\
                         cpu zen5 AuthenticAMD 26 00-2f\ngf2-mul widest run 2026-11-21-zen5-000001, 2026-11-21, a CPU\n";

    fn row(routine: &str, arms: &str) -> Row {
        Row {
            routine: routine.into(),
            arms: arms.into(),
            source: "run 2026-11-22-zen4-000002, 2026-11-22, a CPU".into(),
        }
    }

    #[test]
    fn rows_go_into_the_section_of_their_cpu_and_nowhere_else() {
        let (written, changes) = with_rows(SMALL, "zen4", &[row("gf2-mul", "vpclmul")]).unwrap();
        let expected =
            SMALL.replace("gf2-mul - not run", "gf2-mul vpclmul run 2026-11-22-zen4-000002, 2026-11-22, a CPU");
        assert_eq!(written, expected);
        assert_eq!(changes.len(), 1);
        // Written again, nothing changes.
        let (again, changes) = with_rows(&written, "zen4", &[row("gf2-mul", "vpclmul")]).unwrap();
        assert_eq!((again, changes.len()), (written, 0));
    }

    #[test]
    fn a_cpu_without_a_section_is_refused() {
        assert!(with_rows(SMALL, "zen6", &[row("gf2-mul", "widest")]).unwrap_err().contains("add a line"));
        assert!(with_rows(SMALL, "unknown", &[row("gf2-mul", "widest")]).is_err());
    }

    #[test]
    fn a_source_names_its_runs() {
        let source = "run 2026-11-21-zen5-000001, 2026-11-21, a CPU; run 2026-11-22-zen5-000002, 2026-11-22, a CPU";
        assert_eq!(cited(source).collect::<Vec<_>>(), ["2026-11-21-zen5-000001", "2026-11-22-zen5-000002"]);
        assert_eq!(cited("not run").count(), 0);
        assert_eq!(rows_of(SMALL, "zen5")[0].source, "run 2026-11-21-zen5-000001, 2026-11-21, a CPU");
    }

    #[test]
    fn the_doctors_answer_becomes_rows() {
        let json = r#"{"microarchitecture": "zen4", "choices": [
            {"routine": "gf2-mul", "found": "vpclmul", "tasks": 3, "sources": ["run A, D, C", "run B, D, C"], "table": "widest", "source": "rule"}]}"#;
        let (cpu, rows) = parse(json).unwrap();
        let expected =
            Row { routine: "gf2-mul".into(), arms: "vpclmul".into(), source: "run A, D, C; run B, D, C".into() };
        assert_eq!((cpu.as_str(), &rows[..]), ("zen4", &[expected][..]));
        assert!(parse(r#"{"microarchitecture": "zen4", "choices": []}"#).is_err());
    }

    #[test]
    fn the_real_table_has_the_same_routines_in_every_section() {
        let table = read(&Workspace::here().unwrap().root.join(TABLE)).unwrap();
        let routines = |cpu: &str| rows_of(&table, cpu).into_iter().map(|row| row.routine).collect::<Vec<_>>();
        let first = routines("unknown");
        assert!(first.len() > 10);
        for cpu in table.lines().filter_map(section) {
            assert_eq!(routines(cpu), first, "{cpu}");
        }
    }
}
