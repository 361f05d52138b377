//! The fuzz targets. The crate `fuzz` needs a nightly compiler, so nothing else in the gate reads its manifest: a slip in it would show only
//! when somebody starts a campaign.

use super::Violation;
use std::collections::BTreeSet;
use toml::{Table, Value};

const MANIFEST: &str = "fuzz/Cargo.toml";

/// What the folder `fuzz` and the tests have, each as names of targets.
pub(crate) struct Targets {
    /// The files of `fuzz/fuzz_targets`.
    pub(crate) sources: BTreeSet<String>,
    /// The folders of `fuzz/corpus` that are not empty.
    pub(crate) corpora: BTreeSet<String>,
    /// The tests of the crate `fuzz-bodies`, which run the bodies on stable.
    pub(crate) stable: String,
}

/// Each target has its source, an entry in the manifest, a corpus, and a run on stable.
pub(crate) fn check(manifest: &str, targets: &Targets) -> Vec<Violation> {
    let here = |what: String| Violation::new(MANIFEST, 1, what);
    let listed = match listed(manifest) {
        Ok(listed) => listed,
        Err(why) => return Vec::from([here(why)]),
    };
    let mut found = Vec::new();
    for name in listed.union(&targets.sources) {
        if !listed.contains(name) {
            found.push(here(format!("fuzz_targets/{name}.rs has no [[bin]] of that name and path")));
        }
        if !targets.sources.contains(name) {
            found.push(here(format!("the target `{name}` has no fuzz_targets/{name}.rs")));
        }
        if !targets.corpora.contains(name) {
            found.push(here(format!("the target `{name}` has no file in fuzz/corpus/{name}")));
        }
        if !targets.stable.contains(&format!("\"{name}\"")) {
            found.push(here(format!("no test in crates/fuzz-bodies runs the target `{name}` on stable")));
        }
    }
    found
}

/// The targets of the manifest.
fn listed(manifest: &str) -> Result<BTreeSet<String>, String> {
    let table: Table = manifest.parse().map_err(|error| format!("cargo can't read it: {error}"))?;
    let bins = table.get("bin").and_then(Value::as_array).ok_or("it has no [[bin]]")?;
    let name = |bin: &Value| {
        let text = |key| bin.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("path") == format!("fuzz_targets/{}.rs", text("name")) {
            true => Ok(text("name").to_owned()),
            false => Err(format!("the [[bin]] `{}` has the path `{}`", text("name"), text("path"))),
        }
    };
    bins.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(names: &[&str]) -> Targets {
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let stable = names.iter().map(|name| format!("(\"{name}\", body),\n")).collect();
        Targets { sources: names.clone(), corpora: names, stable }
    }

    fn manifest(names: &[&str]) -> String {
        names.iter().map(|name| format!("[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n")).collect()
    }

    #[test]
    fn whole_targets_pass() {
        assert!(check(&manifest(&["a", "b"]), &targets(&["a", "b"])).is_empty());
    }

    #[test]
    fn a_manifest_that_cargo_cannot_read_is_found() {
        let twice = "[[bin]]\nname = \"a\"\npath = \"fuzz_targets/a.rs\"\nname = \"b\"\n";
        assert!(check(twice, &targets(&["a"]))[0].what.contains("can't read"));
    }

    #[test]
    fn each_missing_part_is_found() {
        assert!(check(&manifest(&["a"]), &targets(&["a", "b"]))[0].what.contains("no [[bin]]"));
        assert!(check(&manifest(&["a"]).replace("a.rs", "b.rs"), &targets(&["a"]))[0].what.contains("the path"));
        for (part, words) in [(0, "no fuzz_targets"), (1, "fuzz/corpus/a"), (2, "on stable")] {
            let mut targets = targets(&["a"]);
            match part {
                0 => targets.sources.clear(),
                1 => targets.corpora.clear(),
                _ => targets.stable.clear(),
            }
            let found = check(&manifest(&["a"]), &targets);
            assert_eq!(found.len(), 1);
            assert!(found[0].what.contains(words), "{}", found[0]);
        }
    }
}
