//! What stands in a packed crate, and what its manifest tells the registry.

use crate::Failure;
use std::path::Path;

/// Files without which a crate is not fit to be published.
const NEEDED: [&str; 6] = ["Cargo.toml", "Cargo.toml.orig", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];
/// Everything else must stand below one of these, or be one of them.
const ALLOWED: [&str; 7] = [".cargo_vcs_info.json", "Cargo.lock", "arms.table", "docs/", "examples/", "plans/", "src/"];
/// The registry takes no more keywords or categories, and no longer keyword.
const MOST: usize = 5;
const LONGEST_KEYWORD: usize = 20;
/// A library is source code, and tables of curves (`primitives` has 840 kB of them): what is larger holds something that users don't need. The registry refuses 10 MB.
const MOST_BYTES: u64 = 3 << 20;

/// What is wrong with the unpacked crate in `folder`; nothing if it is fit. `root` is the repository, whose licences it carries.
pub(super) fn judge(folder: &Path, root: &Path) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    let bytes = list(folder, "", &mut files)?;
    let mut wrong = names(&files);
    if bytes > MOST_BYTES {
        wrong.push(format!("it holds {bytes} bytes, more than {MOST_BYTES}"));
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let text = |at: &Path| std::fs::read_to_string(at.join(licence)).unwrap_or_default();
        if text(folder) != text(root) {
            wrong.push(format!("{licence} is not the repository's"));
        }
    }
    let read = |file: &str| {
        std::fs::read_to_string(folder.join(file)).map_err(|error| format!("{}/{file}: {error}", folder.display()))
    };
    wrong.extend(manifest(&read("Cargo.toml")?, &read("README.md")?)?);
    Ok(wrong)
}

fn names(files: &[String]) -> Vec<String> {
    let missing = NEEDED.iter().filter(|needed| !files.iter().any(|file| file == *needed));
    let mut wrong: Vec<String> = missing.map(|needed| format!("{needed} is missing")).collect();
    let allowed = |file: &&String| {
        NEEDED.contains(&file.as_str())
            || ALLOWED.iter().any(|allowed| match allowed.strip_suffix('/') {
                Some(_) => file.starts_with(allowed),
                None => file == allowed,
            })
    };
    wrong.extend(files.iter().filter(|file| !allowed(file)).map(|file| format!("{file} has no place in a package")));
    wrong
}

/// What the packed manifest must tell: as cargo wrote it, with everything inherited filled in.
fn manifest(text: &str, readme: &str) -> Result<Vec<String>, Failure> {
    let manifest: toml::Table = text.parse().map_err(|error| format!("the packed Cargo.toml: {error}"))?;
    let package =
        manifest.get("package").and_then(toml::Value::as_table).ok_or("the packed Cargo.toml has no package")?;
    let mut wrong = Vec::new();
    for field in ["description", "license", "readme", "rust-version"] {
        if package.get(field).and_then(toml::Value::as_str).is_none_or(str::is_empty) {
            wrong.push(format!("Cargo.toml has no {field}"));
        }
    }
    for field in ["keywords", "categories"] {
        let words = package.get(field).and_then(toml::Value::as_array).map_or(0, Vec::len);
        if !(1..=MOST).contains(&words) {
            wrong.push(format!("Cargo.toml has {words} {field}; expected 1 to {MOST}"));
        }
    }
    let keywords = package.get("keywords").and_then(toml::Value::as_array).into_iter().flatten();
    for keyword in keywords.filter_map(toml::Value::as_str).filter(|keyword| keyword.len() > LONGEST_KEYWORD) {
        wrong.push(format!("the keyword `{keyword}` is longer than {LONGEST_KEYWORD} bytes"));
    }
    let features = manifest.get("features").and_then(toml::Value::as_table);
    let features: Vec<&String> =
        features.into_iter().flat_map(toml::Table::keys).filter(|name| *name != "default").collect();
    let docs = package.get("metadata").and_then(|metadata| metadata.get("docs")).and_then(|docs| docs.get("rs"));
    if docs.is_none() && !features.is_empty() {
        wrong.push(
            "Cargo.toml has no [package.metadata.docs.rs], which says with which features the docs are built"
                .to_owned(),
        );
    }
    for feature in features {
        if !readme.lines().any(|line| line.starts_with(&format!("| `{feature}`"))) {
            wrong.push(format!("README.md has no row for the feature `{feature}`"));
        }
    }
    for kind in ["dependencies", "build-dependencies"] {
        let table = manifest.get(kind).and_then(toml::Value::as_table);
        for (name, dependency) in table.into_iter().flatten() {
            if dependency.get("path").is_some() {
                wrong.push(format!("the dependency {name} is a folder of this machine"));
            }
        }
    }
    if !readme.contains("```rust") {
        wrong.push("README.md has no example".to_owned());
    }
    if !readme.contains("```toml\n[dependencies]\n") {
        wrong.push("README.md does not say what to write into [dependencies]".to_owned());
    }
    Ok(wrong)
}

/// Adds every file below `folder` to `found`, as a path from the top; how many bytes they hold.
fn list(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Result<u64, Failure> {
    let cannot = |error: std::io::Error| format!("cannot list {}: {error}", folder.display());
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let metadata = entry.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            bytes += list(&entry.path(), &format!("{name}/"), found)?;
        } else {
            bytes += metadata.len();
            found.push(name);
        }
    }
    found.sort();
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"candor-x\"\ndescription = \"d\"\nlicense = \"MIT\"\nreadme = \"README.md\"\n\
        rust-version = \"1.95\"\nkeywords = [\"a\"]\ncategories = [\"cryptography\"]\n[package.metadata.docs.rs]\nall-features = true\n\
        [features]\ndefault = [\"std\"]\nstd = []\n[dependencies.subtle]\nversion = \"2.6\"\n";
    const README: &str =
        "# x\n```toml\n[dependencies]\ncandor-x = \"0.1\"\n```\n```rust\n```\n| `std` (default) | more |\n";

    fn wrong(from: &str, to: &str) -> Vec<String> {
        assert!(GOOD.contains(from));
        manifest(&GOOD.replacen(from, to, 1), README).unwrap()
    }

    #[test]
    fn a_manifest_tells_the_registry_what_it_asks() {
        assert_eq!(manifest(GOOD, README).unwrap(), Vec::<String>::new());
        assert_eq!(wrong("description = \"d\"", ""), ["Cargo.toml has no description"]);
        assert_eq!(wrong("keywords = [\"a\"]", ""), ["Cargo.toml has 0 keywords; expected 1 to 5"]);
        assert_eq!(wrong("\"a\"", "\"a-keyword-beyond-twenty\"").len(), 1);
        assert_eq!(wrong("std = []\n", "std = []\nmore = []\n"), ["README.md has no row for the feature `more`"]);
        assert_eq!(
            wrong("version = \"2.6\"", "path = \"../y\""),
            ["the dependency subtle is a folder of this machine"]
        );
        assert_eq!(wrong("[package.metadata.docs.rs]", "[package.metadata.other]").len(), 1);
    }

    #[test]
    fn a_readme_has_an_example_and_says_how_to_depend_on_the_crate() {
        assert_eq!(manifest(GOOD, "| `std` |\n```rust\n").unwrap().len(), 1);
        assert_eq!(manifest(GOOD, "| `std` |\n```toml\n[dependencies]\n").unwrap().len(), 1);
    }

    #[test]
    fn a_file_out_of_place_is_found_and_so_is_one_that_is_missing() {
        let mut files: Vec<String> = NEEDED.iter().map(|name| (*name).to_owned()).collect();
        files.push("src/low/x86_64.rs".to_owned());
        assert_eq!(names(&files), Vec::<String>::new());
        files.push("tests/world.rs".to_owned());
        files.remove(2);
        assert_eq!(names(&files), ["LICENSE-APACHE is missing", "tests/world.rs has no place in a package"]);
    }
}
