//! `cargo xtask slurm`: a sweep as a job array on two nodes, which are both this machine.

use crate::Failure;
use crate::stage::{cargo_with, stream};
use crate::unpacked;
use crate::workspace::Workspace;

/// Unpacks Slurm and runs the test under it.
pub(crate) fn run(workspace: &Workspace) -> Result<bool, Failure> {
    let root = unpacked::slurm(&workspace.target)?;
    // With the features of the whole workspace, as the gate builds it: for one package alone they would be others, and everything would be compiled anew.
    let mut test = cargo_with(["test", "--workspace", "--test", "slurm", "--", "--ignored", "--nocapture"]);
    test.env("CANDOR_SLURM", root);
    stream(test, |_| ())
}
