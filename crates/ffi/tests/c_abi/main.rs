//! The library as C sees it: the header says what the functions are, a program in C uses each of them, and the examples run.

use candor_ffi::status::Status;
use candor_suite::key::{KeyKind, SecretKey};
use candor_suite::key_file::{Encoding, SecretForm};
use candor_suite::signing::Padding;
use candor_suite::{aead::AeadAlgorithm, hash::HashAlgorithm, mac::MacAlgorithm};
use candor_test_support::c_abi::{Library, there};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LIBRARY: Library = Library {
    folder: env!("CARGO_MANIFEST_DIR"),
    name: "candor_ffi",
    package: "candor",
    header: "candor.h",
    sources: "src",
    types: &[("Handle", "candor_handle"), ("*mut Handle", "candor_handle*")],
    program: "tests/c_abi/every_function.c",
};

/// The files that the program takes, in this folder.
fn key_files(folder: &Path) -> Vec<PathBuf> {
    let made = |kind: KeyKind| {
        let file = SecretKey::generate(kind).and_then(|key| key.to_file(SecretForm::Pkcs8, Encoding::Pem));
        let path = folder.join(kind.name());
        std::fs::write(&path, &*file.expect("a key")).expect("the folder is the test's own");
        path
    };
    // `composite.pem` was made in Python: p the product of two numbers, q a prime, e = 65537, and the rest as it follows from them.
    vec![made(KeyKind::Rsa3072), made(KeyKind::Rsa4096), LIBRARY.here("tests/c_abi/composite.pem")]
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let functions = LIBRARY.assert_header_is_what_is_exported();
    assert!(functions > 30, "only {functions} functions were read");
}

#[test]
fn the_header_numbers_algorithms_and_statuses_as_the_library_does() {
    let mut expected: BTreeMap<String, u32> = BTreeMap::from([("CANDOR_OK".to_owned(), 0)]);
    let mut expect = |family: &str, name: &str, number: u32| {
        expected.insert(format!("CANDOR_{family}_{}", name.to_uppercase().replace('-', "_")), number);
    };
    HashAlgorithm::ALL.iter().for_each(|hash| expect("HASH", hash.name(), *hash as u32));
    MacAlgorithm::ALL.iter().for_each(|mac| expect("MAC", mac.name(), *mac as u32));
    AeadAlgorithm::ALL.iter().for_each(|aead| expect("AEAD", aead.name(), *aead as u32));
    KeyKind::ALL.iter().for_each(|kind| expect("KEY", kind.name(), *kind as u32));
    Padding::ALL.iter().for_each(|padding| expect("PADDING", padding.name(), *padding as u32));
    expected.extend(Status::ALL.iter().map(|(status, name)| ((*name).to_owned(), *status as u32)));
    assert_eq!(LIBRARY.numbered("CANDOR_"), expected);
}

#[test]
fn every_function_keeps_its_promise_under_address_sanitizer() {
    LIBRARY.run_under_address_sanitizer(key_files);
}

#[test]
fn every_function_keeps_its_promise_under_valgrind() {
    LIBRARY.run_under_valgrind(key_files);
}

#[test]
fn the_shared_library_works_and_exports_the_header_and_nothing_else() {
    LIBRARY.run_with_the_shared_library(key_files);
}

#[test]
fn the_examples_of_the_readme_compile_and_run() {
    let digest = "sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
    let said = LIBRARY.run_line_of_readme("cc -std");
    assert_eq!(said, format!("{digest}ed25519 verified\naes-256-gcm abc\n"));
    if there("python3") {
        let said = LIBRARY.run_line_of_readme("python3 ");
        assert_eq!(said, format!("{digest}p256 verified\n-----BEGIN PUBLIC KEY-----\n"));
    }
}

#[test]
fn the_header_is_c_plus_plus_as_well() {
    LIBRARY.assert_header_is_c_plus_plus();
}

#[test]
fn the_file_for_pkg_config_has_what_a_program_needs() {
    LIBRARY.assert_pkg_config_says_what_is_needed(env!("CARGO_PKG_VERSION"));
}
