//! Commands with their output as files: `tests/cmd/*.trycmd`. They are the promise that the output part of the
//! documentation makes; `TRYCMD=overwrite cargo test -p candor --test cli` writes them anew.

#[test]
fn commands_print_what_their_files_say() {
    trycmd::TestCases::new().env("NO_COLOR", "1").env("COLUMNS", "100").case("tests/cmd/*.trycmd");
}
