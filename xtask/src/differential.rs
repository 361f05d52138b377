//! `cargo xtask differential gf2`: binary polynomials and fields against gf2x and NTL, bit for bit.
//!
//! The comparison is a program of crate `subjects`, which knows how to load both. By hand it takes the gf2x and NTL that `cargo xtask peers gf2x`
//! builds, at large sizes. In the gate it takes Debian's packages, at small sizes: the same answers are expected of any build.

use crate::Failure;
use crate::stage::{program, stream};
use crate::tally::Tally;
use crate::unpacked;
use crate::workspace::Workspace;
use std::path::Path;

/// The sizes that the gate compares: seconds in a debug build.
const SMALL: [&str; 7] = ["--stock", "--every", "40", "--longest", "300", "--random", "60"];

/// The gate's comparison, with the program that the tests have built. Where Debian's packages can't be had it is a skip.
pub(crate) fn in_the_gate(workspace: &Workspace, tally: &mut Tally) {
    let built = workspace.target.join("debug").join(format!("gf2-differential{}", std::env::consts::EXE_SUFFIX));
    match unpacked::gf2(&workspace.target) {
        Err(why) => {
            println!("differential: skipped: {why}");
            tally.skip("differential gf2", why.lines().next().unwrap_or_default());
        }
        Ok(folders) => tally.check("differential gf2", compare(&built, &folders)),
    }
}

fn compare(built: &Path, folders: &[std::path::PathBuf]) -> Result<bool, Failure> {
    let peers = std::env::join_paths(folders).map_err(|error| error.to_string())?;
    let mut command = program(built);
    command.args(SMALL).env("CANDOR_PEERS", peers);
    stream(command, |_| ())
}

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
    fn an_unknown_comparison_is_refused_with_the_known_one() {
        assert!(run(&[]).unwrap_err().contains("gf2"));
        assert!(run(&["hash".into()]).unwrap_err().contains("`hash`"));
    }
}
