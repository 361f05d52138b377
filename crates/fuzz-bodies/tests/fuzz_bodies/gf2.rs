use candor_fuzz_bodies::gf2::plan_text;
use candor_gf2::plan::Plans;
use candor_test_support::corpus::Corpus;

#[test]
fn no_text_makes_a_table_that_multiplies_wrongly_or_panics() {
    Corpus::of("gf2_plan_text").run(300, plan_text);
}

/// A corpus of nothing but refusals would test nothing.
#[test]
fn the_corpus_has_tables_that_are_taken() {
    let taken = |text: &&[u8]| Plans::parse(String::from_utf8(text.to_vec()).unwrap().leak()).is_ok();
    assert!(Corpus::of("gf2_plan_text").inputs().filter(taken).count() >= 2);
}
