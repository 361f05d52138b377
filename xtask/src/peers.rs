//! `cargo xtask peers NAME`: other people's programs that no package manager has ready, fetched and built into
//! `target/peers`.
//!
//! | name | what it is | what finds it there |
//! |---|---|---|
//! | `liboqs` | the KEM library of pq-ntor-experiment | the subjects `liboqs-…`, which load it at run time |
//! | `openssl-4` | OpenSSL 4 beside the system's own; perl and make build it | the subjects `openssl-4…`, which load it at run time |
//! | `gf2x` | gf2x as Debian builds it, gf2x tuned here, and NTL on the tuned one | the subjects `gf2x-…`, `ntl-…` |
//! | `tor` | C tor's own bench program; it is run, too | `candor report --claims target/peers/tor/claims.toml` |
//!
//! Nothing is installed. What a build leaves behind is below `target/peers` and goes with it.

mod cargo_package;
pub(crate) mod debian;
mod gf2x;
mod liboqs;
mod ntl;
mod openssl;
mod tor;

use crate::Failure;
use crate::stage::{stream, stream_to};
use crate::workspace::Workspace;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::{Command, Output};

const NAMES: &str = "gf2x, liboqs, openssl-4, tor";

/// Builds the peers named.
///
/// # Errors
/// A name that is not known, or the first step that could not be done.
pub(crate) fn run(names: &[String]) -> Result<bool, Failure> {
    if names.is_empty() {
        return Err(format!("`peers` takes one or more names: {NAMES}"));
    }
    let known = |name: &String| ["gf2x", "liboqs", "openssl-4", "tor"].contains(&name.as_str());
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        return Err(format!("there is no peer `{unknown}` to build; there are {NAMES}"));
    }
    let peers = Workspace::here()?.target.join("peers");
    for name in names {
        match name.as_str() {
            "gf2x" => gf2x::build(&peers)?,
            "liboqs" => liboqs::build(&peers)?,
            "openssl-4" => openssl::build(&peers)?,
            _ => tor::build(&peers)?,
        }
    }
    Ok(true)
}

/// Runs a step and shows what it says.
fn step(what: &str, command: Command) -> Result<(), Failure> {
    println!("{what}");
    match stream(command, |_| ())? {
        true => Ok(()),
        false => Err(format!("{what}: failed, see above")),
    }
}

/// Runs a step quietly and returns what it printed on standard output. If it fails, the error has its last lines.
pub(crate) fn quiet_step(what: &str, command: Command) -> Result<String, Failure> {
    output_of(what, command).map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The same for a program that prints its results on standard error: returns standard output followed by standard error.
fn quiet_step_both(what: &str, command: Command) -> Result<String, Failure> {
    output_of(what, command).map(|output| everything(&output))
}

fn output_of(what: &str, mut command: Command) -> Result<Output, Failure> {
    println!("{what}");
    let output = command.output().map_err(|error| format!("{what}: cannot start: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let all = everything(&output);
    let lines: Vec<&str> = all.lines().collect();
    Err(format!("{what}: failed:\n{}", lines[lines.len().saturating_sub(20)..].join("\n")))
}

fn everything(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a long step and says after each tenth of its `total` lines that `counts` how far it is; all its lines only if it fails.
fn counted_step(what: &str, command: Command, total: usize, counts: fn(&str) -> bool) -> Result<(), Failure> {
    println!("{what} (0 of {total})");
    let (mut done, mut said, mut last) = (0, 0, Vec::new());
    let ok = stream_to(&mut std::io::sink(), command, |line| {
        done += usize::from(counts(line));
        if done * 10 > (said + 1) * total.max(1) - 1 {
            said = done * 10 / total.max(1);
            println!("{what} ({done} of {total})");
        }
        last.push(line.to_owned());
    })?;
    match ok {
        true => Ok(()),
        false => Err(format!("{what}: failed:\n{}", last[last.len().saturating_sub(20)..].join("\n"))),
    }
}

pub(crate) fn make_directory(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes `PROVENANCE` into `folder`, beside the library: a field a line. The subjects take from it what the library does not tell.
fn write_provenance(folder: &Path, fields: &[(&str, &str)]) -> Result<(), Failure> {
    let text: String = fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    write(&folder.join("PROVENANCE"), &text)
}

/// The first line of `cc --version`.
fn compiler() -> String {
    let said = crate::stage::program("cc").arg("--version").output().ok();
    let said = said.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    said.lines().next().unwrap_or("an unknown C compiler").to_owned()
}

/// The CPU's name as the lab has it.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.map(|rest| rest.trim_start_matches([' ', '\t', ':']).trim().to_owned()).unwrap_or_default()
}

/// Today, as `date -I` has it.
fn today() -> String {
    let said = crate::stage::program("date").args(["-u", "-I"]).output().ok();
    said.map_or_else(String::new, |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Fails unless the file has this SHA-256, in hex.
fn check_digest(file: &Path, expected: &str) -> Result<(), Failure> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let found: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    match found == expected {
        true => Ok(()),
        false => Err(format!("{} has SHA-256 {found}, not the {expected} that is expected", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_peer_is_named_before_anything_is_built() {
        let why = run(&["liboqs".into(), "libops".into()]).unwrap_err();
        assert!(why.contains("`libops`") && why.contains(NAMES), "{why}");
        assert!(run(&[]).unwrap_err().contains(NAMES));
    }
}
