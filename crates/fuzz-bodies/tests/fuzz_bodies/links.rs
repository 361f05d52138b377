use candor_fuzz_bodies::links as fuzz;
use candor_test_support::corpus::Corpus;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 1500;

#[test]
fn no_element_set_makes_the_reader_or_sgp4_panic() {
    Corpus::of("links_elements").run(MUTATIONS, fuzz::elements);
}

#[test]
fn no_topology_makes_the_reader_or_the_simulator_panic() {
    Corpus::of("links_topology").run(300, fuzz::topology);
}

#[test]
fn no_line_of_a_circuit_makes_the_reader_or_the_summary_panic() {
    Corpus::of("links_circuits").run(MUTATIONS, fuzz::circuits);
}
