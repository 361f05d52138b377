//! The files in `claims/`: they parse, and every task that they name is one of ours or has a name of the design.

use candor_lab::claims::Claims;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The first words of all tasks' names in the design, of which some are still to come.
const ROOMS: [&str; 16] = [
    "aead", "cipher", "circuit", "ec", "gf2", "gf2m", "hash", "http", "kdf", "kem", "ksf", "mac", "ntor", "opaque",
    "rsa", "sm2",
];

fn files() -> Vec<(String, Claims)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../claims");
    let paths = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let claims = Claims::parse(&fs::read_to_string(&path).unwrap());
        files.push((name.clone(), claims.unwrap_or_else(|error| panic!("{name}: {error}"))));
    }
    files
}

#[test]
fn every_document_has_its_file_and_the_files_name_is_its_key() {
    let files = files();
    let names: BTreeSet<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    for expected in ["berger-2025", "pqntor-000", "kctsb-001", "threehop-002", "ecliptix-003", "gfmul-004"] {
        assert!(names.contains(expected), "{expected}");
    }
    for (name, claims) in &files {
        assert_eq!(*name, claims.key);
        assert!(!claims.claims.is_empty() && !claims.source.is_empty(), "{name}");
    }
}

#[test]
fn every_claim_says_what_and_where() {
    for (name, claims) in files() {
        for claim in claims.claims {
            assert!(!claim.what.is_empty() && !claim.place.is_empty() && claim.value > 0.0, "{name}: {}", claim.what);
            let doubt = claim.doubt.unwrap_or_else(|| "none".into());
            assert!(!doubt.trim().is_empty(), "{name}: {}: a doubt without words", claim.what);
        }
    }
}

#[test]
fn every_task_named_is_ours_or_has_a_name_of_the_design() {
    let tasks = candor_subjects::tasks();
    for (name, claims) in files() {
        for claim in claims.claims.iter().filter(|claim| !claim.task.is_empty()) {
            let known = tasks.iter().any(|task| task.name == claim.task);
            let mut words = claim.task.split('/');
            let planned = words.next().is_some_and(|room| ROOMS.contains(&room)) && words.all(|word| !word.is_empty());
            // What is here already must be named right.
            let here = ["ntor/", "kem/ml-kem-", "ec/", "hash/sha256/"];
            let must_be_known = here.iter().any(|prefix| claim.task.starts_with(prefix));
            assert!(known || (planned && !must_be_known), "{name}: {}: no task {}", claim.what, claim.task);
        }
    }
}
