//! `cargo xtask build-budget`: how long the default release build takes cold, and with the dependencies that are still to come.
//!
//! The monitor page will bring a file server and a metrics exporter. Until it does, a copy of the tree is built whose command
//! line depends on them as well: same profile, same locked versions, an empty target folder. It is no stage of the gate, since it takes as long
//! as it measures and wants a quiet machine.

use crate::Failure;
use crate::mutants::{LEFT_OUT, copy};
use crate::peers::write;
use crate::stage::{cargo_with, clock, stream};
use crate::workspace::Workspace;
use std::fs;
use std::time::{Duration, Instant};

/// The bar, on two cores.
const BAR: Duration = Duration::from_secs(6 * 60);

/// Dependencies that are still to come, as they will be declared.
const TO_COME: [&str; 3] = [
    r#"metrics = "0.24""#,
    r#"metrics-exporter-prometheus = { version = "0.18", default-features = false }"#,
    r#"tower-http = { version = "0.6", default-features = false, features = ["fs", "limit"] }"#,
];

/// Builds, and says what it took; with `--check`, only looks whether the packages resolve.
/// `Ok(true)` if it is within the bar.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let check = match words {
        [] => false,
        [word] if word == "--check" => true,
        _ => return Err("`build-budget` takes `--check` or nothing".to_owned()),
    };
    let workspace = Workspace::here()?;
    let at = workspace.target.join("build-budget");
    let _ = fs::remove_dir_all(&at);
    copy(&workspace.root, &at.join("tree"), &LEFT_OUT)?;
    let manifest = at.join("tree/crates/candor/Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
    write(&manifest, &with_what_is_to_come(&text)?)?;
    let cargo = |words: &[&str]| {
        let mut command = cargo_with(words);
        command.current_dir(at.join("tree")).env("CARGO_TARGET_DIR", at.join("target"));
        command
    };
    // Downloads are no part of the build. cargo keeps the versions of Cargo.lock and adds what is missing.
    if !stream(cargo(&["fetch"]), |_| ())? {
        return Err("cargo can't fetch the packages".to_owned());
    }
    if check {
        println!("build-budget: the packages resolve; nothing was built");
        return Ok(true);
    }
    let start = Instant::now();
    let built = stream(cargo(&["build", "--release", "--timings"]), |_| ())?;
    let time = start.elapsed();
    if !built {
        return Err("the build failed; its time says nothing".to_owned());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{} on {cores} processors; bar: {} on 2", clock(time), clock(BAR));
    println!("units and seconds: {}", at.join("target/cargo-timings/cargo-timing.html").display());
    Ok(time <= BAR)
}

/// The manifest with those of the dependencies that it does not have yet.
fn with_what_is_to_come(manifest: &str) -> Result<String, Failure> {
    let name = |line: &str| line.split_once(" =").map(|(name, _)| name.to_owned());
    let has = |line: &&str| {
        manifest.lines().any(|other| other.split([' ', '.', '=']).next().map(str::to_owned) == name(line))
    };
    let missing: Vec<&str> = TO_COME.iter().filter(|line| !has(line)).copied().collect();
    let table = "[dependencies]\n";
    match manifest.matches(table).count() {
        1 => Ok(manifest.replacen(table, &format!("{table}{}\n", missing.join("\n")), 1)),
        n => Err(format!("crates/candor/Cargo.toml has {n} tables [dependencies]; expected 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_is_there_is_not_added_again() {
        let made = with_what_is_to_come("[dependencies]\nmetrics.workspace = true\n\n[dev-dependencies]\nx = \"1\"\n")
            .unwrap();
        let table: toml::Table = made.parse().unwrap();
        let dependencies = table["dependencies"].as_table().unwrap();
        assert_eq!(dependencies.len(), TO_COME.len());
        assert_eq!(made.matches("\nmetrics").count(), 2, "{made}"); // itself and its exporter
        assert!(with_what_is_to_come("[package]\n").is_err());
    }
}
