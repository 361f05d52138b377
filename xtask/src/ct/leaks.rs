//! One case on one tree: what `cargo xtask mutants` asks about a planted leak.

use super::judge::{self, Verdict};
use super::{GATE, build, cannot_run, list, observe, scan};
use crate::Failure;
use std::path::Path;

/// What the gate says of a case.
#[derive(Debug, PartialEq)]
pub(crate) enum Caught {
    /// Nothing is wrong.
    Not,
    /// Something is: the case's name and all that the gate would print.
    With(String),
    /// The compiler's errors went to the terminal.
    NotBuilt(String),
}

/// The name that stands for the scan of all kernels instead of a case.
const SCAN: &str = "scan";

/// Builds the cases of `tree` into `target` and runs one, or the scan by the workspace at `root`.
///
/// # Errors
/// If this machine can't run the gate, or there is no such case, or it can't be run here.
pub(crate) fn caught(root: &Path, tree: &Path, target: &Path, name: &str) -> Result<Caught, Failure> {
    if let Some(why) = cannot_run() {
        return Err(why);
    }
    let binary = match build(tree, GATE, Some(target)) {
        Ok(binary) => binary,
        Err(why) => return Ok(Caught::NotBuilt(why)),
    };
    if name == SCAN {
        let findings = scan::cases_alone(root, &binary)?;
        return Ok(if findings.is_empty() {
            Caught::Not
        } else {
            Caught::With(format!("scan: {}", findings.join("\n")))
        });
    }
    let cases = list(&binary)?;
    let case = cases.iter().find(|case| case.name == name).ok_or_else(|| format!("there is no case `{name}`"))?;
    if let Some(why) = &case.skip {
        return Err(format!("{name}: {why}"));
    }
    let logs = target.join("ct-logs");
    std::fs::create_dir_all(&logs).map_err(|error| format!("cannot make {}: {error}", logs.display()))?;
    Ok(match judge::judge(case, &observe::observe(&binary, case, &logs)?) {
        Verdict::Pass(_) => Caught::Not,
        Verdict::Fail(why) | Verdict::Skip(why) => Caught::With(format!("{name}: {why}")),
    })
}
