//! The published numbers that candor comes with.

use crate::Failure;
use candor_lab::LabError;
use candor_lab::claims::Claims;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// The files below `claims/`.
const FILES: [&str; 6] = [
    include_str!("../../../claims/berger-2025.toml"),
    include_str!("../../../claims/ecliptix-003.toml"),
    include_str!("../../../claims/gfmul-004.toml"),
    include_str!("../../../claims/kctsb-001.toml"),
    include_str!("../../../claims/pqntor-000.toml"),
    include_str!("../../../claims/threehop-002.toml"),
];

static ALL: LazyLock<Result<Vec<Claims>, LabError>> =
    LazyLock::new(|| FILES.iter().map(|text| Claims::parse(text)).collect());

/// All of them.
pub(crate) fn all() -> Result<&'static [Claims], Failure> {
    ALL.as_deref().map_err(|error| Failure::Error(error.to_string()))
}

/// The publication of this key.
pub(crate) fn named(key: &str) -> Option<&'static Claims> {
    ALL.as_deref().unwrap_or_default().iter().find(|claims| claims.key == key)
}

/// The keys.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    ALL.as_deref().unwrap_or_default().iter().map(|claims| claims.key.as_str())
}

/// The tasks that do the work of the publication of this key; none if there is no such key.
pub(crate) fn tasks(key: &str) -> BTreeSet<&'static str> {
    let claims = named(key).into_iter().flat_map(|claims| &claims.claims);
    claims.map(|claim| claim.task.as_str()).filter(|task| !task.is_empty()).collect()
}

/// Reads a file of claims.
pub(crate) fn read(path: &Path) -> Result<Claims, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Error(format!("can't read claims from {}: {error}", path.display())))?;
    Claims::parse(&text).map_err(|error| Failure::Error(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_file_of_claims_is_built_in() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
        let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml"));
        let committed = files.map(|file| read(&file).unwrap_or_else(|_| panic!("{} can be read", file.display())).key);
        let committed: BTreeSet<String> = committed.collect();
        assert_eq!(keys().map(str::to_owned).collect::<BTreeSet<_>>(), committed);
        assert_eq!(keys().count(), FILES.len());
    }

    #[test]
    fn a_key_names_its_publication_and_nothing_else_does() {
        assert_eq!(named("kctsb-001").map(|claims| claims.key.as_str()), Some("kctsb-001"));
        assert!(named("kctsb").is_none() && named("").is_none());
        assert!(!tasks("kctsb-001").contains(""), "what names no task selects none");
    }
}
