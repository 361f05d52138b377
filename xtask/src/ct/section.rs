//! Parts of SOUNDNESS.md that are written by a command. Each stands between `<!-- NAME: … -->` and `<!-- end of NAME -->`.

use crate::Failure;
use std::path::Path;

/// SOUNDNESS.md.
pub(super) fn document(root: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(root.join(NAME)).map_err(|error| format!("{NAME}: {error}"))
}

const NAME: &str = "SOUNDNESS.md";

/// Puts another text into a section of the file.
pub(super) fn write(root: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let document = replace(&document(root)?, name, text)?;
    std::fs::write(root.join(NAME), document).map_err(|error| format!("{NAME}: {error}"))
}

/// The section's text.
pub(super) fn read<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let (from, to) = place(document, name)?;
    Some(&document[from..to])
}

/// The document with another text in that section.
pub(super) fn replace(document: &str, name: &str, text: &str) -> Result<String, Failure> {
    let (from, to) = place(document, name).ok_or_else(|| {
        format!("SOUNDNESS.md lacks the section `{name}`: expected `<!-- {name}: … -->` and `<!-- end of {name} -->`")
    })?;
    Ok(format!("{}{}\n{}", &document[..from], text.trim_end(), &document[to..]))
}

fn place(document: &str, name: &str) -> Option<(usize, usize)> {
    let head = document.find(&format!("<!-- {name}: "))?;
    let from = head + document[head..].find("-->\n")? + 4;
    let to = from + document[from..].find(&format!("<!-- end of {name} -->"))?;
    Some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "Before.\n<!-- arms: written by x -->\nold\n<!-- end of arms -->\nAfter.\n";

    #[test]
    fn what_is_written_is_read_again() {
        let changed = replace(DOCUMENT, "arms", "new\ntext\n").unwrap();
        assert_eq!(read(&changed, "arms"), Some("new\ntext\n"));
        assert_eq!(replace(&changed, "arms", "old").unwrap(), DOCUMENT);
    }

    #[test]
    fn a_section_that_is_missing_or_has_no_end_is_refused() {
        assert!(replace(DOCUMENT, "timing", "x").is_err_and(|why| why.contains("`timing`")));
        assert_eq!(read(&DOCUMENT.replace("end of arms", "end"), "arms"), None);
    }
}
