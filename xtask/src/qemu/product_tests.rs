//! `cargo xtask qemu --tests`: the tests of primitives and opaque on an emulated AArch64 processor.
//!
//! All of them, with their oracles and every back end: AWS-LC's C is compiled by Debian's cross compiler. Doc tests are left out. This takes
//! minutes, so it is not part of the gate.

use super::AARCH64;
use crate::install;
use crate::portable;
use crate::stage::{cargo_with, stream};
use crate::tally::{Tally, TestReader};
use crate::workspace::Workspace;
use std::process::Command;

const PACKAGES: [&str; 3] = ["qemu-user", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"];

/// Builds the tests and runs them. Whatever is missing on this machine is a skip with its reason.
pub(crate) fn run(workspace: &Workspace) -> Tally {
    let mut tally = Tally::default();
    let target = format!("{}-unknown-linux-gnu", AARCH64.rust);
    if let Err(why) = install::packages(&PACKAGES).and_then(|()| portable::fetch(&target)) {
        println!("qemu --tests: skipped: {why}");
        tally.skip("qemu --tests", why.lines().next().unwrap_or_default());
        return tally;
    }
    let mut reader = TestReader::default();
    match stream(command(workspace, &target), |line| reader.line(line)) {
        Ok(succeeded) => reader.close("qemu --tests", succeeded, &mut tally),
        Err(why) => tally.fail(why),
    }
    println!("qemu --tests: {}", tally.line());
    tally
}

fn command(workspace: &Workspace, target: &str) -> Command {
    let variable = |what: &str| format!("CARGO_TARGET_{}_{what}", target.to_uppercase().replace('-', "_"));
    let gcc = format!("{}-linux-gnu-gcc", AARCH64.gnu);
    let mut command = cargo_with(["test", "--no-fail-fast", "--lib", "--tests", "--target", target]);
    command
        .args(["--package", "candor-primitives", "--package", "candor-opaque"])
        .env("CARGO_TARGET_DIR", workspace.target.join("qemu/tests"))
        .env(variable("LINKER"), gcc)
        .env(variable("RUNNER"), format!("qemu-{0} -L /usr/{0}-linux-gnu", AARCH64.gnu));
    command
}
