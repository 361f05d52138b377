use candor_fuzz_bodies::{login, old_hashes};
use candor_test_support::corpus::Corpus;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 300;

#[test]
fn imports() {
    Corpus::of("login_import").run(MUTATIONS, login::import);
}

#[test]
fn old_hashes_and_their_schemes() {
    Corpus::of("old_hashes_text").run(MUTATIONS, old_hashes::text);
}
