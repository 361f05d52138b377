//! Published numbers, for the commands that set them beside runs.

use crate::cli::BUILT_IN;
use crate::measure::all_tasks;
use crate::{Failure, choose, published};
use candor_lab::claims::Claims;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads claims by their keys, from files, and from the `*.toml` files of directories, for runs of these tasks.
pub(super) fn claims(paths: &[PathBuf], runs: &[&str]) -> Result<Vec<Claims>, Failure> {
    let mut claims = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        let built_in = built_in(path)?;
        if !built_in.is_empty() {
            claims.extend_from_slice(built_in);
            continue;
        }
        let unreadable = |error| Failure::Error(format!("can't read claims from {}: {error}", path.display()));
        if path.is_dir() {
            let mut inside = Vec::new();
            for entry in fs::read_dir(path).map_err(unreadable)? {
                inside.push(entry.map_err(unreadable)?.path());
            }
            inside.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path.clone());
        }
    }
    for path in &files {
        claims.push(read(path, runs)?);
    }
    Ok(claims)
}

/// Reads a file of claims. Each task that it names must be one of candor's, or one that the runs have: other projects measure their own.
pub(super) fn read(path: &Path, runs: &[&str]) -> Result<Claims, Failure> {
    let claims = published::read(path)?;
    let all = all_tasks();
    let known = || all.iter().map(|task| task.name.as_str()).chain(runs.iter().copied());
    let unknown = claims.tasks().find(|task| !known().any(|name| name == *task)).map(str::to_owned);
    match unknown {
        Some(task) => {
            let why = choose::unknown("task", &task, known(), "candor list tasks");
            Err(Failure::Error(format!("{}: {why}", path.display())))
        }
        None => Ok(claims),
    }
}

/// The published numbers of that key, or all of them; none if it is a path. A file whose name is a key can be given as ./NAME.
fn built_in(key: &Path) -> Result<&'static [Claims], Failure> {
    if key.as_os_str() == BUILT_IN {
        return published::all();
    }
    Ok(key.to_str().and_then(published::named).map(std::slice::from_ref).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_is_found_by_its_key() {
        let one = claims(&["ecliptix-003".into()], &[]).unwrap_or_else(|_| panic!("it is built in"));
        assert_eq!(one.iter().map(|claims| claims.key.as_str()).collect::<Vec<_>>(), ["ecliptix-003"]);
        assert!(
            matches!(claims(&["ecliptix-004".into()], &[]), Err(Failure::Error(why)) if why.contains("ecliptix-004"))
        );
    }
}
