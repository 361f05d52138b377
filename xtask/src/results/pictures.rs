//! The pictures of reports in documents: each is what `candor report` draws of the run in its name.

use crate::Failure;
use crate::bars::Candor;
use crate::workspace::Workspace;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where they are, each under the name that candor gives it: `RUN-FIGURE.svg`.
const FOLDER: &str = "docs/pictures";

/// Draws them again.
pub(super) fn write(workspace: &Workspace, candor: &Candor) -> Result<(), Failure> {
    let drawn = draw(workspace, candor)?;
    for (name, picture) in pictures(&workspace.root)?.iter().map(|path| (file_name(path), path)) {
        std::fs::copy(drawn.join(&name), picture).map_err(|error| format!("cannot write {FOLDER}/{name}: {error}"))?;
    }
    Ok(())
}

/// Whether each is what its run says.
pub(super) fn are_current(workspace: &Workspace, candor: &Candor) -> Result<bool, Failure> {
    compare(&workspace.root, &draw(workspace, candor)?)
}

fn compare(root: &Path, drawn: &Path) -> Result<bool, Failure> {
    let mut all = true;
    for path in pictures(root)? {
        let name = file_name(&path);
        let has = std::fs::read(&path).map_err(|error| format!("cannot read {FOLDER}/{name}: {error}"))?;
        if std::fs::read(drawn.join(&name)).ok().as_ref() != Some(&has) {
            println!(
                "{FOLDER}/{name}:1: this is not what candor draws of that run: `cargo xtask results --write` draws it"
            );
            all = false;
        }
    }
    Ok(all)
}

/// Has candor draw all figures of the runs that have a picture, and returns the folder.
fn draw(workspace: &Workspace, candor: &Candor) -> Result<PathBuf, Failure> {
    let drawn = workspace.target.join("pictures");
    for path in pictures(&workspace.root)? {
        let run = workspace.root.join("runs").join(format!("{}.jsonl", run_of(&file_name(&path))));
        let words: [&OsStr; 6] = [
            "report".as_ref(),
            run.as_os_str(),
            "--figures".as_ref(),
            "svg".as_ref(),
            "-o".as_ref(),
            drawn.as_os_str(),
        ];
        candor.says(words)?;
    }
    Ok(drawn)
}

/// The run in a picture's name: up to its digest, the first part of six hexadecimal digits behind the day.
fn run_of(name: &str) -> &str {
    let is_digest = |part: &str| part.len() == 6 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digest = name
        .match_indices('-')
        .map(|(at, _)| at + 1)
        .find(|at| name.get(*at..*at + 6).is_some_and(is_digest) && *at > "2026-11-21".len());
    digest.map_or(name, |at| &name[..at + 6])
}

fn pictures(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = root.join(FOLDER);
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("cannot list {FOLDER}: {error}"))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "svg"));
    found.sort();
    Ok(found)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_called_after_its_run() {
        assert_eq!(run_of("2026-11-24-zen4-6ea229-ratios.svg"), "2026-11-24-zen4-6ea229");
        assert_eq!(
            run_of("2026-11-26-emerald-rapids-fa9a55-latency-distribution.svg"),
            "2026-11-26-emerald-rapids-fa9a55"
        );
        assert_eq!(run_of("2026-11-21-zen5-256-3f9c1a-ratios.svg"), "2026-11-21-zen5-256-3f9c1a");
    }

    #[test]
    fn a_picture_that_nobody_draws_any_more_is_noticed() {
        let root = std::env::temp_dir().join(format!("xtask-pictures-{}", std::process::id()));
        let (folder, drawn) = (root.join(FOLDER), root.join("drawn"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(&drawn).unwrap();
        std::fs::write(folder.join("a.svg"), "<svg>1</svg>").unwrap();
        let absent = compare(&root, &drawn);
        std::fs::write(drawn.join("a.svg"), "<svg>2</svg>").unwrap();
        let other = compare(&root, &drawn);
        std::fs::write(drawn.join("a.svg"), "<svg>1</svg>").unwrap();
        let same = compare(&root, &drawn);
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!([absent, other, same], [Ok(false), Ok(false), Ok(true)]);
    }
}
