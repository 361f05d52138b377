//! `cargo xtask wasm`: OPAQUE's hybrid logs in as a WebAssembly module, with the random numbers of the page that loads it.
//!
//! The module is the crate `bare`; node plays the page. No std of an operating system, no generator of one, no C.

use crate::Failure;
use crate::portable;
use crate::stage::{cargo_with, program, stream};
use crate::tally::Tally;
use crate::workspace::Workspace;

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the module and runs it. What is missing on this machine is a skip with its reason.
pub(crate) fn run(workspace: &Workspace) -> Tally {
    let mut tally = Tally::default();
    in_the_gate(workspace, &mut tally);
    println!("wasm: {}", tally.line());
    tally
}

/// The same as a stage of the gate.
pub(crate) fn in_the_gate(workspace: &Workspace, tally: &mut Tally) {
    if let Err(why) = node().and_then(|()| portable::fetch(TARGET)) {
        println!("wasm: skipped: {why}");
        return tally.skip("wasm", why.lines().next().unwrap_or_default());
    }
    let outcome = build().and_then(|built| if built { log_in(workspace) } else { Ok(false) });
    tally.check("a login as a WebAssembly module", outcome);
}

/// Whether there is a node.
fn node() -> Result<(), Failure> {
    let mut asked = program("node");
    asked.arg("--version");
    match asked.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("`node --version` failed: {}", output.status)),
        Err(error) => Err(format!("node can't be started: {error}")),
    }
}

fn build() -> Result<bool, Failure> {
    let words = ["rustc", "--quiet", "--package", "candor-bare", "--lib", "--target", TARGET, "--crate-type", "cdylib"];
    stream(cargo_with(words), |_| ())
}

fn log_in(workspace: &Workspace) -> Result<bool, Failure> {
    let mut command = program("node");
    command
        .arg(workspace.root.join("crates/bare/run.mjs"))
        .arg(workspace.target.join(TARGET).join("debug/candor_bare.wasm"));
    stream(command, |_| ())
}
