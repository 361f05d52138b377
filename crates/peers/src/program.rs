//! Programs of this machine that are measured, a process for each operation.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program of that name that a shell would start.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let directories = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&directories).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// The first line that it prints, if it succeeds.
pub(crate) fn says(path: &Path, argument: &str, libraries: Option<&Path>) -> Option<String> {
    says_all(path, argument, libraries)?.lines().next().map(str::to_owned)
}

/// All that it prints, if it succeeds.
pub(crate) fn says_all(path: &Path, argument: &str, libraries: Option<&Path>) -> Option<String> {
    let mut command = Command::new(path);
    command.arg(argument).stdin(Stdio::null());
    command.envs(libraries.map(|libraries| (OsStr::new("LD_LIBRARY_PATH"), libraries)));
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
