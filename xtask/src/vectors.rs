//! `cargo xtask vectors`: checks that `vectors/SOURCES.toml` gives the source, the licence and the checksum of every test vector.

use crate::Failure;
use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;

const SOURCES: &str = "SOURCES.toml";

/// An entry of SOURCES.toml.
struct Source {
    path: String,
    sha256: String,
}

/// Checks `vectors/` under `root` and returns how many files it holds. Every file is listed, every listed file is there, and
/// the digests match.
///
/// # Errors
/// Everything that is wrong, one line each.
pub(crate) fn check(root: &Path) -> Result<usize, Failure> {
    let folder = root.join("vectors");
    let text = std::fs::read_to_string(folder.join(SOURCES))
        .map_err(|error| format!("cannot read vectors/{SOURCES}: {error}"))?;
    let sources = parse(&text)?;
    let mut wrong = Vec::new();

    let mut listed = BTreeSet::new();
    for source in &sources {
        if !listed.insert(source.path.clone()) {
            wrong.push(format!("vectors/{} is listed twice", source.path));
        }
        match std::fs::read(folder.join(&source.path)) {
            Ok(bytes) if encode_string(&Sha256::digest(&bytes)) == source.sha256 => {}
            Ok(bytes) => wrong.push(format!(
                "vectors/{}: its SHA-256 is {}, but {SOURCES} says {}; was the file edited, or is the list out of date?",
                source.path,
                encode_string(&Sha256::digest(&bytes)),
                source.sha256
            )),
            Err(error) => wrong.push(format!("vectors/{} is listed but cannot be read: {error}", source.path)),
        }
    }
    for path in files(&folder, "")? {
        if path != SOURCES && !listed.contains(&path) {
            wrong
                .push(format!("vectors/{path} is not listed in {SOURCES}: add an entry that says where it comes from"));
        }
    }
    if wrong.is_empty() { Ok(sources.len()) } else { Err(wrong.join("\n")) }
}

fn parse(text: &str) -> Result<Vec<Source>, Failure> {
    let table: toml::Table = text.parse().map_err(|error| format!("vectors/{SOURCES}: {error}"))?;
    let none = Vec::new();
    let list = table.get("file").map_or(Some(&none), toml::Value::as_array);
    let mut sources = Vec::new();
    for (at, entry) in list.ok_or_else(|| format!("vectors/{SOURCES}: `file` is not a list"))?.iter().enumerate() {
        let field = |name: &str| {
            let value = entry.get(name).and_then(toml::Value::as_str).map(str::trim).unwrap_or_default();
            if value.is_empty() {
                Err(format!("vectors/{SOURCES}: file {} has no `{name}`", at + 1))
            } else {
                Ok(value)
            }
        };
        field("source")?;
        field("licence")?;
        let path = field("path")?;
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err(format!("vectors/{SOURCES}: `{path}` leads out of vectors/"));
        }
        sources.push(Source { path: path.to_owned(), sha256: field("sha256")?.to_ascii_lowercase() });
    }
    Ok(sources)
}

/// All files below `folder`, as paths from it.
fn files(folder: &Path, prefix: &str) -> Result<Vec<String>, Failure> {
    let cannot = |error: std::io::Error| format!("cannot list {}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(cannot)?.is_dir() {
            found.extend(files(&entry.path(), &format!("{path}/"))?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// SHA-256 of "abc", from FIPS 180-4.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    /// A root of its own with these files in `vectors/`, gone when dropped.
    struct Root(PathBuf);

    impl Root {
        fn with(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("candor-vectors-{}-{name}", std::process::id()));
            for (path, content) in files {
                let path = root.join("vectors").join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn entry(path: &str, sha256: &str) -> String {
        format!("[[file]]\npath = \"{path}\"\nsource = \"s\"\nlicence = \"l\"\nsha256 = \"{sha256}\"\n")
    }

    #[test]
    fn a_complete_list_passes_and_is_counted() {
        let list = entry("a.txt", ABC) + &entry("deep/b.txt", &ABC.to_uppercase());
        let root = Root::with("good", &[("a.txt", "abc"), ("deep/b.txt", "abc"), (SOURCES, &list)]);
        assert_eq!(check(&root.0), Ok(2));
    }

    #[test]
    fn an_edited_file_is_found() {
        let root = Root::with("edited", &[("a.txt", "abd"), (SOURCES, &entry("a.txt", ABC))]);
        assert!(check(&root.0).unwrap_err().contains("was the file edited"));
    }

    #[test]
    fn a_missing_file_is_found() {
        let root = Root::with("missing", &[(SOURCES, &entry("a.txt", ABC))]);
        assert!(check(&root.0).unwrap_err().contains("a.txt is listed but cannot be read"));
    }

    #[test]
    fn a_file_that_nobody_listed_is_found_in_folders_too() {
        let root = Root::with("extra", &[("deep/b.txt", "abc"), (SOURCES, "")]);
        assert!(check(&root.0).unwrap_err().contains("deep/b.txt is not listed"));
    }

    #[test]
    fn a_file_listed_twice_is_found() {
        let list = entry("a.txt", ABC).repeat(2);
        let root = Root::with("twice", &[("a.txt", "abc"), (SOURCES, &list)]);
        assert!(check(&root.0).unwrap_err().contains("twice"));
    }

    #[test]
    fn an_entry_without_source_or_licence_or_with_a_path_outside_is_refused() {
        assert!(
            parse("[[file]]\npath = \"a\"\nlicence = \"l\"\nsha256 = \"0\"").is_err_and(|why| why.contains("source"))
        );
        assert!(
            parse("[[file]]\npath = \"a\"\nsource = \"s\"\nlicence = \" \"").is_err_and(|why| why.contains("licence"))
        );
        assert!(parse(&entry("../a", ABC)).is_err_and(|why| why.contains("leads out")));
        assert!(parse("file = 3").is_err());
        assert!(parse("not toml").is_err());
    }

    #[test]
    fn no_list_at_all_is_an_error() {
        let root = Root::with("none", &[("a.txt", "abc")]);
        assert!(check(&root.0).unwrap_err().contains(SOURCES));
    }

    #[test]
    fn our_own_vectors_pass() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(check(root).unwrap() >= 3);
    }
}
