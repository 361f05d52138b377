use candor_fuzz_bodies::{login as fuzz, old_hashes};
use candor_login::UnixTime;
use candor_login::state::Kind;
use candor_test_support::corpus::Corpus;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 300;

#[test]
fn states() {
    let sealed = fuzz::sealing_key().seal(Kind::Login, b"alice", UnixTime(1_800_000_030), &[7; 162]).unwrap();
    Corpus::of("login_state").with("one that was just sealed", sealed).run(MUTATIONS, fuzz::state);
}

#[test]
fn configurations() {
    Corpus::of("login_config").run(MUTATIONS, fuzz::config);
}

#[test]
fn names() {
    Corpus::of("login_name").run(MUTATIONS, fuzz::name);
}

#[test]
fn recovery_codes() {
    Corpus::of("login_recovery_code").run(MUTATIONS, fuzz::recovery_code);
}

#[test]
fn imports() {
    Corpus::of("login_import").run(MUTATIONS, fuzz::import);
}

#[test]
fn old_hashes_and_their_schemes() {
    Corpus::of("old_hashes_text").run(MUTATIONS, old_hashes::text);
}
