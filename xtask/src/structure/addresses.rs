//! Text that is useless elsewhere: host names of package registries and mirrors, and absolute paths of one machine.
//!
//! A registry's address does not say which package was meant, and a mirror may disappear: a Rust package is written "package NAME VERSION,
//! sha256 …", and Debian's archive is read from the machine's own apt sources. Paths below somebody's home lead nowhere elsewhere.

use super::Violation;
use std::collections::BTreeSet;

/// Registries, their downloads, and archives of distributions, in lower case.
const HOSTS: [&str; 30] = [
    "crates.io",
    "static.rust-lang.org",
    "registry+",
    "sparse+",
    "deb.debian.org",
    "security.debian.org",
    "snapshot.debian.org",
    "ftp.debian.org",
    "archive.debian.org",
    "archive.ubuntu.com",
    "ports.ubuntu.com",
    "dl-cdn.alpinelinux.org",
    "mirrors.kernel.org",
    "pypi.org",
    "pypi.python.org",
    "pythonhosted.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "deb.nodesource.com",
    "proxy.golang.org",
    "sum.golang.org",
    "rubygems.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "conda.anaconda.org",
    "formulae.brew.sh",
    "registry-1.docker.io",
    "ghcr.io",
    "quay.io",
    "packages.cloud.google.com",
];

/// Where machines keep what is theirs alone. Each begins an absolute path if no path or address stands before it.
const ROOTS: [&str; 11] = [
    "/root/",
    "/home/",
    "/users/",
    "/work/",
    "/workspace/",
    "/workspaces/",
    "/builds/",
    "/mnt/",
    "/media/",
    "/srv/",
    "c:\\users\\",
];

/// Files that may hold such a name, and why.
const EXCEPTIONS: [(&str, &str); 1] = [("xtask/src/structure/addresses.rs", "the list itself")];

/// Runs sealed before the rule. They can't be mended without breaking the seal; each leaves when its bar gets a newer run.
const SEALED: [&str; 12] = [
    "2026-11-21-zen5-1d3043",
    "2026-11-21-zen5-4830bc",
    "2026-11-21-zen5-6226ff",
    "2026-11-21-zen5-6c2ca4",
    "2026-11-21-zen5-7a4ce5",
    "2026-11-21-zen5-8d66d2",
    "2026-11-21-zen5-ae3fcc",
    "2026-11-21-zen5-b63838",
    "2026-11-21-zen5-e2b451",
    "2026-11-21-zen5-f69f90",
    "2026-11-21-zen5-f8bcc8",
    "2026-11-21-zen5-fb9a82",
];

/// An exception for a run that is gone.
pub(crate) fn check_exceptions(runs: &BTreeSet<String>) -> Vec<Violation> {
    // A tree without runs is one of the tests'.
    let gone = SEALED.iter().filter(|run| !runs.is_empty() && !runs.contains(**run));
    gone.map(|run| {
        Violation::new(EXCEPTIONS[0].0, 1, format!("SEALED excuses {run}, which is gone: take it off the list"))
    })
    .collect()
}

/// At most one violation per line. Files that are not text are skipped.
pub(crate) fn check(file: &str, bytes: &[u8]) -> Vec<Violation> {
    if is_exempt(file) {
        return Vec::new();
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    text.lines().enumerate().filter_map(|(index, line)| Some(Violation::new(file, index + 1, fault(line)?))).collect()
}

fn is_exempt(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    // Package managers write these, with the registry in each entry.
    let lock = name.ends_with(".lock") || matches!(name, "package-lock.json" | "pnpm-lock.yaml");
    let run = file.strip_prefix("runs/").and_then(|name| name.strip_suffix(".jsonl"));
    lock || run.is_some_and(|run| SEALED.contains(&run)) || EXCEPTIONS.iter().any(|(exempt, _)| *exempt == file)
}

fn fault(line: &str) -> Option<String> {
    let line = line.to_ascii_lowercase();
    if let Some(host) = HOSTS.iter().find(|host| names_host(&line, host)) {
        return Some(format!(
            "`{host}` belongs to a package registry or mirror: write \"package NAME VERSION, sha256 …\", or read the mirror from the \
             machine's own configuration"
        ));
    }
    let root = ROOTS.iter().find(|root| begins_path(&line, root))?;
    Some(format!("an absolute path of one machine (`{root}…`): write it from the root of the repository"))
}

/// Whether the host stands there whole: neither the end of a longer label nor the start of one.
fn names_host(line: &str, host: &str) -> bool {
    let label = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let whole = |at: usize| {
        let open_ended = host.ends_with('+');
        !line[..at].ends_with(label) && (open_ended || !line[at + host.len()..].starts_with(label))
    };
    line.match_indices(host).any(|(at, _)| whole(at))
}

/// A path begins there, with something after the root.
fn begins_path(line: &str, root: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '~' | '}' | '>' | ')');
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    line.match_indices(root).any(|(at, _)| {
        let before = &line[..at];
        (before.ends_with("file://") || !before.ends_with(inside)) && line[at + root.len()..].starts_with(named)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> usize {
        check("docs/a.md", text.as_bytes()).len()
    }

    #[test]
    fn registries_and_mirrors_are_found() {
        for line in [
            "fetched from https://static.crates.io/crates/x",
            "commit = \"crates.io sha2 0.11.0\"",
            "URIs: http://Deb.Debian.org/debian",
            "source = \"registry+https://example\"",
            "npm --registry=https://registry.npmjs.org",
        ] {
            assert_eq!(faults(line), 1, "{line}");
        }
        for line in
            ["package sha2 0.11.0, sha256 00", "https://www.rfc-editor.org/rfc/rfc9807", "mycrates.io-like", "ghcr.iox"]
        {
            assert_eq!(faults(line), 0, "{line}");
        }
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for line in
            ["see /home/ada/candor", "\"/work/main/target\"", "D=/root/x", "C:\\Users\\ada", "file:///Users/ada/x"]
        {
            assert_eq!(faults(line), 1, "{line}");
        }
        for line in [
            "/usr/lib/libcrypto.so.3",
            "https://example.org/home/page",
            "crates/work/src",
            "the /work/ folder",
            "/var/lib/x",
        ] {
            assert_eq!(faults(line), 0, "{line}");
        }
    }

    #[test]
    fn lock_files_and_sealed_runs_are_left_alone_and_others_are_not() {
        let text = b"registry+https://x and /home/ada/x";
        for file in ["Cargo.lock", "fuzz/Cargo.lock", "web/package-lock.json", "runs/2026-11-21-zen5-f69f90.jsonl"] {
            assert!(check(file, text).is_empty(), "{file}");
        }
        for file in ["Cargo.toml", "runs/2026-11-21-zen5-000000.jsonl", "xtask/src/qemu.rs"] {
            assert_eq!(check(file, text).len(), 1, "{file}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_skipped() {
        assert!(check("vectors/a.bin", b"\xff crates.io").is_empty());
    }
}
