//! OpenSSL's program: the one that `CANDOR_OPENSSL` names, as tests take it, the one that was built beside OpenSSL 4's library, and that of a shell.

use super::OPENSSL;
use crate::contract::file_hash::{self, Program, TIMED};
use crate::program;
use crate::shared_object::find;
use candor_lab::{Entry, Provenance, Refusal, objects};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const HOW: &str = "install it (Debian: apt install openssl), or name one in CANDOR_OPENSSL";

struct Found {
    path: PathBuf,
    libraries: Option<PathBuf>,
    /// Of the library that does the work, or why the program is of no use.
    version: Result<String, String>,
}

static FOUND: LazyLock<Vec<Found>> = LazyLock::new(|| {
    let named = env::var_os("CANDOR_OPENSSL").map(PathBuf::from);
    let paths = named.into_iter().chain(find::built("openssl-4/apps/openssl")).chain(program::on_path("openssl"));
    let mut found: Vec<Found> = Vec::new();
    for path in paths.filter_map(|path| path.canonicalize().ok()) {
        if found.iter().all(|known| known.path != path) {
            let libraries = libraries(&path);
            let said = program::says(&path, "version", libraries.as_deref()).unwrap_or_default();
            found.push(Found { path, libraries, version: version(&said) });
        }
    }
    found
});

/// The directory of the libraries of a program that lies where it was built, in `apps`.
fn libraries(program: &Path) -> Option<PathBuf> {
    let built = program.parent().filter(|apps| apps.ends_with("apps"))?.parent()?;
    let mut files = fs::read_dir(built).ok()?.flatten();
    files.any(|file| file.file_name().to_string_lossy().starts_with("libcrypto.so.")).then(|| built.to_owned())
}

/// From what `openssl version` prints: `OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)`.
fn version(said: &str) -> Result<String, String> {
    let library = said.split_once("(Library: ").map_or(said, |(_, library)| library);
    let version = library.strip_prefix("OpenSSL ").and_then(|rest| rest.split_whitespace().next());
    version.map(str::to_owned).ok_or_else(|| format!("openssl says {said:?}; expected OpenSSL's version"))
}

/// `openssl dgst` on a file.
pub(super) fn file_sha256(bytes: u64) -> Vec<Entry> {
    if FOUND.is_empty() {
        return vec![Entry::refused(OPENSSL, Refusal::new(format!("is not on this machine: {HOW}")))];
    }
    let mut names: Vec<String> = Vec::new();
    let entries = FOUND.iter().map(|found| {
        let version = found.version.as_deref().unwrap_or_default();
        let name = if version.is_empty() { OPENSSL.to_owned() } else { format!("{OPENSSL}-{version}+dgst") };
        // A second program of the same version.
        let copies = names.iter().filter(|known| **known == name).count();
        names.push(name.clone());
        let name = if copies == 0 { name } else { format!("{name}+{}", copies + 1) };
        match &found.version {
            Ok(_) => file_hash::entry(name, bytes, move || Ok(found.program())),
            Err(reason) => Entry::refused(name, Refusal::new(reason.clone())),
        }
    });
    entries.collect()
}

impl Found {
    fn program(&self) -> Program {
        let version = self.version.as_deref().unwrap_or_default();
        let provenance = Provenance {
            build: Some(format!("as found in {}", find::shown(&self.path))),
            object_sha256: objects::sha256(&self.path),
            ..Provenance::of(OPENSSL, version, &format!("{TIMED} (openssl dgst -sha256 -r)"))
        };
        let arguments = ["dgst", "-sha256", "-r"].map(Into::into).into();
        Program { path: self.path.clone(), arguments, libraries: self.libraries.clone(), provenance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_library_and_another_program_is_none() {
        let of = |said: &str| version(said);
        assert_eq!(of("OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)").unwrap(), "3.0.19");
        assert_eq!(of("OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 4.0.3 3 Nov 2026)").unwrap(), "4.0.3");
        assert_eq!(of("OpenSSL 1.1.1w  11 Sep 2023").unwrap(), "1.1.1w");
        for other in ["LibreSSL 3.8.2", "", "OpenSSL "] {
            assert!(of(other).unwrap_err().contains("expected OpenSSL's version"), "{other}");
        }
    }

    #[test]
    fn only_a_program_where_it_was_built_finds_its_libraries_beside_it() {
        let root = env::temp_dir().join(format!("candor-openssl-{}", std::process::id()));
        fs::create_dir_all(root.join("apps")).unwrap();
        let without = libraries(&root.join("apps/openssl"));
        fs::write(root.join("libcrypto.so.4"), "").unwrap();
        let (with, elsewhere) = (libraries(&root.join("apps/openssl")), libraries(&root.join("bin/openssl")));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!((without, with, elsewhere), (None, Some(root), None));
    }
}
