//! `cargo xtask differential gf2`: binary polynomials and fields against gf2x and NTL, bit for bit.
//!
//! The comparison is a program of crate `subjects`, which knows how to load both; `cargo xtask peers gf2x` builds them. It is no stage of the
//! gate, since they are under the GPL and take a quarter of an hour to build.

use crate::Failure;
use crate::stage::{program, stream};
use crate::workspace::Workspace;

/// Runs the comparison. Words after `gf2` are handed on.
///
/// # Errors
/// Another name than `gf2`, or a build that could not be started.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let (what, rest) = words.split_first().ok_or("`differential` takes what to compare: gf2")?;
    if what != "gf2" {
        return Err(format!("there is nothing to compare in `{what}`; there is gf2"));
    }
    let mut command = program("cargo");
    command.current_dir(&Workspace::here()?.root);
    command.args(["run", "--quiet", "--release", "--package", "candor-subjects", "--bin", "gf2-differential", "--"]);
    command.args(rest);
    stream(command, |_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_compared_is_told() {
        assert!(run(&[]).unwrap_err().contains("gf2"));
        assert!(run(&["hash".into()]).unwrap_err().contains("`hash`"));
    }
}
