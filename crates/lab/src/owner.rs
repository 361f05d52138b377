//! Whose a subject is: candor's own rows are judged otherwise than those of others, so no program and no import may pass for one.

use crate::{Evidence, Provenance};
use std::path::Path;

/// What candor's own subjects call their library.
const OURS: &str = "candor";

/// How the names of programs' rows begin.
pub(crate) const PROGRAM: &str = "program-";

/// Whether a library calls itself as ours does.
pub(crate) fn is_our_library(name: &str) -> bool {
    name.trim().eq_ignore_ascii_case(OURS)
}

/// Whether a row of this name would look like one of ours: `candor`, `candor@avx512`.
pub(crate) fn is_our_subject(name: &str) -> bool {
    let library = name.trim().split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    is_our_library(library)
}

/// Whether a subject is a program of its own, by its name, which the lab gives it.
pub fn is_program(subject: &str) -> bool {
    subject.starts_with(PROGRAM)
}

/// The name of the rows of a program, by the name of its file: `program-sha256` of `sha256.py`.
pub(crate) fn program_row(file: &str) -> String {
    let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
    let stem: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || "._+".contains(c) { c } else { '-' }).collect();
    format!("{PROGRAM}{stem}")
}

impl Provenance {
    /// Whether a subject of that name is candor's own. A program says itself how its library is called, and so does the file of an import: neither is ours.
    pub fn is_ours(&self, subject: &str) -> bool {
        is_our_library(&self.library) && !is_program(subject) && self.evidence != Evidence::Imported
    }
}
