//! The library as C sees it: the header says what the functions are, a program in C uses each of them and another logs in with Rust, and the examples run.

mod peer;

use candor_opaque_ffi::client::PasswordKind;
use candor_opaque_ffi::object::Part;
use candor_opaque_ffi::status::Status;
use candor_opaque_ffi::suites::ALL;
use candor_test_support::c_abi::{Library, there};
use peer::{Peer, in_every_suite};
use std::collections::BTreeMap;
use std::process::Command;

const LIBRARY: Library = Library {
    folder: env!("CARGO_MANIFEST_DIR"),
    name: "candor_opaque_ffi",
    package: "candor-opaque",
    header: "candor_opaque.h",
    sources: "src/ffi",
    types: &[
        ("Handle", "candor_opaque_handle"),
        ("*mut Handle", "candor_opaque_handle*"),
        ("*const CandorOpaqueParties", "constcandor_opaque_parties*"),
        ("*const CandorOpaqueLimits", "constcandor_opaque_limits*"),
    ],
    program: "tests/c_abi/every_function.c",
};

#[test]
fn the_header_declares_what_the_library_exports() {
    let functions = LIBRARY.assert_header_is_what_is_exported();
    assert!(functions > 20, "only {functions} functions were read");
}

#[test]
fn the_header_numbers_suites_parts_and_statuses_as_the_library_does() {
    let mut expected: BTreeMap<String, u32> = BTreeMap::from([("CANDOR_OPAQUE_OK".to_owned(), 0)]);
    let mut expect = |family: &str, name: &str, number: u32| {
        expected.insert(format!("CANDOR_OPAQUE_{family}_{}", name.to_uppercase().replace('-', "_")), number);
    };
    for suite in ALL {
        expect("SUITE", &suite.to_string(), suite as u32);
    }
    PasswordKind::ALL.iter().for_each(|(kind, name)| expect("PASSWORD", name, *kind as u32));
    Part::ALL.iter().for_each(|(part, name)| expect("PART", name, *part as u32));
    expected.extend(Status::ALL.iter().map(|(status, name)| ((*name).to_owned(), *status as u32)));
    assert_eq!(LIBRARY.numbered("CANDOR_OPAQUE_"), expected);
}

#[test]
fn every_function_keeps_its_promise_under_address_sanitizer() {
    LIBRARY.run_under_address_sanitizer(|_| Vec::new());
}

#[test]
fn every_function_keeps_its_promise_under_valgrind() {
    LIBRARY.run_under_valgrind(|_| Vec::new());
}

#[test]
fn the_shared_library_works_and_exports_the_header_and_nothing_else() {
    LIBRARY.run_with_the_shared_library(|_| Vec::new());
}

/// What C calls suite 3 is what Rust calls `Hybrid`, and a struct of parties arrives as it was sent: a client in C logs in to a server in Rust, and the other way
/// round, in all suites.
#[test]
fn c_and_rust_log_in_to_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("peer");
    LIBRARY.compile("tests/c_abi/peer.c", &program, &[], &LIBRARY.built(".a"));
    let start = |role: &str, suite: u32, key: &[u8]| Peer::start(&mut Command::new(&program), role, suite, key);
    in_every_suite(start);
}

const SAID: &str = "registered: a record of 239 bytes\nlogged in: both sides have the same key\nlogin failed: wrong password or user, or a message \
                    was changed on the way\n";

#[test]
fn the_example_of_the_readme_compiles_and_logs_in() {
    assert_eq!(LIBRARY.run_line_of_readme("cc -std"), SAID);
}

#[test]
fn the_example_in_python_logs_in() {
    if there("python3") {
        assert_eq!(LIBRARY.run_line_of_readme("python3 "), SAID);
    }
}

/// The module map names the header, and no library, which a compiler would look for where it is not; and where there is a Swift compiler, the example is compiled and run.
#[test]
fn the_example_in_swift_logs_in() {
    let map = std::fs::read_to_string(LIBRARY.here("examples/swift/module.modulemap")).unwrap();
    let quoted: Vec<&str> = map.split('"').skip(1).step_by(2).collect();
    assert_eq!(quoted, ["../../include/candor_opaque.h"]);
    assert!(LIBRARY.here("examples/swift").join(quoted[0]).exists());
    if there("swiftc") {
        assert_eq!(LIBRARY.run_line_of_readme("swiftc "), SAID);
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
