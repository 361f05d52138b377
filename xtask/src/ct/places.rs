//! Where a secret is made public on purpose: each place in the sources that gives a reason to `declassify`, directly or through a function
//! that passes it on. SOUNDNESS.md lists them by file and number, so that a second comparison under an old reason is seen.

use super::{documented, marked};
use crate::Failure;
use crate::workspace::collect;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The section of SOUNDNESS.md.
pub(super) const SECTION: &str = "places";

/// Crates that ship and have secrets.
const CRATES: [&str; 7] = ["primitives", "gf2", "codes", "onion", "opaque", "login", "login-client"];

/// The section's text: for each reason its files, with the number of places where there is more than one.
pub(super) fn table(root: &Path, soundness: &str) -> Result<String, Failure> {
    let crates = root.join("crates");
    let mut files = Vec::new();
    for name in CRATES {
        collect(&crates.join(name).join("src"), &mut files)?;
    }
    files.sort_unstable();
    let mut sources = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        sources.push((path.strip_prefix(&crates).unwrap_or(&path).display().to_string(), text));
    }
    Ok(rows(soundness, &sources))
}

/// What is in the sources and not in the document, or the reverse.
pub(super) fn differences(written: Option<&str>, found: &str) -> Vec<String> {
    let written = written.unwrap_or_default();
    let news = found.lines().filter(|line| !written.lines().any(|known| known == *line));
    let gone = written.lines().filter(|line| !found.lines().any(|known| known == *line));
    let news = news.map(|line| format!("a secret is made public at a place that SOUNDNESS.md does not list: {line}"));
    let gone = gone.map(|line| format!("SOUNDNESS.md lists a place that is gone: {line}"));
    news.chain(gone).map(|fault| format!("{fault}; once you have looked at it: `cargo xtask ct --write`")).collect()
}

fn rows(soundness: &str, sources: &[(String, String)]) -> String {
    let mut rows = String::from("| name | places |\n|---|---|\n");
    for reason in reasons(soundness) {
        let literal = format!("\"{reason}\"");
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (file, text) in sources {
            let lines = marked::without_tests(text).lines().filter(|line| !line.trim_start().starts_with("//"));
            let count: usize = lines.map(|line| line.matches(&literal).count()).sum();
            if count > 0 {
                places.insert(file, count);
            }
        }
        let places: Vec<String> = places
            .iter()
            .map(|(file, count)| if *count == 1 { format!("`{file}`") } else { format!("`{file}` ({count})") })
            .collect();
        if !places.is_empty() {
            let _ = writeln!(rows, "| `{reason}` | {} |", places.join(", "));
        }
    }
    rows
}

/// The table of reasons, without the section that is written here.
fn reasons(soundness: &str) -> impl Iterator<Item = String> {
    let table = soundness.split("**What is made public on purpose.**").nth(1).unwrap_or_default();
    documented::names(table.split("\nSome inputs").next().unwrap_or_default().split("<!--").next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "**What is made public on purpose.** By name:\n\n| name | where | why |\n|---|---|---|\n| `tag`, `mac` | x | y |\n| `sent` | the cases | z |\n\nSome inputs\n";

    fn sources(text: &str) -> Vec<(String, String)> {
        vec![("a/src/lib.rs".to_owned(), text.to_owned())]
    }

    #[test]
    fn places_are_counted_by_file_without_tests_and_comments() {
        let text = "f(\"tag\");\n// g(\"tag\")\n#[cfg(test)]\nmod tests {\n    f(\"tag\");\n}\n";
        assert_eq!(rows(DOCUMENT, &sources(text)), "| name | places |\n|---|---|\n| `tag` | `a/src/lib.rs` |\n");
    }

    #[test]
    fn a_second_place_under_a_known_name_is_a_difference() {
        let known = rows(DOCUMENT, &sources("f(\"tag\");"));
        assert_eq!(differences(Some(&known), &known), Vec::<String>::new());
        let more = rows(DOCUMENT, &sources("f(\"tag\");\nf(\"tag\");"));
        let faults = differences(Some(&known), &more);
        assert_eq!(faults.len(), 2);
        assert!(faults[0].contains("`a/src/lib.rs` (2)"), "{}", faults[0]);
        assert!(!differences(None, &known).is_empty());
    }
}
