//! Each crate begins by saying what it is.

use super::Violation;

/// How a published crate begins: its README is its documentation.
const README: &str = r#"#![doc = include_str!("../README.md")]"#;

/// The first line of `lib.rs` and `main.rs` is `//!` documentation, or includes the README.
pub(crate) fn check(file: &str, text: &str) -> Vec<Violation> {
    let first = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    match first {
        Some((_, line)) if line.starts_with("//!") || line == README => Vec::new(),
        other => Vec::from([Violation::new(
            file,
            other.map_or(1, |(index, _)| index + 1),
            "a crate begins with `//!` or its README: say what it is for, before attributes and code",
        )]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_begins_with_docs() {
        assert!(check("a/src/lib.rs", "//! Docs.\n#![no_std]\n").is_empty());
        assert!(check("a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n#![no_std]\n").is_empty());
        assert_eq!(check("a/src/lib.rs", "\n#![no_std]\n//! Docs.\n")[0].line, 2);
        assert_eq!(check("a/src/lib.rs", "// A comment.\n").len(), 1);
        assert_eq!(check("a/src/lib.rs", "").len(), 1);
    }
}
