//! `cargo xtask tune gf2`: measures which scheme multiplies which length best on this machine.
//!
//! The tuner is a program of crate `gf2`, built for release here; this command adds what only the outside knows: the compiler, the
//! flags and the date that stand in the table's head.

use crate::Failure;
use crate::stage::{program, stream};
use crate::workspace::Workspace;

/// Runs the tuner. Words after `gf2` are handed on.
///
/// # Errors
/// Another name than `gf2`, or a build that could not be started.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let (what, rest) = words.split_first().ok_or("`tune` takes what to tune: gf2")?;
    if what != "gf2" {
        return Err(format!("there is nothing to tune in `{what}`; there is gf2"));
    }
    let mut command = program("cargo");
    command.current_dir(&Workspace::here()?.root);
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "candor-gf2",
        "--features",
        "tune",
        "--bin",
        "gf2-tune",
        "--",
    ]);
    command.args(["--compiler", &said("rustc", &["--version"]), "--date", &said("date", &["+%Y-%m-%d"])]);
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.args(["--flags", format!("release {flags}").trim()]);
    command.args(rest);
    stream(command, |_| ())
}

/// The first line that a program says, or that it is unknown.
fn said(name: &str, arguments: &[&str]) -> String {
    let output = program(name).args(arguments).output().ok();
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_tuned_is_told() {
        assert!(run(&[]).unwrap_err().contains("gf2"));
        assert!(run(&["hash".into()]).unwrap_err().contains("`hash`"));
    }
}
