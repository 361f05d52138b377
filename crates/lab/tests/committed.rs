//! The runs of this repository.

use candor_lab::runfile::Run;
use std::path::Path;

/// The runs that stand behind the figures of this repository, which were made by other builds on three kinds of machine.
#[test]
fn every_committed_run_follows_from_its_seed() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs");
    let Ok(entries) = std::fs::read_dir(runs) else {
        return println!("skipped: this copy of the crate has no committed runs beside it");
    };
    let mut read = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            Run::open(&path).unwrap_or_else(|error| panic!("{error}"));
            read += 1;
        }
    }
    assert!(read >= 30, "{read} runs");
}
