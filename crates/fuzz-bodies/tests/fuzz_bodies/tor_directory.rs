use candor_fuzz_bodies::tor_directory as fuzz;
use candor_test_support::corpus::Corpus;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 300;

#[test]
fn consensuses_of_tors() {
    Corpus::of("tor_directory_consensus").run(MUTATIONS, fuzz::consensus);
}

#[test]
fn certificates_of_tors_authorities() {
    Corpus::of("tor_directory_certificates").run(MUTATIONS, fuzz::certificates);
}

#[test]
fn microdescriptors_of_tors() {
    Corpus::of("tor_directory_microdescriptors").run(MUTATIONS, fuzz::microdescriptors);
}
