//! `cargo xtask results`: `docs/results.md` and the pictures of reports in documents: what the sealed runs in `runs/` say of candor beside its peers.
//!
//! Numbers come from `candor report RUN --format json`, as they do for the bars. A cell belongs to a task, a peer and a kind of CPU. Of the runs that have
//! it the newest counts, whether candor wins there or not; and a peer stays in the table until it is measured again, so that a later run without the
//! strongest peer hides nothing.

mod choice;
mod document;
mod pictures;

use crate::Failure;
use crate::bars::report::Report;
use crate::bars::{Candor, committed_runs};
use crate::workspace::Workspace;
use std::path::Path;

/// The document, which is generated whole.
const FILE: &str = "docs/results.md";

/// Prints the document, or with `--write` writes it and the pictures.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let write = match words {
        [] => false,
        [word] if word == "--write" => true,
        [word, ..] => return Err(format!("`results` has no word `{word}`; it has `--write`")),
    };
    let workspace = Workspace::here()?;
    let candor = Candor::build(&workspace)?;
    let text = generate(&workspace, &candor)?;
    if write {
        std::fs::write(workspace.root.join(FILE), text).map_err(|error| format!("cannot write {FILE}: {error}"))?;
        pictures::write(&workspace, &candor)?;
        println!("written: {FILE} and the pictures of reports");
    } else {
        print!("{text}");
    }
    Ok(true)
}

/// Whether the document, and the pictures in documents, are what the committed runs say.
pub(crate) fn are_current(workspace: &Workspace) -> Result<bool, Failure> {
    let candor = Candor::build(workspace)?;
    let text = check(&workspace.root, &generate(workspace, &candor)?)?;
    Ok(pictures::are_current(workspace, &candor)? && text)
}

fn generate(workspace: &Workspace, candor: &Candor) -> Result<String, Failure> {
    text_of(&candor.reports(&committed_runs(&workspace.root)?)?, &candor.tiers()?)
}

/// The document about these reports. `tiers` are candor's, from least to most.
fn text_of(reports: &[Report], tiers: &[String]) -> Result<String, Failure> {
    Ok(document::text(&choice::families(reports, tiers)?, reports))
}

fn check(root: &Path, wanted: &str) -> Result<bool, Failure> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {FILE}: {error}"))?;
    if text == wanted {
        return Ok(true);
    }
    let differs = text.lines().zip(wanted.lines()).position(|(has, wanted)| has != wanted);
    let line = differs.unwrap_or_else(|| text.lines().count().min(wanted.lines().count())) + 1;
    println!("{FILE}:{line}: this is not what the runs say: `cargo xtask results --write` writes it");
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_out_of_date_is_noticed() {
        let root = std::env::temp_dir().join(format!("xtask-results-{}", std::process::id()));
        std::fs::create_dir_all(root.join("docs")).unwrap();
        std::fs::write(root.join(FILE), "one\ntwo\n").unwrap();
        let found = ["one\ntwo\n", "one\n2\n", "one\ntwo\nthree\n"].map(|wanted| check(&root, wanted));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, [Ok(true), Ok(false), Ok(false)]);
        assert!(check(&root, "").unwrap_err().contains(FILE));
    }

    #[test]
    fn a_word_that_means_nothing_is_refused() {
        assert!(run(&["--wirte".to_owned()]).unwrap_err().contains("`--wirte`"));
    }
}
