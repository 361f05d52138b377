//! Where a shared object that is loaded at run time may be.

use candor_lab::objects;
use std::env;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Directories that systems keep their libraries in.
const SYSTEM: [&str; 9] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/riscv64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// How deep `target/peers` is searched: `target/peers/openssl-4.0.3/lib64/libcrypto.so.4`.
const DEPTH: usize = 4;

/// Every library of that name (`libcrypto`) there is, once each: what the user names first, then what was built here, then the
/// system's. A process that measures has been told where those are that it needs ([`objects`]), and has no others.
pub(crate) fn libraries(stem: &str) -> Vec<PathBuf> {
    static ALL: OnceLock<Vec<PathBuf>> = OnceLock::new();
    objects::needed(stem).unwrap_or_else(|| of_that_name(ALL.get_or_init(all), stem))
}

/// All libraries, in that order. Folders are looked through once.
fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let named = env::var_os("CANDOR_PEERS").unwrap_or_default();
    for directory in env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()) {
        search(&directory, 0, &mut found);
    }
    for directory in built_here() {
        search(&directory, DEPTH, &mut found);
    }
    for directory in SYSTEM {
        search(Path::new(directory), 0, &mut found);
    }
    found
}

fn of_that_name(all: &[PathBuf], stem: &str) -> Vec<PathBuf> {
    let mut libraries = Vec::new();
    for real in all.iter().filter(|path| is_library(path, stem)).filter_map(|path| path.canonicalize().ok()) {
        // It may be, under another name, one of those taken.
        if !libraries.contains(&real) {
            libraries.push(real);
        }
    }
    libraries
}

/// The path as a run file may have it: what this machine built, from `target/peers` on; what the system has, in full; of anything else only
/// the name, since the folder means nothing elsewhere.
pub(crate) fn shown(path: &Path) -> String {
    let components: Vec<&std::ffi::OsStr> = path.iter().collect();
    if let Some(at) = components.windows(2).rposition(|pair| pair[0] == "target" && pair[1] == "peers") {
        return components[at..].iter().collect::<PathBuf>().display().to_string();
    }
    if SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        return path.display().to_string();
    }
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// `peers` below the build's target directory: that of the working directory, and that of this program.
fn built_here() -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::from("target/peers")];
    if let Ok(program) = env::current_exe() {
        // target/release/candor, or target/release/deps/candor-0123456789abcdef for a test.
        directories.extend(program.ancestors().skip(2).take(2).map(|target| target.join("peers")));
    }
    directories
}

/// A file that `cargo xtask peers` wrote, by its path below `target/peers`.
pub(crate) fn built(file: &str) -> Option<PathBuf> {
    built_here().into_iter().map(|peers| peers.join(file)).find(|path| path.is_file())
}

/// Adds the files of `directory` that may be libraries, in the order of their names, and those `depth` levels down.
fn search(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(DirEntry::file_name);
    for entry in entries {
        let is_directory = || match entry.file_type() {
            Ok(kind) if !kind.is_symlink() => kind.is_dir(),
            _ => entry.path().is_dir(),
        };
        if depth > 0 && is_directory() {
            search(&entry.path(), depth - 1, found);
        } else if entry.file_name().to_string_lossy().contains(".so.") {
            found.push(entry.path());
        }
    }
}

/// `libcrypto.so.3`, not `libcrypto.so` (a link for compilers) and not `libcrypto.so.3.sig`.
fn is_library(path: &Path, stem: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let version = name.and_then(|name| name.strip_prefix(stem)).and_then(|rest| rest.strip_prefix(".so."));
    version.is_some_and(|version| version.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versioned_names_count() {
        assert!(is_library(Path::new("/lib/libcrypto.so.3"), "libcrypto"));
        assert!(is_library(Path::new("/lib/libcrypto.so.1.1"), "libcrypto"));
        for other in
            ["libcrypto.so", "libcrypto.a", "libcrypto.so.3.sig", "libssl.so.3", "libcrypto.so.bak", "libcryptox.so.3"]
        {
            assert!(!is_library(Path::new(other), "libcrypto"), "{other}");
        }
    }

    #[test]
    fn no_path_of_one_machine_gets_into_a_run() {
        let built = ["", "srv", "ada", "target", "peers", "openssl-4", "libcrypto.so.4"].join("/");
        assert_eq!(shown(Path::new(&built)), "target/peers/openssl-4/libcrypto.so.4");
        assert_eq!(
            shown(Path::new("/usr/lib/x86_64-linux-gnu/libcrypto.so.3")),
            "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"
        );
        let named = ["", "srv", "ada", "own", "libcrypto.so.3"].join("/");
        assert_eq!(shown(Path::new(&named)), "libcrypto.so.3");
    }

    #[test]
    fn a_library_with_two_names_is_found_once() {
        let directory = env::temp_dir().join(format!("candor-find-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("libcrypto.so.9"), b"not a library").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("libcrypto.so.9", directory.join("libcrypto.so.9.1")).unwrap();
        fs::create_dir(directory.join("below")).unwrap();
        fs::write(directory.join("below/libcrypto.so.8"), b"not a library either").unwrap();
        let found = |depth| {
            let mut found = Vec::new();
            search(&directory, depth, &mut found);
            of_that_name(&found, "libcrypto").len()
        };
        let (beside, below) = (found(0), found(1));
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!((beside, below), (1, 2));
    }
}
