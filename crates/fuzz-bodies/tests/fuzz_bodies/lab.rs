use candor_fuzz_bodies::lab as fuzz;
use candor_test_support::corpus::Corpus;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 1500;

#[test]
fn no_run_file_makes_reader_or_report_panic() {
    Corpus::of("lab_run_file").run(MUTATIONS, fuzz::run_file);
}

#[test]
fn no_claims_file_makes_the_reader_panic() {
    Corpus::of("lab_claims").run(MUTATIONS, fuzz::claims);
}
