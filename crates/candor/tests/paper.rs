//! The paper kit as `candor report` writes it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn candor(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_candor")).args(arguments).env_remove("CANDOR_RUNS").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// All figures of this import stand in the run's tables, so it has no report of its own.
#[test]
fn a_preview_includes_what_was_written_and_no_import_that_moved() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs").display().to_string();
    let printed = from_root("crates/lab/tests/imports/openssl-mr-3s.txt").display().to_string();
    candor(&["--quiet", "import", &printed, "--cpu", "A CPU", "--runs", &runs]);
    let import = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path().display().to_string();
    let run = from_root("runs/2026-11-21-zen5-1d3043.jsonl").display().to_string();
    let paper = dir.path().join("paper");
    candor(&["--quiet", "report", &run, &import, "--format", "tex", "-o", &paper.display().to_string()]);
    let preview = std::fs::read_to_string(paper.join("preview.tex")).unwrap();
    let included: Vec<&str> =
        preview.lines().filter_map(|line| line.strip_prefix("\\input{")?.strip_suffix('}')).collect();
    assert_eq!(included, ["2026-11-21-zen5-1d3043.tex"]);
    let tables = std::fs::read_to_string(paper.join(included[0])).unwrap();
    assert!(tables.contains("openssl+speed IMPORTED"), "it stands beside the run's rows");
    assert!(paper.join("ARTIFACT.md").is_file());
}
