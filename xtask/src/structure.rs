//! `cargo xtask structure`: the house as ARCHITECTURE.md draws it, checked by a program.
//!
//! Each rule is a file below `structure/` and a pure function from text to violations, so that its tests can show that it
//! bites without building a crate. This file walks the tree and hands the rules what they read.

mod addresses;
mod circles;
mod edges;
mod fuzz;
mod heads;
pub(crate) mod links;
mod manifest;
mod modules;
mod runs;
mod sizes;
mod strip;
mod unsafety;

use crate::Failure;
use crate::stage::program;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that stands where it may not.
#[derive(Debug)]
pub(crate) struct Violation {
    /// From the root of the repository.
    file: String,
    /// Counted from one.
    line: usize,
    /// What is wrong and what to do.
    what: String,
}

impl Violation {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Prints what is wrong; `Ok(true)` when nothing is.
pub(crate) fn run() -> Result<bool, Failure> {
    let workspace = Workspace::here()?;
    let (files, violations) = examine(&workspace)?;
    for violation in &violations {
        println!("{violation}");
    }
    println!(
        "structure: {} members, {files} Rust files, {}",
        workspace.members.len(),
        match violations.len() {
            0 => "nothing out of place".to_owned(),
            1 => "1 violation".to_owned(),
            many => format!("{many} violations"),
        }
    );
    Ok(violations.is_empty())
}

/// All rules over the whole tree: how many files were read, and what is wrong.
fn examine(workspace: &Workspace) -> Result<(usize, Vec<Violation>), Failure> {
    let mut violations = edges::check(workspace, &read)?;
    let mut sources = Vec::new();
    let ours: Vec<&str> = workspace.members.iter().map(|member| member.name.as_str()).collect();
    let root_manifest = workspace.root.join("Cargo.toml");
    violations.extend(manifest::check_comments("Cargo.toml", &read(&root_manifest)?, &ours));
    for member in &workspace.members {
        let path = member.folder.join("Cargo.toml");
        let text = read(&path)?;
        let shown = workspace.show(&path);
        violations.extend(manifest::check_comments(&shown, &text, &ours));
        violations.extend(manifest::check_lints(&shown, &text));
        for root in &member.roots {
            violations.extend(heads::check(&workspace.show(root), &read(root)?));
        }
        for path in member.rust_files()? {
            let shown = workspace.show(&path);
            let text = read(&path)?;
            let code = strip::strip(&text);
            violations.extend(sizes::check(&shown, &text));
            violations.extend(modules::check_borrowed(&workspace.show(&member.folder), &shown, &text));
            violations.extend(unsafety::check(&shown, member.room() == "cpu", &code));
            violations.extend(unsafety::check_one_way(&shown, &code));
            sources.push((shown, code));
        }
    }
    violations.extend(circles::check(&sources));
    let stale = crate::mutants::stale(&workspace.root)?.into_iter();
    violations.extend(stale.map(|(line, why)| Violation::new("xtask/mutants.toml", line, why)));
    let manifest = workspace.root.join("fuzz/Cargo.toml");
    if manifest.exists() {
        violations.extend(fuzz::check(&read(&manifest)?, &fuzz_targets(workspace)?));
    }
    let (mut sealed, mut citing, mut files) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    let mut commits = BTreeMap::new();
    for path in committed(&workspace.root)? {
        let bytes = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let shown = workspace.show(&path);
        files.insert(shown.clone());
        violations.extend(addresses::check(&shown, &bytes));
        if let Some(run) = shown.strip_prefix("runs/").and_then(|name| name.strip_suffix(".jsonl")) {
            sealed.insert(run.to_owned());
            commits.extend(runs::commit_of(&bytes).map(|commit| (run.to_owned(), commit)));
        } else if shown.ends_with(".md") || shown == "bars.toml" || shown.ends_with(runs::ARMS) {
            citing.push((shown, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    violations.extend(addresses::check_exceptions(&sealed));
    violations.extend(runs::check(&sealed, &citing));
    if has_history(&workspace.root) {
        let is_below = |commit: &str| git(&workspace.root, &["merge-base", "--is-ancestor", commit, "HEAD"]).is_some();
        violations.extend(runs::check_commits(&commits, &crate::bars::report::GONE, is_below));
    }
    citing.retain(|(file, _)| file.ends_with(".md"));
    violations.extend(links::check(&citing, &files));
    violations.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok((sources.len(), violations))
}

/// Whether git knows all that came before: a shallow copy, or a tree without a repository, does not.
fn has_history(root: &Path) -> bool {
    root.join(".git").exists()
        && git(root, &["rev-parse", "--is-shallow-repository"]).is_some_and(|said| said.trim() == "false")
}

/// What git says, if it ends well.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = program("git").args(words).current_dir(root).stdin(std::process::Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn fuzz_targets(workspace: &Workspace) -> Result<fuzz::Targets, Failure> {
    let at = workspace.root.join("fuzz");
    let source = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let corpus = |path: &Path| std::fs::read_dir(path).is_ok_and(|mut files| files.next().is_some());
    let tests = workspace.root.join("crates/fuzz-bodies/tests/fuzz_bodies");
    Ok(fuzz::Targets {
        sources: stems(&at.join("fuzz_targets"), source)?,
        corpora: stems(&at.join("corpus"), corpus)?,
        stable: stems(&tests, source)?
            .iter()
            .map(|name| read(&tests.join(format!("{name}.rs"))))
            .collect::<Result<_, _>>()?,
    })
}

/// What git tracks or would add, as far as it is there; every file where there is no repository.
pub(crate) fn committed(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = program("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .stdin(std::process::Stdio::null())
        .output();
    // A folder inside somebody else's repository is listed as empty.
    if root.join(".git").exists()
        && let Ok(output) = listed
        && output.status.success()
    {
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(names.split_terminator('\0').map(|name| root.join(name)).filter(|path| path.is_file()).collect());
    }
    let mut files = Vec::new();
    walk(root, &mut files)?;
    Ok(files)
}

/// Every file below `folder`, without what builds and runs leave behind.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let left_out = ["target", ".git", "candor-runs", "node_modules"].iter().any(|name| path.ends_with(name));
        match path.is_dir() {
            true if left_out => {}
            true => walk(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// The names, without endings, of what is in a folder and is `wanted`.
fn stems(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Result<BTreeSet<String>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| wanted(path));
    Ok(paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8; Rust sources and manifests must be", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_tree_stands() {
        let workspace = Workspace::here().unwrap();
        let (files, violations) = examine(&workspace).unwrap();
        assert!(files > 10, "only {files} files were found: is the walk broken?");
        let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
        assert!(list.is_empty(), "\n{}", list.join("\n"));
    }

    /// A small house in a temporary folder: `break_it` spoils it, and the walk must see that.
    fn house(name: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = std::env::temp_dir().join(format!("xtask-structure-{}-{name}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "[workspace]\nmembers = [\"crates/cpu\", \"crates/lab\"]\n");
        for room in ["cpu", "lab"] {
            write(
                &format!("crates/{room}/Cargo.toml"),
                &format!("[package]\nname = \"candor-{room}\"\nedition = \"2024\"\n[lints]\nworkspace = true\n"),
            );
            write(&format!("crates/{room}/src/lib.rs"), "//! Docs.\n");
        }
        for (path, text) in files {
            write(path, text);
        }
        let members = ["cpu", "lab"].map(|room| crate::workspace::Member {
            name: format!("candor-{room}"),
            version: "0.1.0".to_owned(),
            published: true,
            folder: root.join("crates").join(room),
            roots: vec![root.join("crates").join(room).join("src/lib.rs")],
            targets: Vec::new(),
            dependencies: Vec::new(),
        });
        let workspace = Workspace { root: root.clone(), target: PathBuf::new(), members: members.into() };
        let found = examine(&workspace).unwrap().1.iter().map(Violation::to_string).collect();
        std::fs::remove_dir_all(&root).unwrap();
        found
    }

    #[test]
    fn a_clean_house_passes() {
        assert_eq!(house("clean", &[("crates/lab/src/low/a.rs", "unsafe fn f() {}\n")]), Vec::<String>::new());
    }

    #[test]
    fn the_walk_reaches_every_rule() {
        let long = "//! Long.\n".repeat(601);
        let found = house(
            "spoilt",
            &[
                ("crates/lab/src/plan.rs", "unsafe fn f() {}\n"),
                ("crates/lab/src/low/b.rs", "use crate::high::X;\n"),
                ("crates/lab/src/rounds.rs", &long),
                ("crates/lab/src/helpers.rs", "//! Docs.\n"),
                ("crates/lab/src/lib.rs", "fn f() {}\n"),
                ("crates/cpu/Cargo.toml", "[dependencies]\nsubtle = \"2\"\n"),
                ("docs/build.md", concat!("See /ho", "me/ada/candor and\n[this](gone.md).\n")),
                ("runs/2026-11-21-zen5-000001.jsonl", "{}\n"),
                (
                    "xtask/mutants.toml",
                    "[[mutant]]\nwhat = \"w\"\nfile = \"Cargo.toml\"\nfind = \"gone\"\nreplace = \"\"\ntest = \"t\"\n",
                ),
            ],
        );
        let has = |start: &str| assert!(found.iter().any(|line| line.starts_with(start)), "{start} not in {found:#?}");
        has("crates/lab/src/plan.rs:1: `unsafe`");
        has("crates/lab/src/low/b.rs:1: ");
        has("crates/lab/src/rounds.rs:601: ");
        has("crates/lab/src/helpers.rs:1: ");
        has("crates/lab/src/lib.rs:1: ");
        has("crates/cpu/Cargo.toml:2: ");
        has("docs/build.md:1: ");
        has("docs/build.md:2: ");
        has("xtask/mutants.toml:2: ");
        has("runs/2026-11-21-zen5-000001.jsonl:1: ");
        has("crates/cpu/Cargo.toml:1: ");
    }
}
