//! `cargo xtask peers NAME`: other people's programs that no package manager has ready, fetched and built into
//! `target/peers`.
//!
//! | name | what it is | what finds it there |
//! |---|---|---|
//! | `liboqs` | the KEM library of pq-ntor-experiment | the subjects `liboqs-…`, which load it at run time |
//! | `openssl-4` | OpenSSL 4 beside the system's own; perl and make build it | the subjects `openssl-4…`, which load it at run time |
//! | `gmsm` | gmsm, SM2 in Go, behind functions for C | the subjects `gmsm-…`, which load it at run time |
//! | `gmssl` | GmSSL 3.1.1 | the subjects `gmssl-…`, which load it at run time |
//! | `tongsuo` | Tongsuo, a fork of OpenSSL; perl and make build it | the subjects `tongsuo-…`, which load it at run time |
//! | `ipsec-mb` | Intel's Multi-Buffer Crypto for IPsec, from Debian's newer release, behind a shim | the subjects `ipsec-mb-…`, which load it at run time |
//! | `gf2x` | gf2x as Debian builds it, gf2x tuned here, and NTL on the tuned one | the subjects `gf2x-…`, `ntl-…` |
//! | `lib25519` | lib25519, from Debian's newer release | the subjects `lib25519-…`, which load it at run time |
//! | `libgcrypt` | libgcrypt 1.11 beside the system's own, from Debian's newer release | the subjects `libgcrypt-1.11…`, which load it at run time |
//! | `libmceliece` | libmceliece, from Debian's newer release | the subjects `libmceliece-…`, which load it at run time |
//! | `libsodium` | libsodium as it is, beside the system's own, and with memory that Argon2 keeps | the subjects `libsodium-…`, which load it at run time |
//! | `pqclean` | PQClean's Classic McEliece and round-4 HQC, the latter at each level of optimisation | the subjects `pqclean-…`, which load it at run time |
//! | `tor` | C tor's own bench program, which is run, too; and its ntor | `candor report --claims=target/peers/tor/claims.toml`; the subjects `tor-…`, which load it at run time |
//!
//! `all` builds every one of them; one that can't be built stops none of the others and is named at the end. Nothing is installed. What a build leaves behind is below `target/peers` and goes with it.

mod binary;
mod cargo_package;
pub(crate) mod debian;
mod gf2x;
mod gmsm;
mod gmssl;
mod ipsec_mb;
mod libgcrypt;
mod liboqs;
mod libsodium;
mod newer;
mod ntl;
mod openssl;
mod pqclean;
mod randomness;
mod tor;

use crate::Failure;
use crate::stage::{stream, stream_to};
use crate::tally::Tally;
use crate::workspace::Workspace;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::{Command, Output};

const NAMES: [&str; 13] = [
    "gf2x",
    "gmsm",
    "gmssl",
    "ipsec-mb",
    "lib25519",
    "libgcrypt",
    "libmceliece",
    "liboqs",
    "libsodium",
    "openssl-4",
    "pqclean",
    "tongsuo",
    "tor",
];

/// Debian's packages that the recipes need before they compile anything.
pub(crate) const PACKAGES: [&str; 6] = ["make", "perl", "g++", "cmake", "xz-utils", "bzip2"];

/// How far a recipe is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Everything before the minutes of compiling: fetch, verify digests, unpack, configure, look for what later steps rely on.
    Check,
    /// All of it.
    Build,
}

/// The word for every peer.
const ALL: &str = "all";

/// Builds the peers named; with `--check`, goes through their recipes without compiling (all of them if none is named).
///
/// # Errors
/// A name that is not known, or those that could not be built, each with its reason.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let (options, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    if let Some(unknown) = options.iter().find(|option| **option != "--check") {
        return Err(format!("`peers` has no option `{unknown}`; it has `--check`"));
    }
    let mut names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    if let Some(unknown) = names.iter().find(|name| !NAMES.contains(name) && **name != ALL) {
        return Err(format!("there is no peer `{unknown}` to build; there are {}, or {ALL}", NAMES.join(", ")));
    }
    let extent = if options.is_empty() { Extent::Build } else { Extent::Check };
    if names.is_empty() {
        if extent == Extent::Build {
            return Err(format!("`peers` takes one or more names: {}, or {ALL}", NAMES.join(", ")));
        }
        names.push(ALL);
    }
    if names.contains(&ALL) {
        names = NAMES.to_vec();
    }
    let target = Workspace::here()?.target;
    each(&names, |name| carry_out(&target, name, extent)).map(|()| true)
}

/// Does something with every peer, whatever became of those before it.
///
/// # Errors
/// Those with which it could not be done.
fn each(names: &[&str], mut work: impl FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    let failed: Vec<String> =
        names.iter().filter_map(|name| work(name).err().map(|why| format!("{name}: {why}"))).collect();
    match failed.len() {
        0 => Ok(()),
        n => Err(format!("{n} of {} peers could not be built:\n{}", names.len(), failed.join("\n"))),
    }
}

/// Checks every recipe; one line a peer in the tally. A recipe that this machine lacks the tools for is skipped.
pub(crate) fn check_all(target: &Path, tally: &mut Tally) {
    for name in NAMES {
        let tools: Vec<_> =
            needs(name).iter().filter(|(tool, _)| !is_there(tool)).map(|(_, package)| *package).collect();
        let recipe = format!("recipe of the peer {name}");
        if !tools.is_empty() {
            tally.skip(&recipe, &format!("missing tools: apt-get install {}", tools.join(" ")));
        } else if let Some(why) = (name == "gmsm").then(gmsm::go_is_too_old).flatten() {
            tally.skip(&recipe, &why);
        } else {
            tally.check(&recipe, carry_out(target, name, Extent::Check).map(|()| true));
        }
    }
}

/// The tools of a recipe, each with the Debian package that has it.
fn needs(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "gf2x" => &[
            ("apt-get", "apt"),
            ("dpkg", "dpkg"),
            ("make", "make"),
            ("perl", "perl"),
            ("g++", "g++"),
            ("xz", "xz-utils"),
        ],
        "libgcrypt" => &[("apt-get", "apt"), ("dpkg", "dpkg"), ("make", "make"), ("bzip2", "bzip2")],
        "gmsm" => &[("go", "golang-go"), ("cc", "gcc")],
        "gmssl" => &[("cmake", "cmake"), ("make", "make"), ("tar", "tar")],
        "ipsec-mb" | "lib25519" | "libmceliece" => &[("apt-get", "apt"), ("dpkg", "dpkg"), ("cc", "gcc")],
        "libsodium" => &[("make", "make"), ("cc", "gcc"), ("tar", "tar")],
        "liboqs" => &[("cmake", "cmake"), ("make", "make")],
        "openssl-4" | "tongsuo" => &[("make", "make"), ("perl", "perl")],
        "pqclean" => &[("cc", "gcc"), ("objcopy", "binutils"), ("tar", "tar")],
        _ => &[("apt-get", "apt"), ("dpkg", "dpkg"), ("make", "make")],
    }
}

fn is_there(tool: &str) -> bool {
    crate::stage::program(tool).arg("--version").output().is_ok()
}

fn carry_out(target: &Path, name: &str, extent: Extent) -> Result<(), Failure> {
    if let Some((tool, package)) = needs(name).iter().find(|(tool, _)| !is_there(tool)) {
        return Err(format!("building {name} needs {tool}: apt-get install {package}"));
    }
    // A check must not disturb what has been built, and nobody may load what it leaves behind.
    let peers = target.join(if extent == Extent::Check { "peers-check" } else { "peers" });
    make_directory(&peers)?;
    let peers = peers.canonicalize().map_err(|error| format!("{}: {error}", peers.display()))?;
    match name {
        "gf2x" => gf2x::build(&peers, extent),
        "gmsm" => gmsm::build(&peers, extent),
        "gmssl" => gmssl::build(&peers, extent),
        "ipsec-mb" => ipsec_mb::build(&peers, extent),
        "lib25519" => binary::LIB25519.build(&peers, extent),
        "libgcrypt" => libgcrypt::build(&peers, extent),
        "libmceliece" => binary::LIBMCELIECE.build(&peers, extent),
        "liboqs" => liboqs::build(&peers, extent),
        "libsodium" => libsodium::build(&peers, extent),
        "openssl-4" => openssl::OPENSSL_4.build(&peers, extent),
        "pqclean" => pqclean::build(&peers, extent),
        "tongsuo" => openssl::TONGSUO.build(&peers, extent),
        _ => tor::build(&peers, extent),
    }?;
    if extent == Extent::Check {
        println!("{name}: the recipe holds up to compiling");
    }
    Ok(())
}

/// Fails unless `text`, the file `name`, still contains every one of `wanted`: what a later step of a recipe relies on.
fn expect_in(name: &str, text: &str, wanted: &[&str]) -> Result<(), Failure> {
    match wanted.iter().find(|wanted| !text.contains(**wanted)) {
        None => Ok(()),
        Some(missing) => {
            Err(format!("{name} no longer contains `{missing}`, which a later step of the recipe relies on"))
        }
    }
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

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes `PROVENANCE` into `folder`, beside the library: a field a line. The subjects take from it what the library does not tell.
pub(crate) fn write_provenance(folder: &Path, fields: &[(&str, &str)]) -> Result<(), Failure> {
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
pub(crate) fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.map(|rest| rest.trim_start_matches([' ', '\t', ':']).trim().to_owned()).unwrap_or_default()
}

/// Today, as `date -I` has it.
pub(crate) fn today() -> String {
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
        assert!(why.contains("`libops`") && why.contains("openssl-4"), "{why}");
        assert!(run(&[]).unwrap_err().contains("openssl-4"));
        assert!(run(&["--chekc".into()]).unwrap_err().contains("`--chekc`"));
        assert!(run(&["all".into(), "libops".into()]).unwrap_err().contains("`libops`"));
    }

    #[test]
    fn a_peer_that_cannot_be_built_stops_no_other_and_is_named_at_the_end() {
        let mut tried = Vec::new();
        let outcome = each(&["gf2x", "liboqs", "tor"], |name| {
            tried.push(name.to_owned());
            if name == "liboqs" { Err("no network".to_owned()) } else { Ok(()) }
        });
        assert_eq!(tried, ["gf2x", "liboqs", "tor"]);
        assert_eq!(outcome.unwrap_err(), "1 of 3 peers could not be built:\nliboqs: no network");
        assert_eq!(each(&["gf2x", "tor"], |_| Ok(())), Ok(()));
    }
}
