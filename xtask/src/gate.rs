//! `cargo xtask test`: the gate. Everything that must hold before a change lands, on a machine that has only rustup and a C
//! compiler.
//!
//! Stages go on after a failure, so that one run shows all. The order shares what is compiled: clippy and rustdoc use the
//! same metadata of the dependencies, unit, integration and doc tests the same libraries, the smoke run the release build.
//! Packages are selected with `--workspace` throughout, since selecting one with `-p` unites the features of its
//! dependencies differently and would compile them anew.

mod minutes;

use crate::Failure;
use crate::install;
use crate::stage::{cargo_with, clock, program, stream};
use crate::tally::{SmokeReader, Tally, TestReader, by_reason};
use crate::workspace::Workspace;
use minutes::{Minutes, Row};
use std::process::Command;
use std::time::Instant;

/// Runs all stages, or those whose name contains `only`; `Ok(true)` when nothing failed.
pub(crate) fn run(only: Option<&str>) -> Result<bool, Failure> {
    let workspace = Workspace::here()?;
    std::env::set_current_dir(&workspace.root).map_err(|error| format!("cannot go to the root: {error}"))?;
    let mut gate = Gate::new(Minutes::open(&workspace.target), only);

    gate.stage("system packages", |tally| tally.check("system packages", install::system_packages().map(|()| true)));
    gate.stage("rust components", |tally| tally.check("rust components", install::rust_components().map(|()| true)));
    gate.stage("fmt", |tally| one(tally, "fmt", cargo_with(["fmt", "--all", "--check"])));
    gate.stage("structure", |tally| tally.check("structure", crate::structure::run()));
    gate.stage("vectors", |tally| tally.check("vectors", crate::vectors::check(&workspace.root).map(|_| true)));
    gate.stage("licences and duplicates", |tally| crate::deny::in_the_gate(&workspace, tally));
    gate.stage("peers' recipes", |tally| recipes(tally, &workspace));
    gate.stage("clippy", |tally| {
        let words = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        one(tally, "clippy", cargo_with(words));
        // Its program is built with a feature that no other build has.
        let words = ["clippy", "--package", "candor-ct", "--features", "gate", "--", "-D", "warnings"];
        one(tally, "clippy of the constant-time cases", cargo_with(words));
    });
    gate.stage("no_std", |tally| no_std(tally, &workspace));
    gate.stage("portable", crate::portable::in_the_gate);
    gate.stage("wasm", |tally| crate::wasm::in_the_gate(&workspace, tally));
    gate.stage("release build", |tally| one(tally, "release build", cargo_with(["build", "--release"])));
    gate.stage("bars", |tally| {
        tally.check("the table of bars", crate::bars::is_documented(&workspace));
        tally.check("the results", crate::results::are_current(&workspace));
        tally.check("the table of arms", crate::tune::arms_are_current(&workspace));
    });
    let mut tor = None;
    gate.stage("C tor", |tally| match crate::unpacked::tor(&workspace.target) {
        Ok(program) => tor = Some(program),
        Err(why) => {
            println!("C tor: skipped: {why}");
            tally.skip("C tor", why.lines().next().unwrap_or_default());
        }
    });
    gate.stage("Chromium", |tally| {
        if let Err(why) = install::packages(&["chromium"]) {
            println!("Chromium: skipped: {why}");
            tally.skip("Chromium", why.lines().next().unwrap_or_default());
        }
    });
    gate.stage("web package", |tally| crate::wasm::package_in_the_gate(&workspace, tally));
    gate.stage("tests", |tally| {
        // Every kind of target but doc tests, which have a stage of their own.
        let words = ["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"];
        let mut command = cargo_with(words);
        // The longest tests wait most of the time, for a peer's silence or for a clock, so there are more of them at once than cores.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        command.env("RUST_TEST_THREADS", (2 * cores).to_string());
        if let Some(program) = &tor {
            command.env("CANDOR_TOR", program);
        }
        tests(tally, "tests", command);
    });
    gate.stage("differential", |tally| {
        crate::differential::in_the_gate(&workspace, tally);
        crate::skyfield::in_the_gate(&workspace, tally);
    });
    gate.stage("rust-version", |tally| crate::msrv::check(&workspace, tally));
    gate.stage("doc tests", |tally| {
        tests(tally, "doc tests", cargo_with(["test", "--workspace", "--no-fail-fast", "--doc"]));
    });
    gate.stage("packages", |tally| crate::published::in_the_gate(&workspace, tally));
    gate.stage("rustdoc", |tally| {
        let mut command = cargo_with(["doc", "--workspace", "--no-deps"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        one(tally, "rustdoc", command);
    });
    gate.stage("constant time", |tally| match crate::ct::run(&workspace.root, None, false) {
        Ok(cases) => tally.absorb(cases),
        Err(why) => tally.check("constant time", Err(why)),
    });
    gate.stage("residue", |tally| match crate::residue::run(&workspace, None) {
        Ok(cases) => tally.absorb(cases),
        Err(why) => tally.check("residue", Err(why)),
    });
    gate.stage("qemu", |tally| match crate::qemu::run(&workspace) {
        Ok(runs) => tally.absorb(runs),
        Err(why) => tally.check("qemu", Err(why)),
    });
    gate.stage("smoke", |tally| smoke(tally, &workspace));

    if gate.rows.is_empty() {
        return Err(format!("no stage's name contains `{}`", only.unwrap_or_default()));
    }
    Ok(gate.conclude())
}

/// The sum so far and what each stage took.
struct Gate {
    tally: Tally,
    rows: Vec<Row>,
    minutes: Minutes,
    /// Only stages with this in their name run.
    only: Option<String>,
}

impl Gate {
    fn new(minutes: Minutes, only: Option<&str>) -> Self {
        Self { tally: Tally::default(), rows: Vec::new(), minutes, only: only.map(str::to_owned) }
    }

    fn stage(&mut self, name: &'static str, work: impl FnOnce(&mut Tally)) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only)) {
            return;
        }
        println!("== {name}");
        let failed = self.tally.failed;
        let start = Instant::now();
        work(&mut self.tally);
        let time = start.elapsed();
        let well = self.tally.failed == failed;
        println!("== {name}: {} ({})", if well { "ok" } else { "FAILED" }, clock(time));
        if let Some(why) = minutes::reason(name, time) {
            println!("== {name}: {why}");
        }
        self.rows.push(Row { name, time, well });
    }

    /// The last page: skips, minutes, failures, counts. Who sees its end alone sees what matters most.
    fn conclude(self) -> bool {
        list("skipped", &by_reason(&self.tally.skips));
        print!("\n{}", self.minutes.table(&self.rows));
        if self.only.is_none() {
            self.minutes.keep(&self.rows);
        }
        list("failed", &self.tally.failures);
        println!("\n{}", self.tally.line());
        self.tally.failed == 0
    }
}

/// The recipes of `cargo xtask peers`, up to compiling. Their tools are installed where we are root; what is missing then is a skip.
fn recipes(tally: &mut Tally, workspace: &Workspace) {
    if let Err(why) = install::packages(&crate::peers::PACKAGES) {
        println!("{why}");
    }
    crate::peers::check_all(&workspace.target, tally);
}

fn list(title: &str, lines: &[String]) {
    if !lines.is_empty() {
        println!("\n{title}:");
        lines.iter().for_each(|line| println!("  {line}"));
    }
}

/// A command that counts as one check.
fn one(tally: &mut Tally, name: &str, command: Command) {
    let outcome = stream(command, |_| ());
    tally.check(name, outcome);
}

pub(crate) fn tests(tally: &mut Tally, name: &str, command: Command) {
    let mut reader = TestReader::default();
    match stream(command, |line| reader.line(line)) {
        Ok(succeeded) => reader.close(name, succeeded, tally),
        Err(why) => tally.check(name, Err(why)),
    }
}

/// Crates that call themselves `no_std` must stand without their default features.
fn no_std(tally: &mut Tally, workspace: &Workspace) {
    let mut words: Vec<&str> = Vec::from(["clippy", "--lib", "--no-default-features"]);
    let mut found = false;
    for member in &workspace.members {
        let says_so = |path: &std::path::PathBuf| std::fs::read_to_string(path).is_ok_and(|text| claims_no_std(&text));
        if member.roots.iter().any(says_so) {
            words.extend(["--package", &member.name]);
            found = true;
        }
    }
    if !found {
        tally.skip("no_std", "no crate claims it");
        return;
    }
    let features = crate::portable::BARE_FEATURES.join(",");
    words.extend(["--features", &features, "--", "-D", "warnings"]);
    one(tally, "no_std", cargo_with(words));
    // Selected alone, so that no other crate turns on their features.
    tests(tally, "no_std logins", cargo_with(["test", "--package", "candor-bare", "--lib"]));
}

/// `#![no_std]` or `#![cfg_attr(…, no_std)]`.
fn claims_no_std(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("#![") && line.contains("no_std"))
}

/// One round of every task of the lab with the program as users build it.
fn smoke(tally: &mut Tally, workspace: &Workspace) {
    let candor = workspace.target.join("release").join(format!("candor{}", std::env::consts::EXE_SUFFIX));
    if !candor.is_file() {
        tally.skip("smoke", "the release build made no candor");
        return;
    }
    let mut command = program(&candor);
    command.args(["run", "--smoke", "all", "--format", "json"]);
    let mut reader = SmokeReader::default();
    match stream(command, |line| reader.line(line)) {
        Ok(succeeded) => reader.close("smoke", succeeded, tally),
        Err(why) => tally.check("smoke", Err(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_stage_fails_the_gate_and_the_others_still_run() {
        let folder = std::env::temp_dir().join(format!("xtask-gate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut gate = Gate::new(Minutes::open(&folder), None);
        let mut ran = 0;
        gate.stage("bad", |tally| tally.check("bad", Err("why".to_owned())));
        gate.stage("good", |tally| {
            ran += 1;
            tally.check("good", Ok(true));
        });
        assert_eq!(ran, 1);
        assert_eq!(gate.tally.line(), "1 passed, 1 failed, 0 skipped");
        assert!(!gate.conclude());
        let kept = std::fs::read_to_string(folder.join("gate-minutes.json")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(kept.contains("\"bad\"") && kept.contains("\"good\""), "{kept}");
    }

    #[test]
    fn a_word_chooses_among_the_stages() {
        let mut gate = Gate::new(Minutes::open(std::path::Path::new("/nonexistent")), Some("doc"));
        gate.stage("tests", |_| panic!("not asked for"));
        gate.stage("doc tests", Tally::pass);
        assert_eq!(gate.rows.len(), 1);
        assert!(gate.conclude());
    }

    #[test]
    fn a_claim_of_no_std_is_recognised() {
        assert!(claims_no_std("//! Docs.\n#![no_std]\n"));
        assert!(claims_no_std("#![cfg_attr(not(any(feature = \"std\", test)), no_std)]\n"));
        assert!(!claims_no_std("//! Works with `#![no_std]`.\n"));
    }
}
