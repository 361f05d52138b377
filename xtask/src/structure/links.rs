//! Links between our documents lead somewhere: to a file of the repository, and to a heading in it.

use super::Violation;
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with the links of these Markdown files, given the names of all files from the root.
pub(crate) fn check(documents: &[(String, String)], files: &BTreeSet<String>) -> Vec<Violation> {
    let headings: BTreeMap<&str, BTreeSet<String>> =
        documents.iter().map(|(file, text)| (file.as_str(), anchors(text))).collect();
    let mut found = Vec::new();
    for (file, text) in documents {
        for (line, place, anchor) in targets(file, text) {
            let is_there = files.contains(&place) || files.iter().any(|other| is_below(other, &place));
            if !is_there {
                found.push(Violation::new(file, line, format!("leads to {place}, which is not there")));
            } else if !anchor.is_empty() && headings.get(place.as_str()).is_some_and(|known| !known.contains(anchor)) {
                found.push(Violation::new(
                    file,
                    line,
                    format!("leads to #{anchor}, a heading that {place} does not have"),
                ));
            }
        }
    }
    found
}

/// Where the links of a document lead: the line, counted from one, the file or folder from the root, and the heading.
pub(crate) fn targets<'a>(file: &str, text: &'a str) -> Vec<(usize, String, &'a str)> {
    let target = |(line, target): (usize, &'a str)| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        (line, if path.is_empty() { file.to_owned() } else { resolve(file, path) }, anchor)
    };
    links(text).into_iter().map(target).collect()
}

/// Whether a file is in this folder; `.` is the root.
fn is_below(file: &str, folder: &str) -> bool {
    folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The lines, counted from one, and targets of links inside the repository, outside code.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (index, line) in prose(text) {
        let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        // `[name]: target` below the text.
        let below = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
        found.extend(inline.chain(below).filter(|target| is_inside(target)).map(|target| (index, target)));
    }
    found
}

/// Whether a target is in the repository: no address, and no item of Rust, to which READMEs of crates link.
fn is_inside(target: &str) -> bool {
    let is_item = target.contains("::") || !target.contains(['.', '/', '#']);
    !(target.contains("://") || target.starts_with("mailto:") || is_item)
}

/// The lines outside blocks of code, each with its number.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        (!is_code && !fence).then_some((index + 1, line))
    })
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    let mut found = BTreeSet::new();
    for heading in headings {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect();
        let name = |n: usize| if n == 0 { anchor.clone() } else { format!("{anchor}-{n}") };
        if let Some(free) = (0..).map(name).find(|name| !found.contains(name)) {
            found.insert(free);
        }
    }
    found
}

/// A path in a document, from the root. What leads out of the repository keeps its dots, and is not there.
fn resolve(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(documents: &[(&str, &str)], others: &[&str]) -> Vec<String> {
        let files = documents.iter().map(|(file, _)| *file).chain(others.iter().copied()).map(str::to_owned).collect();
        let documents: Vec<_> = documents.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        check(&documents, &files).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_link_leads_to_a_file_or_a_folder() {
        let text = "see [a](../METHOD.md), [b](tasks/x.md), ![c](p.svg) and [d](../runs/)\n\n[e]: ../runs/a.jsonl\n";
        let documents = [("docs/index.md", text), ("METHOD.md", ""), ("docs/tasks/x.md", "")];
        assert!(found(&documents, &["docs/p.svg", "runs/a.jsonl"]).is_empty());
        assert_eq!(
            found(&documents, &["docs/p.svg"]),
            [
                "docs/index.md:1: leads to runs, which is not there",
                "docs/index.md:3: leads to runs/a.jsonl, which is not there"
            ]
        );
    }

    #[test]
    fn a_link_leads_to_a_heading() {
        let has = "# Run a relay\n\n## What it's for: `x` & y\n\n## Run a relay\n";
        let links = |anchor: &str| found(&[("a.md", &format!("[x](b.md#{anchor})")), ("b.md", has)], &[]);
        for anchor in ["run-a-relay", "what-its-for-x--y", "run-a-relay-1"] {
            assert!(links(anchor).is_empty(), "{anchor}: {:?}", links(anchor));
        }
        assert_eq!(links("run-a-relay-2"), ["a.md:1: leads to #run-a-relay-2, a heading that b.md does not have"]);
        assert!(found(&[("a.md", "# Here\n[x](#here)")], &[]).is_empty());
        assert_eq!(found(&[("a.md", "# Here\n[x](#there)")], &[]).len(), 1);
    }

    #[test]
    fn code_and_other_places_are_no_links() {
        let text =
            "[x](https://example.org/a.md) <mailto:a@b> [`X`](X) [y](a_b::Y)\n```text\n[x](gone.md)\n# Gone\n```\n";
        assert!(found(&[("a.md", text)], &[]).is_empty());
        assert_eq!(found(&[("a.md", "[x](gone.md)\n")], &[]).len(), 1);
        assert_eq!(
            found(&[("a.md", "[x](../../gone.md)\n")], &[]),
            ["a.md:1: leads to ../../gone.md, which is not there"]
        );
        assert_eq!(found(&[("a.md", "```\n# Gone\n```\n[x](#gone)")], &[]).len(), 1);
    }
}
