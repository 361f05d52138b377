//! `cargo xtask wasm`: OPAQUE as WebAssembly. A whole login without std runs in node, with the random numbers of the page that loads it; and the
//! package for web pages is built and tested.
//!
//! The first module is the crate `bare`, and node plays the page: no std of an operating system, no generator of one, no C.

mod package;
mod pages;

use crate::Failure;
use crate::portable;
use crate::stage::{cargo_with, program, stream};
use crate::tally::Tally;
use crate::workspace::Workspace;

pub(crate) use package::in_the_gate as package_in_the_gate;

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the modules and the package, and runs them; with `bench`, measures them in Chromium instead.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<bool, Failure> {
    let mut tally = Tally::default();
    match words {
        [] => {
            in_the_gate(workspace, &mut tally);
            package_in_the_gate(workspace, &mut tally);
        }
        [word] if word == "bench" => return package::bench(workspace),
        [other, ..] => return Err(format!("`wasm` takes nothing or `bench`, but `{other}` was given")),
    }
    println!("wasm: {}", tally.line());
    Ok(tally.failed == 0)
}

/// The login, as a stage of the gate. What is missing on this machine is a skip with its reason.
pub(crate) fn in_the_gate(workspace: &Workspace, tally: &mut Tally) {
    if let Err(why) = answers("node").and_then(|_| portable::fetch(TARGET)) {
        println!("wasm: skipped: {why}");
        return tally.skip("wasm", why.lines().next().unwrap_or_default());
    }
    let outcome = build().and_then(|built| if built { log_in(workspace) } else { Ok(false) });
    tally.check("a login as a WebAssembly module", outcome);
}

/// The version of a program, if it is there.
fn answers(name: &str) -> Result<String, Failure> {
    let mut asked = program(name);
    asked.arg("--version");
    match asked.output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Ok(output) => Err(format!("`{name} --version` failed: {}", output.status)),
        Err(error) => Err(format!("{name} can't be started: {error}")),
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
