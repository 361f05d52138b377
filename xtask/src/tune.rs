//! `cargo xtask tune`: tables from measurements on this machine. `arms` says which arm each routine takes, `gf2` by which scheme
//! each length of a binary polynomial is multiplied.
//!
//! The tuner of schemes is a program of crate `gf2`, built for release here; this command adds what the program can't know: the
//! compiler, the flags and the date at the head of the table.

mod arms;

use crate::Failure;
use crate::stage::{program, stream};
use crate::workspace::Workspace;

pub(crate) use arms::is_current as arms_are_current;

/// Tunes what the first word names.
///
/// # Errors
/// If it names nothing that can be tuned, or the build can't be started.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let (what, rest) = words.split_first().ok_or("`tune` needs to know what to tune; expected `arms` or `gf2`")?;
    match what.as_str() {
        "arms" => arms::run(rest),
        "gf2" => gf2(rest),
        _ => Err(format!("can't tune `{what}`; expected `arms` or `gf2`")),
    }
}

/// Runs the tuner of schemes and passes these words on.
fn gf2(words: &[String]) -> Result<bool, Failure> {
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
    command.args(words);
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
    fn an_unknown_target_is_refused_with_the_known_ones() {
        assert!(run(&[]).unwrap_err().contains("`arms` or `gf2`"));
        assert!(run(&["hash".into()]).unwrap_err().contains("`hash`"));
    }
}
