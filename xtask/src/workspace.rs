//! What `cargo metadata` says of the workspace, reduced to what the checks ask, and the files of each member.

use crate::Failure;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace as it stands.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) members: Vec<Member>,
}

/// One crate of ours.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Whether a registry may have it: its Cargo.toml does not say `publish = false`.
    pub(crate) published: bool,
    /// The folder of its Cargo.toml.
    pub(crate) folder: PathBuf,
    /// The files of its library and its programs (`lib.rs`, `main.rs`).
    pub(crate) roots: Vec<PathBuf>,
    /// Programs and integration tests: `bin` or `test`, and the name.
    pub(crate) targets: Vec<(&'static str, String)>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a member's dependency tables.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether it is given by a folder on this machine.
    pub(crate) is_path: bool,
    /// The versions that would do, as `^0.1.0`; `*` if the line names none.
    pub(crate) versions: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

impl Workspace {
    /// Asks cargo about the workspace around the current directory.
    pub(crate) fn here() -> Result<Self, Failure> {
        let output = cargo()
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .output()
            .map_err(|error| format!("cannot start cargo: {error}"))?;
        if !output.status.success() {
            return Err(format!("`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end()));
        }
        Self::parse(&String::from_utf8_lossy(&output.stdout))
    }

    pub(crate) fn parse(metadata: &str) -> Result<Self, Failure> {
        let value: Value =
            serde_json::from_str(metadata).map_err(|error| format!("cannot read `cargo metadata`: {error}"))?;
        let mut members = Vec::new();
        for package in list(&value, "packages")? {
            members.push(Member::parse(package)?);
        }
        members.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(Self {
            root: PathBuf::from(text(&value, "workspace_root")?),
            target: PathBuf::from(text(&value, "target_directory")?),
            members,
        })
    }

    /// `path` as the reader knows it, from the root of the repository.
    pub(crate) fn show(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

impl Member {
    fn parse(package: &Value) -> Result<Self, Failure> {
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let (mut roots, mut targets) = (Vec::new(), Vec::new());
        for target in list(package, "targets")? {
            let kinds = list(target, "kind")?;
            if kinds
                .iter()
                .any(|kind| matches!(kind.as_str(), Some("lib" | "bin" | "proc-macro" | "cdylib" | "staticlib")))
            {
                roots.push(PathBuf::from(text(target, "src_path")?));
            }
            // A target that asks for a feature can't be named in a build that lacks it.
            let asks = target.get("required-features").and_then(Value::as_array).is_some_and(|those| !those.is_empty());
            let kind = ["bin", "test"].into_iter().find(|kind| kinds.iter().any(|found| found == kind));
            if let Some(kind) = kind.filter(|_| !asks) {
                targets.push((kind, text(target, "name")?.to_owned()));
            }
        }
        let mut dependencies = Vec::new();
        for dependency in list(package, "dependencies")? {
            dependencies.push(Dependency {
                name: text(dependency, "name")?.to_owned(),
                kind: match dependency.get("kind").and_then(Value::as_str) {
                    Some("dev") => Kind::Dev,
                    Some("build") => Kind::Build,
                    _ => Kind::Normal,
                },
                is_path: dependency.get("path").is_some(),
                versions: dependency.get("req").and_then(Value::as_str).unwrap_or("*").to_owned(),
            });
        }
        Ok(Self {
            name: text(package, "name")?.to_owned(),
            version: text(package, "version")?.to_owned(),
            // `false` is an empty list of registries.
            published: package.get("publish").and_then(Value::as_array).is_none_or(|registries| !registries.is_empty()),
            folder: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
            roots,
            targets,
            dependencies,
        })
    }

    /// The name without `candor-`: that by which ARCHITECTURE.md and the table of edges call it.
    pub(crate) fn room(&self) -> &str {
        self.name.strip_prefix("candor-").unwrap_or(&self.name)
    }

    /// Every `.rs` file below the member's folder, sorted; nested workspaces, build output and data are not ours to judge.
    pub(crate) fn rust_files(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut found = Vec::new();
        for part in ["src", "tests", "benches", "examples"] {
            collect(&self.folder.join(part), &mut found)?;
        }
        let build = self.folder.join("build.rs");
        if build.is_file() {
            found.push(build);
        }
        found.sort();
        Ok(found)
    }
}

/// Adds every `.rs` file below a folder; none if there is no such folder.
pub(crate) fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Ok(());
    }
    let cannot = |error: std::io::Error| format!("cannot list {}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// Cargo as the user started it, without what the outer `cargo run` put into our environment.
///
/// Those variables describe the package xtask. A build script or a test that saw them would see other values than under
/// a plain `cargo test`, and whatever is built would be built again when the user runs cargo by hand.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    clean(&mut command);
    command
}

/// Takes the outer cargo's variables from a command's environment.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if OF_THE_OUTER_CARGO.contains(&&*name) || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        {
            command.env_remove(&*name);
        }
    }
    // cargo put its own folders in front of it; they would decide which shared libraries a peer loads.
    if let Some(paths) = std::env::var_os("LD_LIBRARY_PATH") {
        let others: Vec<PathBuf> = std::env::split_paths(&paths).filter(|path| !is_cargos(path)).collect();
        match std::env::join_paths(&others) {
            Ok(joined) if !others.is_empty() => command.env("LD_LIBRARY_PATH", joined),
            _ => command.env_remove("LD_LIBRARY_PATH"),
        };
    }
}

const OF_THE_OUTER_CARGO: [&str; 5] =
    ["CARGO", "CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];

/// Folders that `cargo run` adds to LD_LIBRARY_PATH: the profile's output and the toolchain's libraries.
fn is_cargos(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.is_empty()
        || text.contains("/rustlib/")
        || text.contains("/toolchains/")
        || ["/debug", "/debug/deps", "/release", "/release/deps"].iter().any(|end| text.ends_with(end))
        || text.contains("/debug/build/")
        || text.contains("/release/build/")
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str, Failure> {
    value.get(field).and_then(Value::as_str).ok_or_else(|| format!("`cargo metadata` has no text `{field}`"))
}

fn list<'a>(value: &'a Value, field: &str) -> Result<&'a Vec<Value>, Failure> {
    value.get(field).and_then(Value::as_array).ok_or_else(|| format!("`cargo metadata` has no list `{field}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_reduced_to_members_and_their_edges() {
        let workspace = Workspace::parse(
            r#"{"workspace_root": "/h", "target_directory": "/h/target", "packages": [{
                "name": "candor-cpu", "version": "0.1.0", "publish": null, "manifest_path": "/h/crates/cpu/Cargo.toml",
                "targets": [{"kind": ["lib"], "name": "candor_cpu", "src_path": "/h/crates/cpu/src/lib.rs"},
                            {"kind": ["bin"], "name": "gate", "src_path": "/h/crates/cpu/src/bin/gate.rs", "required-features": ["gate"]},
                            {"kind": ["test"], "name": "t", "src_path": "/h/crates/cpu/tests/t.rs"}],
                "dependencies": [{"name": "proptest", "kind": "dev"}, {"name": "subtle", "kind": null, "req": "^2.6"}]}]}"#,
        )
        .unwrap();
        let cpu = &workspace.members[0];
        assert_eq!(cpu.room(), "cpu");
        assert_eq!((cpu.version.as_str(), cpu.published), ("0.1.0", true));
        assert_eq!(cpu.roots, ["lib.rs", "bin/gate.rs"].map(|file| Path::new("/h/crates/cpu/src").join(file)));
        assert_eq!(cpu.targets, [("test", "t".to_owned())]);
        assert_eq!(cpu.dependencies[0].kind, Kind::Dev);
        assert_eq!(cpu.dependencies[1].kind, Kind::Normal);
        assert_eq!(cpu.dependencies[1].versions, "^2.6");
        assert_eq!(workspace.show(&cpu.roots[0]), "crates/cpu/src/lib.rs");
    }

    #[test]
    fn odd_metadata_is_an_error_and_no_panic() {
        assert!(Workspace::parse("{}").is_err());
        assert!(Workspace::parse("not json").is_err());
        assert!(Workspace::parse(r#"{"packages": [{"name": 3}]}"#).is_err());
    }
}
