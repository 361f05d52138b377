//! What the gate needs from the system, put there where that is possible and said where it is not.

use crate::Failure;
use crate::stage::program;
use crate::workspace::cargo;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// One thing that the gate uses and that Debian has as a package.
struct Need {
    /// Names of one package in different releases; the first that the release knows is installed.
    packages: &'static [&'static str],
    /// What it is for.
    why: &'static str,
}

const NEEDS: [Need; 14] = [
    Need { packages: &["gcc"], why: "the C compiler that builds AWS-LC and links every program" },
    Need { packages: &["libc6-dev"], why: "the C library's headers and start files" },
    Need { packages: &["valgrind"], why: "the constant-time check" },
    Need { packages: &["openssh-client"], why: "signatures of run files" },
    // Without the symbols of ld.so some releases' memcheck refuses to start.
    Need { packages: &["libc6-dbg"], why: "the constant-time check (symbols that memcheck asks for)" },
    Need { packages: &["libssl3t64", "libssl3"], why: "OpenSSL as a peer" },
    Need { packages: &["openssl"], why: "keys, signatures and digests both ways with OpenSSL's command" },
    Need { packages: &["python3"], why: "the C library's example in Python" },
    Need { packages: &["procps"], why: "tests that kill the program and its workers (kill, pgrep)" },
    Need { packages: &["util-linux"], why: "the test of a full disk (unshare, mount)" },
    Need { packages: &["iproute2"], why: "the onion network on seven hosts (network namespaces)" },
    Need { packages: &["poppler-utils"], why: "the test that reads the text of figures in PDF (pdftotext)" },
    Need { packages: &["curl"], why: "the proxy's tests with a client that is not ours" },
    Need { packages: &["postgresql"], why: "the login server's tests on PostgreSQL" },
];

const TRIES: u32 = 3;

/// Installs what is missing on a Debian where we are root; elsewhere says what is missing and what that costs.
pub(crate) fn system_packages() -> Result<(), Failure> {
    if !Path::new("/etc/debian_version").exists() {
        println!("not a Debian: nothing is installed here; the gate needs a C compiler, and valgrind for the ct stage");
        return Ok(());
    }
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !need.packages.iter().any(|name| installed(name))).collect();
    if missing.is_empty() {
        println!("all there: {}", NEEDS.map(|need| need.packages[need.packages.len() - 1]).join(", "));
        return Ok(());
    }
    for need in &missing {
        println!("missing: {} for {}", need.packages.join(" or "), need.why);
    }
    if !root() {
        let names: Vec<&str> = missing.iter().map(|need| need.packages[0]).collect();
        println!("not root, so they stay missing; install them with: sudo apt-get install {}", names.join(" "));
        return Ok(());
    }
    quietly(&["update"])?;
    let mut names = Vec::new();
    for need in &missing {
        let name = need.packages.iter().find(|name| known(name));
        names.push(*name.ok_or_else(|| format!("this Debian has no package {}", need.packages.join(" or ")))?);
    }
    println!("installing {}", names.join(", "));
    let mut words = Vec::from(["install", "-y", "--no-install-recommends"]);
    words.extend(names);
    quietly(&words)
}

/// Installs packages that only one stage wants. An error says why they can't be had; that is for the stage to weigh.
pub(crate) fn packages(names: &[&str]) -> Result<(), Failure> {
    let missing: Vec<&str> = names.iter().copied().filter(|name| !installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !Path::new("/etc/debian_version").exists() {
        return Err(format!("not a Debian, and {} are missing", missing.join(", ")));
    }
    if !root() {
        return Err(format!("not root, and these are missing: apt-get install {}", missing.join(" ")));
    }
    println!("installing {}", missing.join(", "));
    quietly(&["update"])?;
    let mut words = Vec::from(["install", "-y", "--no-install-recommends"]);
    words.extend(missing);
    quietly(&words)
}

/// `rustfmt` and `clippy` beside the toolchain, which may have come without them.
pub(crate) fn rust_components() -> Result<(), Failure> {
    for (command, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if silently(cargo().args([command, "--version"])) {
            continue;
        }
        println!("installing the component {component}");
        let output = program("rustup")
            .args(["component", "add", component])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`cargo {command}` is missing and rustup cannot be started: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "`rustup component add {component}` failed:\n{}",
                String::from_utf8_lossy(&output.stderr).trim_end()
            ));
        }
    }
    Ok(())
}

/// Whether the system has the package.
pub(crate) fn installed(package: &str) -> bool {
    let asked = program("dpkg-query").args(["-W", "-f", "${db:Status-Status}", package]).stdin(Stdio::null()).output();
    asked.is_ok_and(|output| output.status.success() && output.stdout == b"installed")
}

fn known(package: &str) -> bool {
    silently(program("apt-cache").args(["show", "--no-all-versions", package]))
}

fn root() -> bool {
    let asked = program("id").arg("-u").stdin(Stdio::null()).output();
    asked.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn silently(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// `apt-get` without a word unless it fails, tried again because mirrors and locks have moods.
fn quietly(words: &[&str]) -> Result<(), Failure> {
    let mut said = String::new();
    for attempt in 1..=TRIES {
        let output = program("apt-get")
            .args(["-q", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2"])
            .args(words)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start apt-get: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if attempt < TRIES {
            println!("apt-get {} failed; trying again", words[0]);
            std::thread::sleep(Duration::from_secs(5 * u64::from(attempt)));
        }
    }
    Err(format!("`apt-get {}` failed {TRIES} times:\n{}", words.join(" "), said.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_does_not_exist_is_not_installed() {
        assert!(!installed("no-such-package-xyz"));
    }
}
