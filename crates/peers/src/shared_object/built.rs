//! What `cargo xtask peers` writes beside a library that it builds: a file `PROVENANCE`, a field a line.

use candor_lab::{Provenance, Tuning};
use std::collections::BTreeMap;
use std::path::Path;

/// The fields of one such file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Built(BTreeMap<String, String>);

impl Built {
    /// Reads the file beside `library`; nothing where there is none.
    pub(crate) fn beside(library: &Path) -> Option<Self> {
        std::fs::read_to_string(library.with_file_name("PROVENANCE")).ok().map(|text| Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let fields = text.lines().filter_map(|line| line.split_once(": "));
        Self(fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
    }

    /// A field, if it is there.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The provenance of a subject of this library (OpenSSL tells more of itself, and takes the fields one by one). `untuned` is what to say where the file tells of no tuning.
    pub(crate) fn provenance(&self, library: &str, version: &str, timed: &str, untuned: Tuning) -> Provenance {
        let field = |name| self.field(name).map(str::to_owned);
        Provenance {
            commit: field("commit"),
            build: field("build"),
            arm: field("arm"),
            not_at_its_best: field("leaves-unused"),
            tuning: field("tuning").map_or(untuned, Tuning::Tuned),
            ..Provenance::of(library, version, timed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_provenance_becomes_the_provenance() {
        let built =
            Built::parse("variant: tuned\nbuild: gcc 12, -O3\ntuning: 2026-11-21 on a CPU: with a colon\nodd line\n");
        let told = built.provenance("gf2x", "1.3.0", "multiplies", Tuning::Stock);
        assert_eq!(told.build.as_deref(), Some("gcc 12, -O3"));
        assert_eq!(told.tuning, Tuning::Tuned("2026-11-21 on a CPU: with a colon".into()));
        assert_eq!(told.commit, None);
    }

    #[test]
    fn without_a_word_about_tuning_it_is_what_the_caller_says() {
        let told = Built::default().provenance("gf2x", "1.3.0", "multiplies", Tuning::Stock);
        assert_eq!(told.tuning, Tuning::Stock);
    }
}
