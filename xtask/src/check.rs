//! `cargo xtask check`: the inner loop. What finds most mistakes in about a minute once everything is built.
//!
//! Which tests run depends on which files changed. A changed crate runs all of its tests, integration tests included, for that is where
//! codecs and protocols are tested; crates that depend on it run their unit tests. Everything is selected with `--workspace`, so that no
//! dependency is compiled again with other features, and then only the chosen test programs are started.

use crate::Failure;
use crate::columns::{self, Align};
use crate::stage::{cargo_with, program, stream};
use crate::workspace::{Member, Workspace, cargo};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// Runs the stages in the order of what is quickest to tell. It goes on after a failure, so that one run shows all.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let since = since(words)?;
    let workspace = Workspace::here()?;
    std::env::set_current_dir(&workspace.root).map_err(|error| format!("cannot go to the root: {error}"))?;
    let changed = changed_files(&workspace.root, since.as_deref())?;
    let mut rows = Vec::new();
    let mut stage = |name: &'static str, work: &mut dyn FnMut() -> Result<bool, Failure>| -> Result<(), Failure> {
        println!("== {name}");
        let start = Instant::now();
        let well = work()?;
        rows.push((name, start.elapsed().as_secs_f64(), well));
        Ok(())
    };
    let cargo = |words: &[&str]| stream(cargo_with(words), |_| ());
    stage("fmt", &mut || cargo(&["fmt", "--all", "--check"]))?;
    stage("structure", &mut crate::structure::run)?;
    stage("clippy", &mut || cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    // Its program is built with a feature that no other build has.
    stage("clippy of ct", &mut || cargo(CT))?;
    stage("tests", &mut || tests(&workspace, &changed))?;
    println!();
    let shown = rows.iter().map(|(name, seconds, well)| {
        [(*name).to_owned(), format!("{seconds:.1} s"), if *well { "ok" } else { "FAILED" }.to_owned()]
    });
    columns::lines([Align::Left, Align::Right, Align::Left], shown).iter().for_each(|line| println!("{line}"));
    Ok(rows.iter().all(|(_, _, well)| *well))
}

const CT: &[&str] = &["clippy", "--package", "candor-ct", "--features", "gate", "--quiet", "--", "-D", "warnings"];

fn since(words: &[String]) -> Result<Option<String>, Failure> {
    match words {
        [] => Ok(None),
        [option, revision] if option == "--since" => Ok(Some(revision.clone())),
        _ => Err("`check` takes `--since REV` or nothing".to_owned()),
    }
}

/// Paths, from the root, that differ from the merge base with `since`; without it, what is not committed or, if nothing is, the last commit.
fn changed_files(root: &Path, since: Option<&str>) -> Result<Vec<String>, Failure> {
    let git = |words: &[&str]| -> Result<Vec<String>, Failure> {
        let output = program("git").args(words).current_dir(root).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot start git: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`git {}` failed: {}", words.join(" "), said.trim_end()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).split_terminator('\0').map(str::to_owned).collect())
    };
    let base = match since {
        None => "HEAD".to_owned(),
        Some(revision) => git(&["merge-base", "HEAD", revision])?.concat().trim().to_owned(),
    };
    let mut changed = git(&["diff", "--name-only", "-z", &base])?;
    changed.extend(git(&["ls-files", "-z", "--others", "--exclude-standard"])?);
    if changed.is_empty() && since.is_none() {
        println!("nothing is uncommitted: taking the files of the last commit");
        changed = git(&["show", "--name-only", "-z", "--format=", "HEAD"])?;
    }
    Ok(changed)
}

/// What a change concerns: the members changed, and those that depend on them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Affected<'a> {
    changed: BTreeSet<&'a str>,
    above: BTreeSet<&'a str>,
}

impl<'a> Affected<'a> {
    fn by(files: &[String], workspace: &'a Workspace) -> Self {
        let mut changed = BTreeSet::new();
        for file in files {
            let path = workspace.root.join(file);
            // Nested folders: the innermost member has the file.
            let inside = workspace.members.iter().filter(|member| path.starts_with(&member.folder));
            let owner = inside.max_by_key(|member| member.folder.components().count());
            match owner.filter(|member| member.folder != workspace.root) {
                Some(member) => drop(changed.insert(member.name.as_str())),
                None if is_for_all(file) => changed.extend(workspace.members.iter().map(|member| member.name.as_str())),
                None => changed.extend(readers(file, &workspace.members)),
            }
        }
        let mut reached = changed.clone();
        loop {
            let uses = |member: &&Member| member.dependencies.iter().any(|it| reached.contains(it.name.as_str()));
            let more: Vec<&str> = workspace.members.iter().filter(uses).map(|member| member.name.as_str()).collect();
            let before = reached.len();
            reached.extend(more);
            if reached.len() == before {
                break;
            }
        }
        Self { above: reached.difference(&changed).copied().collect(), changed }
    }
}

/// Files that decide how everything is built.
fn is_for_all(file: &str) -> bool {
    matches!(file, "Cargo.toml" | "Cargo.lock" | "rust-toolchain.toml") || file.starts_with(".cargo/")
}

/// The members whose sources name the data file, or the folder that it lies in.
fn readers<'a>(file: &str, members: &'a [Member]) -> Vec<&'a str> {
    let Some((folder, _)) = file.rsplit_once('/') else { return Vec::new() };
    let names = |path: PathBuf| std::fs::read_to_string(path).is_ok_and(|text| text.contains(&format!("{folder}/")));
    let reads = |member: &&Member| member.rust_files().unwrap_or_default().into_iter().any(names);
    members.iter().filter(reads).map(|member| member.name.as_str()).collect()
}

/// Builds the tests of what is affected, and runs them.
fn tests(workspace: &Workspace, changed: &[String]) -> Result<bool, Failure> {
    let affected = Affected::by(changed, workspace);
    if affected.changed.is_empty() {
        println!("no crate changed");
        return Ok(true);
    }
    let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    println!("all tests of {}", list(&affected.changed));
    if !affected.above.is_empty() {
        println!("unit tests of {}", list(&affected.above));
    }
    let mut words: Vec<String> =
        ["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics", "--lib"]
            .map(str::to_owned)
            .into();
    for member in &workspace.members {
        let changed = affected.changed.contains(member.name.as_str());
        let wanted = |kind: &str| kind == "bin" || (changed && kind == "test");
        if changed || affected.above.contains(member.name.as_str()) {
            for (kind, name) in member.targets.iter().filter(|(kind, _)| wanted(kind)) {
                words.extend([format!("--{kind}"), name.clone()]);
            }
        }
    }
    let output = cargo()
        .args(&words)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Ok(false);
    }
    let mut well = true;
    for Program { path, package } in programs(&String::from_utf8_lossy(&output.stdout)) {
        let Some(member) = workspace.members.iter().find(|member| package.starts_with(&member.folder)) else {
            continue;
        };
        if affected.changed.contains(member.name.as_str()) || affected.above.contains(member.name.as_str()) {
            let mut test = program(&path);
            test.arg("--quiet").current_dir(&member.folder).env("CARGO_MANIFEST_DIR", &member.folder);
            println!("{}: {}", member.name, path.file_name().unwrap_or_default().to_string_lossy());
            well &= stream(test, |_| ())?;
        }
    }
    Ok(well)
}

/// A test program that cargo built.
struct Program {
    path: PathBuf,
    /// The folder of its package.
    package: PathBuf,
}

/// From cargo's messages. Programs that are no tests have no `test` profile.
fn programs(messages: &str) -> Vec<Program> {
    let values = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |value: Value| {
        (value["profile"]["test"] == true).then_some(())?;
        let package = Path::new(value["manifest_path"].as_str()?).parent()?.to_owned();
        Some(Program { path: PathBuf::from(value["executable"].as_str()?), package })
    };
    values.filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Dependency, Kind};

    fn workspace() -> Workspace {
        let member = |room: &str, uses: &[(&str, Kind)]| Member {
            name: format!("candor-{room}"),
            version: "0.1.0".to_owned(),
            published: true,
            folder: PathBuf::from("/h/crates").join(room),
            roots: Vec::new(),
            targets: Vec::new(),
            dependencies: uses
                .iter()
                .map(|(name, kind)| Dependency {
                    name: format!("candor-{name}"),
                    kind: *kind,
                    is_path: true,
                    versions: "*".to_owned(),
                })
                .collect(),
        };
        Workspace {
            root: PathBuf::from("/h"),
            target: PathBuf::from("/h/target"),
            members: Vec::from([
                member("cpu", &[]),
                member("onion", &[("cpu", Kind::Normal)]),
                member("network", &[("onion", Kind::Normal)]),
                member("lab", &[("onion", Kind::Dev)]),
                member("opaque", &[]),
            ]),
        }
    }

    fn affected(files: &[&str]) -> (Vec<String>, Vec<String>) {
        let workspace = workspace();
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let Affected { changed, above } = Affected::by(&files, &workspace);
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        (owned(changed), owned(above))
    }

    #[test]
    fn a_change_reaches_all_that_depend_on_the_crate_their_tests_included() {
        let (changed, above) = affected(&["crates/onion/src/cell.rs"]);
        assert_eq!(changed, ["candor-onion"]);
        assert_eq!(above, ["candor-lab", "candor-network"]);
    }

    #[test]
    fn the_lock_file_concerns_everybody_and_a_document_nobody() {
        assert_eq!(affected(&["Cargo.lock"]).0.len(), 5);
        assert_eq!(affected(&["README.md"]), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_file_of_one_crate_leaves_the_others_alone() {
        assert_eq!(affected(&["crates/opaque/tests/vectors.rs"]), (vec!["candor-opaque".to_owned()], Vec::new()));
    }

    #[test]
    fn test_programs_are_read_from_cargos_messages() {
        let messages = "not json\n\
            {\"profile\": {\"test\": true}, \"manifest_path\": \"/h/crates/cpu/Cargo.toml\", \"executable\": \"/h/target/debug/deps/cpu-1\"}\n\
            {\"profile\": {\"test\": false}, \"manifest_path\": \"/h/crates/cpu/Cargo.toml\", \"executable\": \"/h/target/debug/cpu\"}\n\
            {\"profile\": {\"test\": true}, \"manifest_path\": \"/h/crates/cpu/Cargo.toml\", \"executable\": null}\n";
        let found = programs(messages);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].package, Path::new("/h/crates/cpu"));
    }

    #[test]
    fn other_words_are_refused() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(since(&words("--since trunk")), Ok(Some("trunk".to_owned())));
        assert!(since(&words("--since")).is_err() && since(&words("trunk")).is_err());
    }
}
