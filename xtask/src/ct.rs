//! `cargo xtask ct`: the release binary under valgrind, with secrets poisoned.
//!
//! Each case of `crates/ct` runs in a process of its own under memcheck, which reports every branch and every address that
//! depends on undefined bytes. A case that names a kernel runs once more under callgrind, whose list of executed functions
//! proves that the kernel ran. `judge` says what must hold; the controls at the head of the list prove that it bites. Cases that valgrind can't
//! run are run without it; `scan` reads their kernels, `timing` times them, and `arms` says which of the three each arm of the products has.
//!
//! Debug builds prove nothing here: it is the release build in which LLVM turns masks into branches.

mod arms;
pub(crate) mod documented;
mod judge;
mod leaks;
mod marked;
mod observe;
mod places;
mod scan;
mod section;
mod timing;

use crate::Failure;
use crate::stage::{cargo_with, program, stream};
use crate::tally::Tally;
use crate::workspace::cargo;
use arms::{Evidence, Sources};
use judge::{Case, Expect, Observed, Verdict};
pub(crate) use leaks::{Caught, caught};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `cargo xtask ct [--write] [CASE]`, or with `--timing` the other half.
pub(crate) fn command(rest: &[String]) -> Result<bool, Failure> {
    let root = crate::workspace::Workspace::here()?.root;
    if rest.iter().any(|word| word == "--timing") {
        return timing::command(&root, rest);
    }
    let (options, names): (Vec<&String>, Vec<&String>) = rest.iter().partition(|word| word.starts_with('-'));
    match (&options[..], &names[..]) {
        ([], []) => run(&root, None, false),
        ([], [name]) => run(&root, Some(name), false),
        ([write], []) if *write == "--write" => run(&root, None, true),
        _ => {
            return Err(
                "`ct` takes a part of a case's name, or `--write`, or `--timing`; see `cargo xtask help`".to_owned()
            );
        }
    }
    .map(|tally| tally.failed == 0)
}

/// Builds the cases and runs those whose name contains `filter`; the controls always. Prints one line per case, and one per routine that says how
/// each arm was checked. With `write` that table goes into SOUNDNESS.md; otherwise it must stand there already.
///
/// Where valgrind is missing, or the machine is not x86-64 Linux (the marks are no-ops elsewhere), all of it counts as one
/// skip; under `CI` that is a failure.
///
/// # Errors
/// If the cases can't be built or listed, or no case's name contains the filter.
pub(crate) fn run(root: &Path, filter: Option<&str>, write: bool) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    if let Some(why) = cannot_run() {
        println!("ct: not run: {why}");
        if std::env::var_os("CI").is_some() {
            tally.fail(format!("ct: {why}"));
        } else {
            tally.skip("ct", &why);
        }
        return Ok(tally);
    }
    let binary = build(root, GATE, None)?;
    if filter.is_none_or(|filter| "scan".contains(filter)) && !stream(cargo_with(["build", "--release"]), |_| ())? {
        return Err("the release binary does not build, so its kernels can't be read".to_owned());
    }
    let cases = list(&binary)?;
    let soundness = section::document(root)?;
    let checked = cases.iter().filter(|case| !case.is_control()).map(|case| case.name.as_str());
    documented::differences(&soundness, checked).into_iter().for_each(|fault| fail(&mut tally, fault));
    let places = places::table(root, &soundness)?;
    if write {
        section::write(root, places::SECTION, &places)?;
    } else {
        let written = section::read(&soundness, places::SECTION);
        places::differences(written, &places).into_iter().for_each(|fault| fail(&mut tally, fault));
    }
    let cases = select(cases, filter)?;
    let logs = binary.parent().unwrap_or(root).join("ct-logs");
    std::fs::create_dir_all(&logs).map_err(|error| format!("cannot make {}: {error}", logs.display()))?;

    let (mut record, mut evidence, mut elsewhere) = (Record::default(), Evidence::default(), Vec::new());
    for (case, (verdict, observed)) in cases.iter().zip(all(&binary, &cases, &logs)) {
        let passed = matches!(verdict, Ok(Verdict::Pass(_)));
        match (&case.expect, observed) {
            _ if case.is_control() => {}
            (Expect::Elsewhere { reads, .. }, Some(observed)) if passed => elsewhere.push((case, reads, observed.arms)),
            (Expect::Elsewhere { .. }, _) => record.note_skip(case),
            (_, observed) => {
                evidence.memcheck.extend(observed.iter().filter(|_| passed).flat_map(|observed| observed.arms.clone()));
                record.add(case, observed);
            }
        }
        match verdict {
            Ok(Verdict::Pass(what)) => {
                println!("ct {}: ok ({what})", case.name);
                tally.pass();
            }
            Ok(Verdict::Skip(why)) => {
                println!("ct {}: skipped: {why}", case.name);
                tally.skip(&format!("ct {}", case.name), &why);
            }
            Ok(Verdict::Fail(why)) | Err(why) => {
                println!("ct {}: FAILED: {why}", case.name);
                tally.fail(format!("ct {}: {}", case.name, why.lines().next().unwrap_or_default()));
            }
        }
    }
    let marks = marked::read(root)?;
    record.faults(&marks, &soundness, filter.is_none()).into_iter().for_each(|fault| fail(&mut tally, fault));
    if filter.is_none_or(|filter| "scan".contains(filter)) {
        let kernels = scan::run(root, &binary, &mut tally);
        let timed = timing::timed(&soundness);
        let with_a_case: BTreeSet<arms::Arm> = elsewhere.iter().map(|(case, ..)| case.ran.clone()).collect();
        for (case, reads, arms) in elsewhere {
            // What the case takes besides belongs to cases of its own: which arm that takes differs between kinds of CPU.
            let is_own = |arm: &arms::Arm| arm.1 == case.ran.1 && (*arm == case.ran || !with_a_case.contains(arm));
            let own: Vec<arms::Arm> = arms.into_iter().filter(is_own).collect();
            let unread = arms::unread(reads, &kernels);
            let scanned = unread.is_empty() && !reads.is_empty();
            if let Some(name) = unread.first() {
                fail(&mut tally, format!("{}: the scan has not read {name} without a finding", case.name));
            } else if scanned {
                evidence.scan.extend(own.iter().cloned());
            }
            match timed.get(&case.name) {
                Some(row) if row.verdict != timing::SAME => {
                    fail(&mut tally, format!("{}: timed, and the verdict is `{}`", case.name, row.verdict));
                }
                Some(row) if row.code.is_some() && row.code == scan::code(reads, &kernels) => {
                    evidence.dudect.extend(own);
                }
                Some(_) => {
                    println!("ct {}: timed before its last change: `cargo xtask ct --timing --write`", case.name);
                    evidence.stale.extend(own);
                }
                // One kind of evidence is needed, and timing wants a quiet machine for a quarter of an hour.
                None if scanned => {
                    println!("ct {}: read, and not timed yet: `cargo xtask ct --timing --write`", case.name)
                }
                None => fail(&mut tally, format!("{}: never timed: run `cargo xtask ct --timing --write`", case.name)),
            }
        }
    }
    if filter.is_none() && !record.incomplete {
        evidence.arms = arms::parse(&said(&binary, "arms")?)?;
        evidence.foreign = Sources::read(root)?.foreign(&evidence.arms)?;
        if write {
            section::write(root, "arms", &evidence.table())?;
        }
        evidence.lines().iter().for_each(|line| println!("arms of {line}"));
        let soundness = section::document(root)?;
        evidence.faults(&soundness).into_iter().for_each(|fault| fail(&mut tally, fault));
    }
    println!("ct: {} (logs in {})", tally.line(), logs.display());
    Ok(tally)
}

fn fail(tally: &mut Tally, fault: String) {
    println!("ct: {fault}");
    tally.fail(format!("ct: {fault}"));
}

/// What all cases together have recorded.
#[derive(Default)]
struct Record {
    /// Marked functions and routines that took secrets.
    names: BTreeSet<String>,
    /// The reasons of `declassify`, and whether any was ever given for secret bytes.
    published: BTreeMap<String, bool>,
    /// A case was skipped that another machine runs.
    incomplete: bool,
}

impl Record {
    fn note_skip(&mut self, case: &Case) {
        self.incomplete |= case.skip.as_ref().is_some_and(|why| why.contains(LACKS));
    }

    fn add(&mut self, case: &Case, observed: Option<Observed>) {
        self.note_skip(case);
        let Some(observed) = observed else { return };
        self.names.extend(observed.taken);
        self.names.extend(observed.arms.into_iter().map(|(routine, _)| routine));
        for (why, was_secret) in observed.published {
            *self.published.entry(why).or_default() |= was_secret;
        }
    }

    /// What must not be, if `all` cases ran.
    fn faults(&self, marks: &marked::Marks, soundness: &str, all: bool) -> Vec<String> {
        let mut faults: Vec<String> = marks
            .unmarked
            .iter()
            .map(|place| format!("{place} takes secrets and has no mark: see xtask/src/ct/marked.rs"))
            .collect();
        let unlisted = self.published.keys().filter(|why| !soundness.contains(&format!("`{why}`")));
        faults.extend(unlisted.map(|why| format!("`{why}` is declassified and SOUNDNESS.md does not say why")));
        if all && !self.incomplete {
            let missing = marked::unrecorded(marks, &self.names);
            faults.extend(missing.into_iter().map(|name| format!("no case runs `{name}` on secrets")));
            let public = self.published.iter().filter(|(_, was_secret)| !**was_secret);
            faults.extend(
                public
                    .map(|(why, _)| format!("what is declassified as `{why}` was never secret: no poison reaches it")),
            );
        }
        faults
    }
}

/// Why the gate can't run here, if it can't.
fn cannot_run() -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("secrets can be marked for valgrind on x86-64 Linux only".to_owned());
    }
    match program("valgrind").arg("--version").output() {
        Ok(output) if output.status.success() => None,
        _ => Some("valgrind is not installed (Debian: apt-get install valgrind)".to_owned()),
    }
}

/// The program of the cases, with the marks.
const GATE: &[&str] = &["--bin", "candor-ct", "--features", "gate"];

/// Builds a program of `candor-ct` as users get the products, in the release profile, and returns its path. `target` is where cargo builds, if not
/// at its usual place.
fn build(root: &Path, what: &[&str], target: Option<&Path>) -> Result<PathBuf, Failure> {
    let mut command = cargo();
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    let output = command
        .current_dir(root)
        .args(["build", "--release", "--package", "candor-ct"])
        .args(what)
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err("candor-ct does not build".to_owned());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == what[1])
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| "cargo built candor-ct but did not say where it put the program".to_owned())
}

/// A case on an arm that valgrind can't run, and what it must record.
pub(crate) struct Unseen {
    pub(crate) case: String,
    pub(crate) routine: String,
    pub(crate) arm: String,
}

/// Builds the cases. The program, and its cases on arms of ours that valgrind can't run, whether this CPU can or not.
///
/// # Errors
/// If the cases can't be built or listed.
pub(crate) fn unseen(root: &Path) -> Result<(PathBuf, Vec<Unseen>), Failure> {
    let binary = build(root, GATE, None)?;
    let unseen = |case: &Case| {
        // AWS-LC asks the CPU itself and can't be forced.
        let lacking = case.skip.as_ref().is_some_and(|why| why.contains(LACKS))
            || matches!(case.expect, Expect::Elsewhere { .. });
        lacking && !case.name.contains("/aws-lc@")
    };
    let cases = list(&binary)?.into_iter().filter(unseen);
    let cases = cases.map(|Case { name, ran: (routine, arm), .. }| Unseen { case: name, routine, arm }).collect();
    Ok((binary, cases))
}

/// Part of why a case is skipped that another machine runs.
const LACKS: &str = "this CPU lacks";

fn list(binary: &Path) -> Result<Vec<Case>, Failure> {
    judge::parse_list(&said(binary, "list")?)
}

/// What the program prints for one word.
fn said(binary: &Path, word: &str) -> Result<String, Failure> {
    let name = binary.display();
    let output = program(binary).arg(word).output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{name} {word}` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The controls, and the cases that contain `filter`.
fn select(cases: Vec<Case>, filter: Option<&str>) -> Result<Vec<Case>, Failure> {
    let Some(filter) = filter else { return Ok(cases) };
    if filter == "scan" {
        return Ok(cases.into_iter().filter(Case::is_control).collect());
    }
    if !cases.iter().any(|case| case.name.contains(filter)) {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        return Err(format!("no case's name contains `{filter}`; the cases are {}", names.join(", ")));
    }
    Ok(cases.into_iter().filter(|case| case.is_control() || case.name.contains(filter)).collect())
}

/// A verdict, and what it rests on if the case ran.
type Outcome = (Result<Verdict, Failure>, Option<Observed>);

/// Runs the cases, as many at a time as there are processors, and gives the verdicts in the cases' order.
fn all(binary: &Path, cases: &[Case], logs: &Path) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(cases.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, case)) = Some(next.fetch_add(1, Ordering::Relaxed)).map(|at| (at, cases.get(at)))
                    && let Some(case) = case
                {
                    let verdict = match &case.skip {
                        Some(why) => (Ok(Verdict::Skip(why.clone())), None),
                        None => match observe::observe(binary, case, logs) {
                            Ok(observed) => (Ok(judge::judge(case, &observed)), Some(observed)),
                            Err(why) => (Err(why), None),
                        },
                    };
                    verdicts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, verdict));
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    verdicts.sort_by_key(|(at, _)| *at);
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> Vec<Case> {
        let lines = [
            "control/branch\tcontrol\tbranch\t-\tfires\t-\t-",
            "control/index\tcontrol\tindex\t-\tfires\t-\t-",
            "control/early-exit\tcontrol\tearly-exit\t-\tfires\t-\t-",
            "control/masks\tcontrol\tmasks\t-\tclean\t-\t-",
            "control/other-arm\tx\tb\t-\tother-arm\t-\t-",
            "control/other-kernel\tx\ta\tk\tother-kernel\t-\t-",
            "control/never-secret\tx\ta\t-\tnever-secret\t-\t-",
            "control/was-secret\tx\ta\t-\tclean\t-\t-",
            "x/a\tx\ta\t-\tclean\t-\t-",
            "y/a\ty\ta\t-\tclean\t-\t-",
        ];
        judge::parse_list(&lines.join("\n")).unwrap()
    }

    #[test]
    fn a_filter_keeps_the_controls() {
        let names =
            |filter| -> Vec<String> { select(cases(), filter).unwrap().into_iter().map(|case| case.name).collect() };
        assert_eq!(names(None).len(), 10);
        assert_eq!((names(Some("y/")).len(), names(Some("y/")).last().unwrap().as_str()), (9, "y/a"));
    }

    #[test]
    fn a_mark_without_a_case_and_a_reason_that_never_held_are_faults() {
        let marks = marked::Marks { names: ["x".to_owned(), "x/open".to_owned()].into(), unmarked: Vec::new() };
        let record = |taken: &[&str], was_secret| {
            let mut record = Record::default();
            let observed = Observed {
                taken: taken.iter().map(|name| (*name).to_owned()).collect(),
                arms: vec![("x".to_owned(), "a".to_owned())],
                published: vec![("result".to_owned(), was_secret)],
                ..Observed::default()
            };
            record.add(&cases()[8], Some(observed));
            record
        };
        assert_eq!(record(&["x/open"], true).faults(&marks, "`result`", true), [""; 0]);
        assert_eq!(record(&[], true).faults(&marks, "`result`", true), ["no case runs `x/open` on secrets"]);
        assert_eq!(record(&[], true).faults(&marks, "`result`", false), [""; 0]);
        assert!(record(&["x/open"], false).faults(&marks, "`result`", true)[0].contains("never secret"));
        assert!(record(&["x/open"], true).faults(&marks, "", true)[0].contains("SOUNDNESS.md does not say why"));
        let unmarked = marked::Marks { unmarked: vec!["f.rs:3: open".to_owned()], ..marks };
        assert!(record(&["x/open"], true).faults(&unmarked, "`result`", false)[0].contains("f.rs:3: open"));
    }

    #[test]
    fn a_filter_that_finds_nothing_is_an_error_with_the_names() {
        assert!(select(cases(), Some("sha3")).unwrap_err().contains("y/a"));
    }
}
