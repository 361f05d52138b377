//! The examples of the README and of the book in `docs/`: each block of Rust in them is a doc test. Not shipped.
//!
//! Blocks of `console` in the book are run by `crates/candor/tests/book.rs`, and every command line of candor in any document is parsed by a test of
//! `crates/candor`.

/// Pages whose blocks of Rust are doc tests.
macro_rules! pages {
    ($($page:ident $path:literal)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!($path)]
            struct $page;
        )*
        #[cfg(test)]
        const PAGES: &[&str] = &[$($path),*];
    };
}

pages! {
    Readme "../../../README.md"
    FieldsAndCodes "../../../docs/systems/fields-and-codes.md"
    Lab "../../../docs/systems/lab.md"
    Login "../../../docs/systems/login.md"
    Onion "../../../docs/systems/onion.md"
    Primitives "../../../docs/systems/primitives.md"
}

#[cfg(test)]
mod tests {
    use super::PAGES;
    use std::path::{Path, PathBuf};

    fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pages(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_page_with_an_example_is_tested() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut found = Vec::new();
        pages(&docs, &mut found);
        let mut examples = 0;
        for page in found {
            // `ignore` is for what belongs into another crate's source.
            let has = std::fs::read_to_string(&page).unwrap().lines().any(|line| line == "```rust");
            let name = page.strip_prefix(&docs).unwrap().display().to_string();
            let is_tested = PAGES.iter().any(|path| path.ends_with(&format!("docs/{name}")));
            assert_eq!(has, is_tested, "{name}: add it to the list in crates/book/src/lib.rs, or take it off");
            examples += usize::from(has);
        }
        assert_eq!(examples + 1, PAGES.len(), "the README is on the list as well");
    }
}
