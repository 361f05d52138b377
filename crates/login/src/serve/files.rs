//! The state folder, and how many files may be open.

use super::StartError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes a folder that only its owner can look into, if there is none.
pub(super) fn private_folder(path: &Path) -> Result<(), StartError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| StartError::State { path: path.to_owned(), why: error.to_string() })
}

/// Raises the process's limit of open files as far as the system lets it.
pub(super) fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it can't be raised, the limit on connections may be out of reach, and `accept` says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
