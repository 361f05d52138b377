//! `ci/compare.sh`: its table and its exit status, with a build whose runs are known and with this one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The script with these programs, in a directory of its own.
fn script(directory: &Path, before: &Path, after: &Path, arguments: &[&str]) -> Output {
    let script = root().join("ci/compare.sh").canonicalize().unwrap();
    let mut command = Command::new("sh");
    command.arg(script).arg(before).arg(after).args(arguments).current_dir(directory).env_remove("CANDOR_RUNS");
    command.output().expect("sh is everywhere")
}

/// A build that measures nothing: it saves the made-up runs of these names, and compares like this one.
fn build(directory: &Path, runs: &[&str]) -> PathBuf {
    let runs: Vec<String> = runs
        .iter()
        .map(|run| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/runs/{run}.jsonl")).display().to_string())
        .collect();
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = compare ]; then exec '{CANDOR}' \"$@\"; fi\nwhile [ \"$1\" != --runs ]; do shift; done\ncp {} \"$2\"\n",
        runs.join(" ")
    );
    let path = directory.join("after");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_change_gets_a_table_and_a_status_that_says_whether_something_is_slower() {
    for (runs, status, row) in [
        (&["paired-same"][..], 0, "| same |"),
        (&["paired-same", "paired-slower"], 1, "| **slower** |"),
        (&["paired-open"], 3, "| can't tell |"),
        (&["paired-broken"], 1, "| **can't tell, broken** |"),
        (&["paired-new"], 3, "| can't tell |"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = script(dir.path(), Path::new(CANDOR), &build(dir.path(), runs), &["hash"]);
        let table = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{runs:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(table.contains("### From one build to another") && table.contains(row), "{table}");
        assert!(dir.path().join("candor-runs/change").join(format!("{}.jsonl", runs[0])).is_file(), "the run is kept");
    }
}

/// The whole way, by this very build twice. What a busy machine says of it is not for a test to require; only that it is said.
#[test]
fn two_builds_are_measured_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    let candor = Path::new(CANDOR);
    let output = script(dir.path(), candor, candor, &["self-test/same", "--budget", "0.1"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("### self-test/same") && table.contains("paired, in the same rounds"), "{table}");
    // A second time would mix two runs.
    let again = script(dir.path(), candor, candor, &["self-test/same", "--budget", "0.1"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("candor-runs/change exists"));
}

#[test]
fn what_is_no_build_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let output = script(dir.path(), Path::new("/bin/cat"), Path::new(CANDOR), &["self-test/same", "--budget", "0.1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't pair with /bin/cat"), "{output:?}");
}
