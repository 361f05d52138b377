//! The files in `claims/`: they parse, and every task that they name is one of ours.

use candor_lab::claims::Claims;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

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

/// What a claims file names that is no task.
fn unknown<'a>(claims: &'a Claims, tasks: &BTreeSet<String>) -> Vec<&'a str> {
    let of_claims = claims.claims.iter().map(|claim| claim.task.as_str());
    let of_figures = claims.figures.iter().flat_map(|figure| &figure.rows).map(|row| row.task.as_str());
    let named = of_claims.chain(of_figures).filter(|task| !task.is_empty());
    named.filter(|task| !tasks.contains(*task)).collect()
}

#[test]
fn every_task_named_is_ours() {
    let tasks: BTreeSet<String> = candor_subjects::tasks().into_iter().map(|task| task.name).collect();
    for (name, claims) in files() {
        assert_eq!(unknown(&claims, &tasks), [""; 0], "{name} names what is no task");
    }
    // A family is no task, and neither is a misspelt one; a claim may name none.
    let claim = |task: &str| {
        let text = format!(
            "key = \"k\"\nsource = \"s\"\n[[claim]]\nwhat = \"w\"\nplace = \"p\"\nvalue = 1\nunit = \"us\"\nhow = \"whole\"\ntask = \"{task}\"\n"
        );
        unknown(&Claims::parse(&text).unwrap(), &tasks).len()
    };
    for task in ["circuit/loopback/hybrid-512", "ec/x25519", "ntor/ntor/handshakes", "rsa/1024/keygen", "sm9/sign"] {
        assert_eq!(claim(task), 1, "{task}");
    }
    for task in ["circuit/loopback/hybrid-512/warm", "ec/x25519/ecdh", "rsa/2048/keygen", ""] {
        assert_eq!(claim(task), 0, "{task}");
    }
}

/// A claim about a phase stands beside nothing if its task's baseline has no such phase.
#[test]
fn every_phase_named_is_one_of_its_task() {
    let tasks = candor_subjects::tasks();
    for (name, claims) in files() {
        for claim in claims.claims.iter().filter(|claim| !claim.phase.is_empty()) {
            let task =
                tasks.iter().find(|task| task.name == claim.task).unwrap_or_else(|| panic!("{name}: {}", claim.task));
            let subject =
                task.entries.iter().find(|entry| entry.subject.starts_with(&claim.subject)).expect("a baseline");
            let phases = subject.make().expect("ours needs nothing").phases();
            assert!(phases.contains(&claim.phase.as_str()), "{name}: {}: {} has {phases:?}", claim.what, claim.task);
        }
    }
}
