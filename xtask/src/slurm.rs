//! `cargo xtask slurm`: a sweep as a job array on two nodes, which are both this machine.

use crate::Failure;
use crate::stage::{cargo_with, stream};
use crate::unpacked;
use crate::workspace::Workspace;

/// Unpacks Slurm and runs the test under it.
pub(crate) fn run(workspace: &Workspace) -> Result<bool, Failure> {
    let root = unpacked::slurm(&workspace.target)?;
    let mut test = cargo_with(["test", "--package", "candor", "--test", "slurm", "--", "--ignored", "--nocapture"]);
    test.env("CANDOR_SLURM", root);
    stream(test, |_| ())
}
