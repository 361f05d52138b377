//! `cargo xtask check`: the inner loop. What finds most mistakes in under a minute once everything is built.

use crate::Failure;
use crate::stage::{cargo_with, stream};
use crate::workspace::Workspace;
use std::time::Instant;

/// Stages in the order of what is quickest to tell; goes on after a failure, so that one run shows all.
pub(crate) fn run() -> Result<bool, Failure> {
    std::env::set_current_dir(Workspace::here()?.root).map_err(|error| format!("cannot go to the root: {error}"))?;
    let mut rows = Vec::new();
    let mut stage = |name: &'static str, work: &mut dyn FnMut() -> Result<bool, Failure>| -> Result<(), Failure> {
        println!("== {name}");
        let start = Instant::now();
        let well = work()?;
        rows.push((name, start.elapsed().as_secs_f64(), well));
        Ok(())
    };
    let cargo = |words: &[&str]| stream(cargo_with(words), |_| ());
    stage("fmt", &mut || cargo(&["fmt", "--all", "--check"]))?;
    stage("structure", &mut crate::structure::run)?;
    stage("clippy", &mut || cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    stage("unit tests", &mut || cargo(&["test", "--workspace", "--lib", "--quiet", "--no-fail-fast"]))?;
    println!();
    for (name, seconds, well) in &rows {
        println!("{name:<12} {seconds:6.1} s  {}", if *well { "ok" } else { "FAILED" });
    }
    Ok(rows.iter().all(|(_, _, well)| *well))
}
