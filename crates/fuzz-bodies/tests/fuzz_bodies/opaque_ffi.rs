use candor_fuzz_bodies::opaque_ffi as fuzz;
use candor_test_support::corpus::{Corpus, write};

/// Mutations of each file of the corpus: most are a registration and a login long.
const MUTATIONS: usize = 12;

#[test]
fn calls_in_any_order_harm_nothing() {
    Corpus::of("opaque_ffi_calls").run(MUTATIONS, fuzz::calls);
}

/// A corpus of nothing but refusals would test nothing: each of these logs in, and registers again with the session.
#[test]
fn honest_calls_all_succeed() {
    for suite in 1..=4 {
        assert_eq!(fuzz::made_and_given(&fuzz::honest(suite)), (13, 13), "suite {suite}");
    }
}

#[test]
#[ignore = "writes the corpus; run it by name after a change of the calls"]
fn write_corpora() {
    for suite in 1..=4 {
        write("opaque_ffi_calls", &format!("honest-{suite}"), &fuzz::honest(suite));
    }
}
