//! Shards that are measured: `candor run` in a process of its own, whose tier is that of the shard.

use crate::Failure;
use crate::commands::parent;
use candor_lab::runfile::Run;
use candor_lab::sweep::Runs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Measures these tasks into a folder. The name of the run's file.
pub(super) fn measure(
    folder: &Path,
    of: &Runs,
    tier: Option<&str>,
    tasks: &[String],
    seed: u64,
) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::Error(format!("can't start candor run: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command
        .args([
            "run",
            "--quiet",
            "--seed",
            &seed.to_string(),
            "--budget",
            &(of.budget_ms as f64 / 1e3).to_string(),
            "--runs",
        ])
        .arg(folder);
    if let Some(processes) = of.processes {
        command.args(["--processes", &processes.to_string()]);
    }
    command.args(of.peers.iter().map(|peer| format!("--peer={peer}")));
    command.arg("--").args(tasks);
    if let Some(tier) = tier {
        command.env("CANDOR_CPU", tier);
    }
    // A run whose sweep was killed would go on for nobody, and disturb what is measured next.
    parent::leads(&mut command);
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output().map_err(failed)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        let why = if said.is_empty() { format!("it ended with {}", output.status) } else { said.to_owned() };
        return Err(Failure::Error(format!("candor run: {why}")));
    }
    let run =
        |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "jsonl").then(|| entry.path());
    let saved: Vec<_> = std::fs::read_dir(folder)?.filter_map(|entry| run(entry.ok()?)).collect();
    let [path] = &saved[..] else {
        return Err(Failure::Error(format!("candor run saved {} runs; expected one", saved.len())));
    };
    Run::open(path)?;
    Ok(path.file_name().unwrap_or_default().display().to_string())
}
