//! The commands of the book whose output it shows, in blocks of `console`: they print what the book says.

#[test]
fn commands_in_the_book_print_what_it_shows() {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .expect("the root of the repository is there");
    trycmd::TestCases::new().env("NO_COLOR", "1").env("COLUMNS", "100").case("docs/*.md").case("docs/*/*.md");
}
