//! The crates that a registry may have: which they are, in what order they go out, and whether each is fit to.
//!
//! `cargo xtask package` packs them as `cargo publish` would, judges what is in each archive (`published/archive.rs`), and builds and runs
//! the examples of each README in projects that know nothing but the unpacked archives (`published/strangers.rs`).
//! `cargo xtask publish --dry-run` says in which order they go out.

mod archive;
mod strangers;

use crate::Failure;
use crate::peers::quiet_step;
use crate::stage::{cargo_with, program, stream};
use crate::tally::Tally;
use crate::workspace::{Dependency, Kind, Member, Workspace};
use std::path::{Path, PathBuf};

/// The crates to publish, each after those that it needs.
///
/// # Errors
/// What stands in the way: a circle, a name outside the policy, a dependency that the registry would not find.
pub(crate) fn in_order(workspace: &Workspace) -> Result<Vec<&Member>, Failure> {
    let mut waiting: Vec<&Member> = workspace.members.iter().filter(|member| member.published).collect();
    if waiting.is_empty() {
        return Err("every crate says `publish = false`".to_owned());
    }
    let wrong: Vec<String> = waiting.iter().flat_map(|member| objections(member, workspace)).collect();
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    let mut ordered: Vec<&Member> = Vec::new();
    while !waiting.is_empty() {
        let needs_one_of = |member: &Member, others: &[&Member]| {
            shipped(member).any(|need| others.iter().any(|other| other.name == need.name))
        };
        let (later, now): (Vec<&Member>, Vec<&Member>) =
            waiting.iter().partition(|member| needs_one_of(member, &waiting));
        if now.is_empty() {
            let names: Vec<&str> = later.iter().map(|member| member.name.as_str()).collect();
            return Err(format!(
                "these need each other in a circle, so none can be published first: {}",
                names.join(", ")
            ));
        }
        ordered.extend(now);
        waiting = later;
    }
    Ok(ordered)
}

/// The dependencies that a user of the crate gets.
fn shipped(member: &Member) -> impl Iterator<Item = &Dependency> {
    member.dependencies.iter().filter(|dependency| dependency.kind != Kind::Dev)
}

/// What keeps one crate from being published.
fn objections(member: &Member, workspace: &Workspace) -> Vec<String> {
    let name = &member.name;
    let mut found = Vec::new();
    if !name.starts_with("candor-")
        || name.bytes().any(|byte| !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'))
    {
        found.push(format!("{name}: a published crate is called `candor-…`, in lower case, digits and hyphens"));
    }
    for dependency in member.dependencies.iter().filter(|dependency| dependency.is_path) {
        let Some(ours) = workspace.members.iter().find(|other| other.name == dependency.name) else {
            found.push(format!("{name}: the dependency {} is a folder outside the workspace", dependency.name));
            continue;
        };
        match (dependency.kind, dependency.versions.as_str()) {
            // cargo leaves a dependency of tests out of the package if it has no version.
            (Kind::Dev, _) => {}
            (_, "*") => found.push(format!("{name}: the dependency {} has no version", ours.name)),
            (_, versions) if versions != format!("^{}", ours.version) => {
                found.push(format!("{name}: asks for {} {versions}, which is {} here", ours.name, ours.version));
            }
            _ if !ours.published => found.push(format!("{name}: needs {}, which is not published", ours.name)),
            _ => {}
        }
    }
    found
}

/// `cargo xtask publish --dry-run`: the order, after everything was packed and judged. Publishing itself is left to a person.
pub(crate) fn publish(words: &[String]) -> Result<bool, Failure> {
    if words != ["--dry-run"] {
        return Err(
            "`publish` only rehearses: cargo xtask publish --dry-run. A person publishes, with `cargo publish`"
                .to_owned(),
        );
    }
    let workspace = Workspace::here()?;
    let mut tally = Tally::default();
    let ordered = in_order(&workspace)?;
    pack(&workspace, &ordered, &mut tally)?;
    if tally.failed > 0 {
        return Ok(false);
    }
    println!("{} crates are fit to be published, in this order:", ordered.len());
    for (index, member) in ordered.iter().enumerate() {
        println!("  {}. cargo publish --package {}    # {}", index + 1, member.name, member.version);
    }
    Ok(true)
}

/// `cargo xtask package`: packs and judges each crate, then builds and runs the examples of all their READMEs.
pub(crate) fn package(words: &[String]) -> Result<bool, Failure> {
    if let Some(word) = words.first() {
        return Err(format!("`package` takes no words, but `{word}` was given; see `cargo xtask help`"));
    }
    let mut tally = Tally::default();
    check(&Workspace::here()?, &mut tally, strangers::Extent::All);
    println!("package: {}", tally.line());
    Ok(tally.failed == 0)
}

/// `cargo xtask docs [CRATE]`: the documentation of each published crate with its default features, with all and with none, without a warning.
pub(crate) fn docs(words: &[String]) -> Result<bool, Failure> {
    let workspace = Workspace::here()?;
    let chosen: Vec<&Member> = match words {
        [] => in_order(&workspace)?,
        [word] => {
            in_order(&workspace)?.into_iter().filter(|member| member.name == *word || member.room() == word).collect()
        }
        [_, more, ..] => return Err(format!("`docs` takes one crate, but `{more}` was given as well")),
    };
    if chosen.is_empty() {
        return Err(format!("there is no published crate `{}`", words.join(" ")));
    }
    let mut tally = Tally::default();
    for member in chosen {
        for features in [None, Some("--all-features"), Some("--no-default-features")] {
            let mut command = cargo_with(["doc", "--quiet", "--no-deps", "--package", &member.name]);
            command.args(features).env("RUSTDOCFLAGS", "-D warnings");
            let name = format!("docs of {} {}", member.name, features.unwrap_or("by default"));
            tally.check(&name, stream(command, |_| ()));
        }
    }
    println!("docs: {}", tally.line());
    Ok(tally.failed == 0)
}

/// The gate's part: the examples that need no other build of AWS-LC or of a runtime than the tests' own.
pub(crate) fn in_the_gate(workspace: &Workspace, tally: &mut Tally) {
    check(workspace, tally, strangers::Extent::Gate);
}

fn check(workspace: &Workspace, tally: &mut Tally, extent: strangers::Extent) {
    let unpacked = in_order(workspace).and_then(|ordered| {
        let folders = pack(workspace, &ordered, tally)?;
        Ok(ordered.into_iter().map(|member| member.name.clone()).zip(folders).collect::<Vec<_>>())
    });
    match unpacked {
        Ok(unpacked) => strangers::try_all(workspace, &unpacked, extent, tally),
        Err(why) => tally.check("package", Err(why)),
    }
}

/// Packs each crate as `cargo publish` would, unpacks it below `target/packed` and judges it. The folders, in the order of the crates.
fn pack(workspace: &Workspace, ordered: &[&Member], tally: &mut Tally) -> Result<Vec<PathBuf>, Failure> {
    let mut command = cargo_with(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    for member in ordered {
        command.args(["--package", &member.name]);
    }
    quiet_step(&format!("packing {} crates", ordered.len()), command)?;
    let at = workspace.target.join("packed");
    crate::peers::make_directory(&at)?;
    let mut folders = Vec::new();
    for member in ordered {
        let name = format!("{}-{}", member.name, member.version);
        let folder = at.join(&name);
        unpack(&workspace.target.join("package").join(format!("{name}.crate")), &folder)?;
        match archive::judge(&folder, &workspace.root)? {
            wrong if wrong.is_empty() => tally.pass(),
            wrong => {
                wrong.iter().for_each(|line| println!("{name}: {line}"));
                tally.fail(format!("package {name}: {}", wrong[0]));
            }
        }
        folders.push(folder);
    }
    Ok(folders)
}

/// Unpacks the archive into `folder`, unless the same one was unpacked there before: cargo takes files for changed by their times, so an
/// archive that is as it was must not be unpacked again, and files of another must be new (`--touch`).
fn unpack(archive: &Path, folder: &Path) -> Result<(), Failure> {
    let before = folder.with_extension("crate");
    let bytes = std::fs::read(archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    if folder.is_dir() && std::fs::read(&before).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let _ = std::fs::remove_file(&before);
    let _ = std::fs::remove_dir_all(folder);
    let mut unpack = program("tar");
    unpack.args(["--touch", "-xzf"]).arg(archive).arg("-C").arg(folder.parent().unwrap_or(folder));
    quiet_step(&format!("unpacking {}", archive.display()), unpack)?;
    std::fs::write(&before, bytes).map_err(|error| format!("cannot write {}: {error}", before.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn member(name: &str, needs: &[(&str, &str, Kind)]) -> Member {
        let need = |(name, versions, kind): &(&str, &str, Kind)| Dependency {
            name: (*name).to_owned(),
            kind: *kind,
            is_path: true,
            versions: (*versions).to_owned(),
        };
        Member {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            published: true,
            folder: PathBuf::from("/h/crates").join(name),
            roots: Vec::new(),
            targets: Vec::new(),
            dependencies: needs.iter().map(need).collect(),
        }
    }

    fn workspace(members: Vec<Member>) -> Workspace {
        Workspace { root: PathBuf::from("/h"), target: PathBuf::from("/h/target"), members }
    }

    fn names(workspace: &Workspace) -> Result<Vec<&str>, Failure> {
        in_order(workspace).map(|ordered| ordered.iter().map(|member| member.name.as_str()).collect())
    }

    #[test]
    fn a_crate_goes_out_after_those_that_it_needs() {
        let normal = |name| (name, "^0.1.0", Kind::Normal);
        let all = workspace(vec![
            member("candor-a", &[normal("candor-c"), ("candor-d", "*", Kind::Dev)]),
            member("candor-c", &[normal("candor-d")]),
            member("candor-d", &[]),
        ]);
        assert_eq!(names(&all).unwrap(), ["candor-d", "candor-c", "candor-a"]);
        let circle =
            workspace(vec![member("candor-a", &[normal("candor-c")]), member("candor-c", &[normal("candor-a")])]);
        assert!(names(&circle).unwrap_err().contains("circle"));
    }

    #[test]
    fn a_dependency_that_a_registry_lacks_is_named() {
        let why = |versions, published| {
            let mut other = member("candor-b", &[]);
            other.published = published;
            let all = workspace(vec![member("candor-a", &[("candor-b", versions, Kind::Normal)]), other]);
            names(&all).err().unwrap_or_default()
        };
        assert_eq!(why("^0.1.0", true), "");
        assert!(why("*", true).contains("has no version"));
        assert!(why("^0.2.0", true).contains("which is 0.1.0 here"));
        assert!(why("^0.1.0", false).contains("not published"));
        let name = |name| names(&workspace(vec![member(name, &[])])).err().unwrap_or_default();
        assert_eq!(name("candor-b"), "");
        assert!(name("gf2").contains("`candor-…`") && name("candor_b").contains("`candor-…`"));
    }

    #[test]
    fn our_own_crates_are_in_order() {
        let workspace = Workspace::here().unwrap();
        let ordered: Vec<&str> = in_order(&workspace).unwrap().iter().map(|member| member.room()).collect();
        let unique: BTreeSet<&&str> = ordered.iter().collect();
        assert_eq!(unique.len(), ordered.len());
        for room in ["cpu", "primitives", "gf2", "opaque", "onion", "network"] {
            assert!(ordered.contains(&room), "{room} is not published");
        }
        assert_eq!(ordered[0], "cpu");
    }

    #[test]
    fn documentation_is_made_of_published_crates_only() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(docs(&words("lab")).unwrap_err().contains("`lab`"));
        assert!(docs(&words("cpu gf2")).unwrap_err().contains("`gf2`"));
    }

    #[test]
    fn only_a_rehearsal_is_possible() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(publish(&words("")).unwrap_err().contains("--dry-run"));
        assert!(publish(&words("--dry-run now")).unwrap_err().contains("--dry-run"));
    }
}
