//! Tells the program what it was built from: commit, whether the tree was clean, the digest of Cargo.lock and whether it is the commit's, compiler, profile.

use sha2::{Digest, Sha256};
use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // A build from a source archive has no repository: then the commit stays unknown.
    let mut of = "commit unknown".to_owned();
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=CANDOR_COMMIT={commit}");
        let changes = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
        println!("cargo::rustc-env=CANDOR_DIRTY={}", !changes.is_empty());
        of = format!("commit {commit}{}", if changes.is_empty() { "" } else { " and changes" });
    }
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        for file in ["HEAD", "index", "logs/HEAD"] {
            println!("cargo::rerun-if-changed={directory}/{file}");
        }
    }
    lock();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo::rustc-env=CANDOR_RUSTC={version}");
    let package = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=CANDOR_LONG_VERSION={package} ({of}, {version})");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    println!(
        "cargo::rustc-env=CANDOR_BUILD={} opt-level={} {} {flags}",
        variable("PROFILE"),
        variable("OPT_LEVEL"),
        variable("TARGET"),
    );
}

/// The digest of Cargo.lock, by which cargo chose the libraries, and whether the commit has another one. `cargo install` without `--locked` looks at no
/// Cargo.lock at all, and no build script can see that: the README says `--locked`.
fn lock() {
    const FILE: &str = "../../Cargo.lock";
    println!("cargo::rerun-if-changed={FILE}");
    let Ok(lock) = std::fs::read(FILE) else { return };
    let committed = Command::new("git").args(["show", "HEAD:./../../Cargo.lock"]).output().ok();
    let committed = committed.filter(|output| output.status.success()).map(|output| output.stdout);
    let differs = if committed.is_some_and(|committed| committed != lock) { " differs" } else { "" };
    let digest: String = Sha256::digest(lock).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=CANDOR_LOCK={digest}{differs}");
}
