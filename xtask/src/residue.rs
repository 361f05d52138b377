//! `cargo xtask residue`: what operations on secrets leave on the stack and in freed memory, in the release build.
//!
//! The program `candor-residue` does the looking (`crates/residue`). It is built together with `candor`, whose features it shares, so the products in it
//! are those that ship. What may be left behind stands in its cases, and in a table of SOUNDNESS.md, which must say the same.

use crate::Failure;
use crate::ct::Caught;
use crate::ct::documented::alternatives;
use crate::stage::{program, stream};
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program and runs the cases whose name contains `filter`; the controls always.
///
/// # Errors
/// If the program can't be built or started.
pub(crate) fn run(workspace: &Workspace, filter: Option<&str>) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        println!("residue: not run: the stack is read on x86-64 Linux only");
        tally.skip("residue", "the stack is read on x86-64 Linux only");
        return Ok(tally);
    }
    let binary = built(workspace)?;
    let mut cases = program(&binary);
    cases.args(filter);
    let mut verdicts = 0;
    let ended_well = stream(cases, |line| verdicts += usize::from(count(line, &mut tally)))?;
    if verdicts == 0 || ended_well != (tally.failed == 0) {
        tally.fail("residue: candor-residue did not run to its end".to_owned());
    }

    let output =
        program(&binary).arg("left").output().map_err(|error| format!("cannot start candor-residue: {error}"))?;
    let path = workspace.root.join("SOUNDNESS.md");
    let document = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    for difference in differences(&document, &String::from_utf8_lossy(&output.stdout)) {
        println!("residue: {difference}");
        tally.fail(format!("residue: {difference}"));
    }
    println!("residue: {}", tally.line());
    Ok(tally)
}

/// What the cases whose name contains `case` say of `tree`, built into `target`: for `cargo xtask mutants`.
///
/// # Errors
/// If cargo or the program can't be started.
pub(crate) fn caught(tree: &Path, target: &Path, case: &str) -> Result<Caught, Failure> {
    let mut build = build(tree);
    build.arg("--quiet").env("CARGO_TARGET_DIR", target);
    let built = build.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.status.success() {
        return Ok(Caught::NotBuilt(String::from_utf8_lossy(&built.stderr).trim_end().to_owned()));
    }
    let mut cases = program(target.join("release/candor-residue"));
    let output = cases.arg(case).output().map_err(|error| format!("cannot start candor-residue: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut tally = Tally::default();
    said.lines().for_each(|line| _ = count(line, &mut tally));
    match (said.lines().any(|line| line.starts_with(case)), tally.failures.is_empty() && output.status.success()) {
        (false, _) => Err(format!("there is no case `{case}`")),
        (true, true) => Ok(Caught::Not),
        (true, false) => Ok(Caught::With(tally.failures.join("\n"))),
    }
}

/// Together with `candor`, so that the products have the features that ship.
fn build(root: &Path) -> Command {
    let mut build = cargo();
    build.current_dir(root).args(["build", "--release"]);
    build.args(["--package", "candor", "--package", "candor-residue", "--bin", "candor-residue"]);
    build
}

/// The program, built.
///
/// # Errors
/// If it does not build.
pub(crate) fn built(workspace: &Workspace) -> Result<PathBuf, Failure> {
    if !stream(build(&workspace.root), |_| ())? {
        return Err("candor-residue does not build".to_owned());
    }
    Ok(workspace.target.join("release/candor-residue"))
}

/// Counts a case's line, `name, verdict, text`. Other lines are none.
pub(crate) fn count(line: &str, tally: &mut Tally) -> bool {
    let mut fields = line.splitn(3, '\t');
    let (Some(name), Some(verdict), Some(text)) = (fields.next(), fields.next(), fields.next()) else { return false };
    match verdict {
        "ok" => tally.pass(),
        "skipped" => tally.skip(&format!("residue {name}"), text),
        _ => tally.fail(format!("residue {name}: {text}")),
    }
    true
}

/// Where the document's table and the program's list (`case, step, why`) differ. A row of the table is `| cases | why |`.
fn differences(document: &str, list: &str) -> Vec<String> {
    let table = document.split("**What stays.**").nth(1).and_then(|rest| rest.split("\n**").next()).unwrap_or("");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let listed: BTreeSet<(String, String)> = rows
        .flat_map(|(cases, why)| {
            cases.split('`').skip(1).step_by(2).flat_map(alternatives).map(move |case| (case, why.to_owned()))
        })
        .collect();
    let left: BTreeSet<(String, String)> = list
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            Some((fields.next()?.to_owned(), fields.nth(1)?.to_owned()))
        })
        .collect();
    let missing =
        left.difference(&listed).map(|(case, why)| format!("SOUNDNESS.md does not say that {case} leaves: {why}"));
    let invented = listed
        .difference(&left)
        .map(|(case, why)| format!("SOUNDNESS.md says that {case} leaves what it doesn't: {why}"));
    missing.chain(invented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "**What stays.** Text.\n\n| cases | what |\n|---|---|\n| `a@{p,q}` | its `key` |\n| `b` | blocks |\n\n**More.**";

    #[test]
    fn a_table_that_says_what_the_program_permits_is_right() {
        let list = "a@p\tkey\tits `key`\na@q\t*\tits `key`\nb\tx\tblocks\nb\ty\tblocks\n";
        assert_eq!(differences(DOCUMENT, list), [""; 0]);
    }

    #[test]
    fn a_case_too_few_and_another_reason_are_named() {
        let found = differences(DOCUMENT, "a@p\tkey\tits `key`\na@q\t*\tanother\nb\tx\tblocks\n");
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("does not say that a@q leaves: another"), "{found:?}");
        assert!(found[1].contains("says that a@q leaves what it doesn't: its `key`"), "{found:?}");
        assert_eq!(differences("", "b\tx\tblocks\n").len(), 1);
    }

    #[test]
    fn each_verdict_is_counted_as_what_it_is() {
        let mut tally = Tally::default();
        for line in ["a\tok\t3 steps", "b\tFAILED\tkey: 16 bytes", "c\tskipped\tno tier", "    key: 0 bytes"] {
            assert_eq!(count(line, &mut tally), line.contains('\t'));
        }
        assert_eq!(tally.line(), "1 passed, 1 failed, 1 skipped");
    }
}
