//! SOUNDNESS.md lists the cases: by their names, with `{a,b}` for alternatives. It must list them all, and no others.

use std::collections::BTreeSet;

/// The cases that the document's table lacks, and its entries that are not cases.
pub(super) fn differences<'a>(document: &str, cases: impl Iterator<Item = &'a str>) -> Vec<String> {
    let table = document.split("**What is covered.**").nth(1).and_then(|rest| rest.split("\n**").next()).unwrap_or("");
    let listed: BTreeSet<String> = names(table).collect();
    let cases: BTreeSet<String> = cases.map(str::to_owned).collect();
    let missing = cases.difference(&listed).map(|name| format!("SOUNDNESS.md does not list the case {name}"));
    let invented = listed.difference(&cases).map(|name| format!("SOUNDNESS.md lists {name}, which is not a case"));
    missing.chain(invented).collect()
}

/// What stands in backticks in the first column of a table.
pub(super) fn names(table: &str) -> impl Iterator<Item = String> {
    let first_cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).flat_map(alternatives)
}

/// `a{b,c}d` is `abd` and `acd`.
pub(crate) fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return Vec::from([pattern.to_owned()]) };
    let Some((choices, after)) = rest.split_once('}') else { return Vec::from([pattern.to_owned()]) };
    choices.split(',').flat_map(|choice| alternatives(&format!("{before}{choice}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "`x` **What is covered.** Text.\n\n| cases | secret |\n|---|---|\n| `a@{p,q}`, `b` (and c) | `d` |\n\n**More.** | `e` |";

    #[test]
    fn a_table_that_lists_every_case_is_right() {
        assert_eq!(differences(DOCUMENT, ["a@p", "a@q", "b"].into_iter()), Vec::<String>::new());
    }

    #[test]
    fn a_case_too_few_and_one_too_many_are_named() {
        let found = differences(DOCUMENT, ["a@p", "b", "c"].into_iter());
        assert_eq!(found, ["SOUNDNESS.md does not list the case c", "SOUNDNESS.md lists a@q, which is not a case"]);
        assert_eq!(differences("", ["b"].into_iter()).len(), 1);
    }

    #[test]
    fn alternatives_multiply() {
        assert_eq!(alternatives("{a,b}/{c,d}"), ["a/c", "a/d", "b/c", "b/d"]);
    }
}
