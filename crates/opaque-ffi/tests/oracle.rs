//! An implementation that shares no code with ours: `oracles/opaque-js`, on the libraries of `@noble`, as client and as server, in all suites.

mod peer;

use candor_opaque::{Client, Rfc9807};
use candor_test_support::c_abi::skipped;
use peer::{Peer, WITHOUT_CONTEXT, both_ways, in_every_suite};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The files of the oracle.
const FILES: [&str; 8] = [
    "package.json",
    "package-lock.json",
    "lines.js",
    "opaque.js",
    "peer.js",
    "primitives.js",
    "serenity.js",
    "vectors.js",
];

/// The oracle with the packages that it needs, in a folder below `target`; or why there is none.
static ORACLE: LazyLock<Result<PathBuf, String>> = LazyLock::new(installed);

fn installed() -> Result<PathBuf, String> {
    let version = Command::new("node").arg("--version").output().map_err(|_| "node is missing")?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|number| number.parse::<u32>().ok());
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (20, 19) {
        return Err(format!("node is {version}; the oracle's packages need 20.19"));
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../oracles/opaque-js");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opaque-js");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let done = folder.join("installed.json");
    let lock = std::fs::read(source.join("package-lock.json")).expect("the oracle has a lock file");
    for file in FILES {
        std::fs::copy(source.join(file), folder.join(file)).expect("target can be written");
    }
    if std::fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(folder);
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&folder);
    let output = npm.output().map_err(|_| "npm is missing")?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("npm can't install the oracle's packages: {}", errors.lines().next().unwrap_or_default()));
    }
    std::fs::write(done, lock).expect("target can be written");
    Ok(folder)
}

fn oracle() -> Option<&'static Path> {
    match &*ORACLE {
        Ok(folder) => Some(folder),
        Err(why) => {
            skipped(why);
            None
        }
    }
}

/// RFC 9807's vectors, and our own of the hybrids (`vectors/SOURCES.toml` says where they come from).
#[test]
fn the_oracle_gives_the_answers_of_the_vectors() {
    let Some(folder) = oracle() else { return };
    for (file, said) in [("opaque-rfc9807.json", "3 vectors agree\n"), ("opaque-hybrid.json", "5 vectors agree\n")] {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
        let output = Command::new("node").arg("vectors.js").arg(vectors).current_dir(folder).output().expect("node");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), said, "{file}: {errors}");
    }
}

#[test]
fn the_oracle_and_ours_log_in_to_each_other() {
    let Some(folder) = oracle() else { return };
    let start = |role: &str, suite: u32, key: &[u8]| {
        Peer::start(Command::new("node").arg("peer.js").current_dir(folder), role, suite, key)
    };
    in_every_suite(start);
}

/// serenity-kit's library, which is opaque-ke in WebAssembly, with Argon2id of the parameters that we name. It knows no context and no hybrid.
#[test]
fn serenity_kits_library_and_ours_log_in_to_each_other() {
    let Some(folder) = oracle() else { return };
    let start = |role: &str, suite: u32, key: &[u8]| {
        Peer::start(Command::new("node").arg("serenity.js").current_dir(folder), role, suite, key)
    };
    both_ways::<Rfc9807>(start, |_| Client::default(), &WITHOUT_CONTEXT);
}
