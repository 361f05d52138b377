//! The programs of `examples/programs` and the project of `examples/bench`: they are built, started and asked.
#![cfg(unix)]

use candor_lab::program::{Program, Start};
use candor_lab::{Inputs, Subject};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn message(seed: u64) -> Inputs {
    let message = (0..1024).map(|i: u64| (i.wrapping_mul(seed | 1) >> 3) as u8).collect();
    vec![("message".to_owned(), message)]
}

/// Whether the machine has the program that builds or runs an example. Without it the test is skipped.
fn has(program: &str, argument: &str) -> bool {
    let found = Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: no {program} on this machine");
    }
    found
}

fn succeeded(what: &str, output: &Output) {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Asks for SHA-256, for what it does not do, and lets it work.
fn assert_hashes(program: &Path, name: &str) {
    let mut subject = Program::start(&Start::new(program, "hash/sha256/1k"), message)
        .unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    for seed in [1, 2] {
        let witness = subject.prepare(seed).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert_eq!(witness.part("answer").unwrap(), &Sha256::digest(&message(seed)[0].1)[..], "{name}");
    }
    subject.run(3);
    assert_eq!(subject.provenance().library, name);
    assert!(!subject.provenance().version.is_empty());
    let refusal = Program::start(&Start::new(program, "aead/aes-128-gcm/seal/1k"), message).err();
    let refusal = refusal.unwrap_or_else(|| panic!("{name} takes any task")).to_string();
    assert!(refusal.starts_with("does "), "{name}: {refusal}");
}

#[test]
fn the_program_in_python_is_a_subject() {
    if has("python3", "--version") {
        assert_hashes(&root().join("examples/programs/sha256.py"), "hashlib");
    }
}

#[test]
fn the_program_in_c_is_a_subject() {
    let directory = tempfile::tempdir().unwrap();
    if !has("cc", "--version") {
        return;
    }
    let built = directory.path().join("hash-c");
    let source = root().join("examples/programs/hash.c");
    let compiled = Command::new("cc")
        .args(["-O2", "-Wall", "-Werror", "-o"])
        .arg(&built)
        .arg(source)
        .arg("-lcrypto")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    if said.contains("openssl/crypto.h") || said.contains("-lcrypto") {
        eprintln!("skipped: no headers of OpenSSL on this machine");
        return;
    }
    succeeded("cc", &compiled);
    assert_hashes(&built, "openssl");
}

#[test]
fn the_program_in_go_is_a_subject() {
    let directory = tempfile::tempdir().unwrap();
    if !has("go", "version") {
        return;
    }
    let built = directory.path().join("sha256-go");
    let source = root().join("examples/programs/sha256.go");
    let compiled = Command::new("go")
        .args(["build", "-o"])
        .arg(&built)
        .arg(source)
        .env("GOFLAGS", "-mod=mod")
        // What was built last time is used again: the standard library takes a while.
        .env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go"))
        .env("GOTOOLCHAIN", "local")
        .output()
        .unwrap();
    succeeded("go build", &compiled);
    assert_hashes(&built, "go-crypto");
}

/// The project stands outside the workspace. A copy of it gets the workspace's Cargo.lock, so that nothing needs to be fetched.
#[test]
fn a_project_of_somebody_else_measures_with_cargo_bench() {
    let directory = tempfile::tempdir().unwrap();
    let project = root().join("examples/bench");
    for file in ["src/lib.rs", "benches/checksums.rs"] {
        let to = directory.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(project.join(file), to).unwrap();
    }
    let lab = format!("{:?}", env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("\"../../crates/lab\""));
    fs::write(directory.path().join("Cargo.toml"), manifest.replace("\"../../crates/lab\"", &lab)).unwrap();
    fs::copy(root().join("Cargo.lock"), directory.path().join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["bench", "--offline", "--profile", "dev", "--bench", "checksums", "--", "--quick"]);
    // What was built for it last time is used again.
    cargo.current_dir(directory.path()).env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("example"));
    let output = cargo.output().unwrap();
    succeeded("cargo bench", &output);
    let report = String::from_utf8(output.stdout).unwrap();
    for words in ["checksum/4k", "in-lanes", "bytewise", "in-lanes#2"] {
        assert!(report.contains(words), "{report}");
    }
    let runs = fs::read_dir(directory.path().join("candor-runs")).unwrap().count();
    assert_eq!(runs, 1, "one sealed run");
}
