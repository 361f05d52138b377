//! `cargo xtask tune gf2`: measures which scheme multiplies which length best on this machine.
//!
//! The tuner is a program of crate `gf2`, built for release here; this command adds what the program can't know: the compiler, the
//! flags and the date at the head of the table.

use crate::Failure;
use crate::stage::{program, stream};
use crate::workspace::Workspace;

/// Runs the tuner and passes on the words after `gf2`.
///
/// # Errors
/// If the first word is not `gf2`, or the build can't be started.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let (what, rest) = words.split_first().ok_or("`tune` needs to know what to tune; expected `gf2`")?;
    if what != "gf2" {
        return Err(format!("can't tune `{what}`; expected `gf2`"));
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

/// The first line that a program prints, or `unknown`.
fn said(name: &str, arguments: &[&str]) -> String {
    let output = program(name).args(arguments).output().ok();
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_target_is_refused_with_the_known_one() {
        assert!(run(&[]).unwrap_err().contains("gf2"));
        assert!(run(&["hash".into()]).unwrap_err().contains("`hash`"));
    }
}
