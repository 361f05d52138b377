//! A stranger's projects: what somebody makes who has only a README and the published crate.
//!
//! Each block `[dependencies]` of a README begins a project, and the examples that follow it are its doc tests. The projects stand in a
//! workspace of their own below `target/`; the registry's place is taken by the unpacked archives. They share the tests' profile and
//! target folder, so that what they have in common with the tests, AWS-LC above all, is compiled once.

use crate::Failure;
use crate::peers::{make_directory, quiet_step, write};
use crate::stage::cargo_with;
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which projects are built.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extent {
    /// Those of [`IN_THE_GATE`].
    Gate,
    All,
}

/// The crates whose READMEs the gate tries out. The others need tokio and more back ends, with other features than the tests have.
const IN_THE_GATE: [&str; 4] = ["candor-cpu", "candor-gf2", "candor-opaque", "candor-primitives"];

/// How many packages a user of a README's first `[dependencies]` may have to compile, that crate included.
const MOST_PACKAGES: [(&str, usize); 2] = [("candor-primitives", 14), ("candor-gf2", 4)];

/// One project.
#[derive(Debug, PartialEq)]
struct Project {
    /// Its name, and that of its folder.
    name: String,
    /// The lines below `[dependencies]`.
    dependencies: String,
    /// Code blocks, as the README has them.
    examples: Vec<String>,
}

/// Builds the projects of the crates in `unpacked` (names and folders), runs their examples and counts their packages.
pub(super) fn try_all(workspace: &Workspace, unpacked: &[(String, PathBuf)], extent: Extent, tally: &mut Tally) {
    let projects = match lay_out(workspace, unpacked, extent) {
        Ok(projects) => projects,
        Err(why) => return tally.check("README projects", Err(why)),
    };
    let at = folder(workspace);
    for project in &projects {
        let mut command = cargo_with(["test", "--offline", "--doc", "--package", &project.name]);
        command.current_dir(&at).env("CARGO_TARGET_DIR", &workspace.target);
        let before = tally.passed;
        crate::gate::tests(tally, &project.name, command);
        let ran = tally.passed - before;
        if ran < project.examples.len() as u64 {
            tally.fail(format!("{}: {ran} of {} examples of the README passed", project.name, project.examples.len()));
        }
    }
    for (name, most) in MOST_PACKAGES {
        match packages(&at, &format!("stranger-of-{name}")) {
            Ok(names) if names.len() <= most => {
                println!("{name}, as its README begins: {} packages (at most {most})", names.len());
                tally.pass();
            }
            Ok(names) => {
                println!(
                    "{name}: {} packages, at most {most}: {}",
                    names.len(),
                    names.into_iter().collect::<Vec<_>>().join(", ")
                );
                tally.fail(format!("{name} brings more than {most} packages"));
            }
            Err(why) => tally.check(&format!("packages of {name}"), Err(why)),
        }
    }
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("packed/strangers")
}

/// Writes the workspace of the projects.
fn lay_out(workspace: &Workspace, unpacked: &[(String, PathBuf)], extent: Extent) -> Result<Vec<Project>, Failure> {
    let mut all = Vec::new();
    for (name, folder) in unpacked {
        if extent == Extent::Gate && !IN_THE_GATE.contains(&name.as_str()) {
            continue;
        }
        let path = folder.join("README.md");
        let readme = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        all.extend(projects(name, &readme)?);
    }
    let at = folder(workspace);
    make_directory(&at)?;
    let ours =
        std::fs::read_to_string(workspace.root.join("Cargo.toml")).map_err(|error| format!("Cargo.toml: {error}"))?;
    let mut root = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"stranger-*\"]\n\n[patch.crates-io]\n");
    for (name, folder) in unpacked {
        root += &format!("{name} = {{ path = {:?} }}\n", folder.display().to_string());
    }
    for profile in ["[profile.dev]", "[profile.test]"] {
        root += &section(&ours, profile)?;
    }
    write(&at.join("Cargo.toml"), &root)?;
    // The versions that the tests use; cargo takes from it what it needs.
    std::fs::copy(workspace.root.join("Cargo.lock"), at.join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    for project in &all {
        let source = at.join(&project.name).join("src");
        make_directory(&source)?;
        let manifest = format!(
            "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{}",
            project.name, project.dependencies
        );
        write(&at.join(&project.name).join("Cargo.toml"), &manifest)?;
        write(&source.join("lib.rs"), "#![doc = include_str!(\"examples.md\")]\n")?;
        write(&source.join("examples.md"), &project.examples.join("\n"))?;
    }
    Ok(all)
}

/// The projects that the README of crate `name` describes.
fn projects(name: &str, readme: &str) -> Result<Vec<Project>, Failure> {
    let mut found: Vec<Project> = Vec::new();
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        let text: String = block.iter().map(|line| format!("{line}\n")).collect();
        if language == "toml"
            && let Some(dependencies) = text.strip_prefix("[dependencies]\n")
        {
            let name = match found.len() {
                0 => format!("stranger-of-{name}"),
                more => format!("stranger-of-{name}-{}", more + 1),
            };
            found.push(Project { name, dependencies: dependencies.to_owned(), examples: Vec::new() });
        } else if language.starts_with("rust") {
            let project = found.last_mut().ok_or_else(|| {
                format!(
                    "{name}: an example in README.md stands above the block that says what to write into [dependencies]"
                )
            })?;
            project.examples.push(format!("```{language}\n{text}```\n"));
        }
    }
    match found.iter().find(|project| project.examples.is_empty()) {
        None if !found.is_empty() => Ok(found),
        None => Err(format!("{name}: README.md has no block that says what to write into [dependencies]")),
        Some(_) => Err(format!("{name}: a block [dependencies] in README.md has no example below it")),
    }
}

/// The lines from `header` to the next table.
fn section(manifest: &str, header: &str) -> Result<String, Failure> {
    let mut lines = manifest.lines().skip_while(|line| *line != header);
    let first = lines.next().ok_or_else(|| format!("Cargo.toml has no {header}"))?;
    let rest = lines.take_while(|line| !line.starts_with('['));
    Ok(std::iter::once(first).chain(rest).map(|line| format!("{line}\n")).collect())
}

/// The packages that a project makes its user compile, besides itself.
fn packages(at: &Path, project: &str) -> Result<BTreeSet<String>, Failure> {
    let mut command =
        cargo_with(["tree", "--offline", "--prefix", "none", "--edges", "normal,build", "--package", project]);
    command.current_dir(at).env("CARGO_TERM_COLOR", "never");
    let said = quiet_step(&format!("counting the packages of {project}"), command)?;
    let names = said.lines().map(|line| line.trim_end_matches(" (*)").to_owned());
    Ok(names.filter(|line| !line.is_empty() && !line.starts_with(project)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "# candor-x\n```toml\n[dependencies]\ncandor-x = \"0.1\"\n```\ntext\n```rust\nlet one = 1;\n```\n```sh\nls\n```\n\
        ```rust,no_run\nlet two = 2;\n```\n## More\n```toml\n[dependencies]\ncandor-x = { version = \"0.1\", features = [\"y\"] }\n```\n\
        ```rust\nlet three = 3;\n```\n";

    #[test]
    fn an_example_belongs_to_the_dependencies_above_it() {
        let found = projects("candor-x", README).unwrap();
        assert_eq!(found[0].name, "stranger-of-candor-x");
        assert_eq!(found[0].dependencies, "candor-x = \"0.1\"\n");
        assert_eq!(found[0].examples, ["```rust\nlet one = 1;\n```\n", "```rust,no_run\nlet two = 2;\n```\n"]);
        assert_eq!(found[1].name, "stranger-of-candor-x-2");
        assert_eq!(found[1].examples.len(), 1);
    }

    #[test]
    fn a_readme_that_leaves_something_out_is_refused() {
        assert!(projects("candor-x", "```rust\n```\n").unwrap_err().contains("above the block"));
        assert!(projects("candor-x", "```toml\n[dependencies]\n```\n").unwrap_err().contains("no example"));
        assert!(projects("candor-x", "text\n").unwrap_err().contains("no block"));
    }

    #[test]
    fn a_section_ends_at_the_next_table() {
        let manifest = "[profile.dev]\n# Why.\nopt-level = 1\n\n[profile.test]\nopt-level = 2\n";
        assert_eq!(section(manifest, "[profile.dev]").unwrap(), "[profile.dev]\n# Why.\nopt-level = 1\n\n");
        assert_eq!(section(manifest, "[profile.test]").unwrap(), "[profile.test]\nopt-level = 2\n");
        assert!(section(manifest, "[profile.release]").is_err());
    }
}
