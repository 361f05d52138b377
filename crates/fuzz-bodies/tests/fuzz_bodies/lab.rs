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

#[test]
fn output_of_other_tools() {
    Corpus::of("lab_import").run(MUTATIONS, fuzz::import);
}

#[test]
fn answers_of_programs() {
    Corpus::of("lab_program_answers").run(MUTATIONS, fuzz::program_answers);
}

#[test]
fn nothing_that_another_build_says_makes_its_reader_panic() {
    Corpus::of("lab_remote").run(MUTATIONS, fuzz::remote);
}

#[test]
fn no_plan_of_a_sweep_makes_the_reader_panic() {
    Corpus::of("lab_sweep_plan").run(MUTATIONS, fuzz::sweep_plan);
}

#[test]
fn no_recipe_of_a_sweep_makes_the_reader_panic() {
    Corpus::of("lab_sweep_recipe").run(MUTATIONS, fuzz::sweep_recipe);
}
