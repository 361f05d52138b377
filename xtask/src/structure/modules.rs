//! Which modules of its own crate a file names, however it spells them: `crate::x`, `super::x`, `super::super::{x, y}`.

use super::Violation;
use super::strip::{find_word, line_of};
use super::unsafety::first_segments;
use std::path::{Component, Path, PathBuf};

/// Top-level modules of its crate that the code names, each with its line. `code` has neither comments nor literals.
pub(super) fn named<'a>(file: &str, code: &'a str) -> Vec<(&'a str, usize)> {
    let crates = find_word(code, "crate").into_iter().map(|(at, _)| at + "crate".len());
    let supers = find_word(code, "super").into_iter().filter_map(|(at, _)| root_after(file, code, at));
    crates.chain(supers).flat_map(|at| first_segments(code, at)).collect()
}

/// For the first `super` of a chain that leads to the root of the crate: where the chain ends.
fn root_after(file: &str, code: &str, at: usize) -> Option<usize> {
    if code[..at].trim_end().ends_with("::") {
        return None;
    }
    let (mut end, mut steps) = (at + "super".len(), 1);
    while let Some(rest) = code[end..].trim_start().strip_prefix("::")
        && let Some(rest) = rest.trim_start().strip_prefix("super")
        && !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric())
    {
        end = code.len() - rest.len();
        steps += 1;
    }
    (depth_of(file) + inline_modules(&code[..at]) == steps).then_some(end)
}

/// How many modules deep a file stands in its crate: `src/lib.rs` 0, `src/a.rs` and `src/a/mod.rs` 1, `src/a/b.rs` 2.
fn depth_of(file: &str) -> usize {
    let Some((_, path)) = file.split_once("/src/") else { return 0 };
    let path = path.trim_end_matches(".rs");
    let names = path.split('/').filter(|name| !matches!(*name, "lib" | "main" | "mod"));
    names.count()
}

/// How many `mod name { … }` are open at the end of this code.
fn inline_modules(before: &str) -> usize {
    let mut open: Vec<bool> = Vec::new();
    let mut since = 0;
    for (at, c) in before.char_indices() {
        match c {
            '{' => {
                let mut words = before[since..at].split_whitespace().rev();
                open.push(words.next().is_some() && words.next() == Some("mod"));
                since = at + 1;
            }
            '}' => {
                open.pop();
                since = at + 1;
            }
            ';' => since = at + 1,
            _ => {}
        }
    }
    open.iter().filter(|is_module| **is_module).count()
}

/// `#[path = "…"]` and `include!("…")` that bring in a file from outside the crate's folder, which no other rule would see there.
pub(super) fn check_borrowed(folder: &str, file: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for start in ["#[path = \"", "include!(\""] {
        for (at, _) in text.match_indices(start) {
            let Some((path, _)) = text[at + start.len()..].split_once('"') else { continue };
            let here = Path::new(file).parent().unwrap_or(Path::new(""));
            if !plain(&here.join(path)).starts_with(folder) {
                let what = format!("brings in `{path}` from outside its crate: depend on the crate that it belongs to");
                found.push(Violation::new(file, line_of(text, at), what));
            }
        }
    }
    found
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(file: &str, code: &'a str) -> Vec<&'a str> {
        named(file, code).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn every_spelling_of_a_module_is_seen() {
        assert_eq!(names("crates/a/src/stats.rs", "use crate::report;\n"), ["report"]);
        assert_eq!(names("crates/a/src/stats.rs", "use super::report;\n"), ["report"]);
        assert_eq!(names("crates/a/src/ours/hash.rs", "use super::super::{tasks::x, peers};\n"), ["tasks", "peers"]);
        assert_eq!(names("crates/a/src/ours/mod.rs", "use super::tasks;\n"), ["tasks"]);
        assert_eq!(names("crates/a/src/stats.rs", "mod tests {\n    use super::super::report;\n}\n"), ["report"]);
    }

    #[test]
    fn a_path_that_stays_inside_its_module_names_no_other() {
        assert!(names("crates/a/src/ours/hash.rs", "use super::batch;\n").is_empty());
        assert!(names("crates/a/src/stats.rs", "fn f() {}\nmod tests {\n    use super::report;\n}\n").is_empty());
        let after = "mod tests { fn f() { g() } }\nuse super::report;\n";
        assert_eq!(names("crates/a/src/stats.rs", after), ["report"], "the module is closed again");
    }

    #[test]
    fn a_file_from_another_crate_is_refused_and_one_of_its_own_is_not() {
        let borrowed = |text: &str| check_borrowed("crates/a", "crates/a/tests/hostile/main.rs", text).len();
        assert_eq!(borrowed("#[path = \"../town/mod.rs\"]\nmod town;\n"), 0);
        assert_eq!(borrowed("#[path = \"../../../b/src/ours.rs\"]\nmod ours;\n"), 1);
        assert_eq!(borrowed("include!(\"../../../b/src/ours.rs\");\n"), 1);
        assert_eq!(borrowed("include!(concat!(env!(\"OUT_DIR\"), \"/list.rs\"));\n"), 0);
    }
}
