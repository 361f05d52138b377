//! C tor's bench program, from Debian's source package, and its figures for the ntor handshake and for relay cells; and its handshake as a shared
//! library, linked from the objects of that build, which the subjects `tor-…` load.
//!
//! Debian's patches are not applied; libevent's headers are unpacked beside the source if the system has none.
//!
//! The bench program times each step of the handshake in a loop of its own and prints means. What is written is therefore
//! *imported*: it never gets a verdict, and stands beside our rows as a claim does. The shared library is measured in the same rounds as ours.

use super::debian::{Apt, entries};
use super::{Extent, compiler, cpu, expect_in, make_directory, quiet_step, today, write, write_provenance};
use crate::Failure;
use crate::stage::program;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The lines of the bench program that we read.
const ENABLED: &str = "Ed25519-based basepoint multiply = ";
const CLIENT_START: &str = "Client-side, part 1:";
const SERVER: &str = "Server-side:";
const CLIENT_FINISH: &str = "Client-side, part 2:";
const OUTBOUND: &str = "Outbound cells";
/// How the program's source writes the last.
const OUTBOUND_SOURCE: &str = "%sbound cells: ";
const CGO_OUTBOUND: &str = "CGO outbound at relay";

/// How often the bench program is run; each figure is the median of so many means.
const RUNS: usize = 11;
const CFLAGS: &str = "-O2";
/// Printed by tor's own makefile: the archives that its crypto stands on.
const LIBRARIES: &str = "include Makefile\ncandor-libraries:\n\t@echo $(TOR_UTIL_LIBS) $(TOR_CRYPTO_LIBS)\n";
const SHIM: &str = include_str!("shims/tor_ntor.c");
const NTOR: &str = "src/core/crypto/onion_ntor.o";
/// Not needed for the bench program, and not on every machine.
const WITHOUT: [&str; 9] = [
    "--disable-asciidoc",
    "--disable-manpage",
    "--disable-html-manual",
    "--disable-systemd",
    "--disable-lzma",
    "--disable-zstd",
    "--disable-seccomp",
    "--disable-libscrypt",
    "--disable-tool-name-check",
];

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let at = peers.join("tor");
    make_directory(&at)?;
    let apt = Apt::at(&at)?;
    let source = fetch(&apt, &at)?;
    check(&source)?;
    if extent == Extent::Check {
        return Ok(());
    }
    for (header, package) in [("openssl/ssl.h", "libssl-dev"), ("zlib.h", "zlib1g-dev")] {
        if !Path::new("/usr/include").join(header).exists() {
            return Err(format!("the build needs {header}: apt-get install {package}"));
        }
    }
    let version = source.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("tor-"));
    let version = version.ok_or("the source's folder has no version")?.to_owned();
    let libraries = libevent(&apt, &at)?;
    compile(&source, libraries.as_deref())?;
    link_ntor(peers, &source, &version)?;
    let runs = measure(&source, libraries.as_deref(), "onion_ntor", parse)?;
    let tor1 = measure(&source, libraries.as_deref(), "cell_ops_tor1", |said| nanoseconds(said, OUTBOUND))?;
    let cgo = measure(&source, libraries.as_deref(), "cell_ops_cgo", |said| nanoseconds(said, CGO_OUTBOUND))?;
    report(&at, &version, &runs, [median(tor1), median(cgo)])
}

/// Fetches and unpacks the newest source, and says where it is.
fn fetch(apt: &Apt<'_>, at: &Path) -> Result<PathBuf, Failure> {
    apt.source("tor")?;

    let archives = entries(at, |name| name.starts_with("tor_") && name.ends_with(".orig.tar.gz"))?;
    let archive = archives.last().ok_or("apt fetched no tor_….orig.tar.gz")?;
    let mut unpack = program("tar");
    unpack.arg("xf").arg(archive).current_dir(at);
    quiet_step("unpacking", unpack)?;
    let version = archive.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = version.trim_start_matches("tor_").trim_end_matches(".orig.tar.gz");
    Ok(at.join(format!("tor-{version}")))
}

/// What the steps after this rely on: configure ignores options that it does not know, and a label that has changed would show only
/// after minutes of compiling.
fn check(source: &Path) -> Result<(), Failure> {
    let mut help = program("sh");
    help.args(["./configure", "--help"]).current_dir(source);
    let help = quiet_step("asking configure for its options", help)?;
    // configure lists a feature by what its reader would type to change the default.
    let features: Vec<&str> = WITHOUT.iter().map(|option| option.trim_start_matches("--disable-")).collect();
    expect_in("tor's configure --help", &help, &features)?;
    let bench = source.join("src/test/bench.c");
    let text = std::fs::read_to_string(&bench).map_err(|error| format!("{}: {error}", bench.display()))?;
    expect_in(
        "tor's bench.c",
        &text,
        &[ENABLED, "enabled", CLIENT_START, SERVER, CLIENT_FINISH, OUTBOUND_SOURCE, CGO_OUTBOUND],
    )
}

/// Where libevent is unpacked, if the system has no headers of it.
fn libevent(apt: &Apt<'_>, at: &Path) -> Result<Option<PathBuf>, Failure> {
    if Path::new("/usr/include/event2/event.h").exists() {
        return Ok(None);
    }
    let mut depends = apt.command("apt-cache");
    depends.args(["depends", "libevent-dev"]);
    let said = quiet_step("looking up libevent's packages", depends)?;
    let named = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .filter(|name| name.starts_with("libevent"));
    let mut download = apt.command("apt-get");
    download.args(["download", "libevent-dev"]).args(named);
    quiet_step("fetching libevent", download)?;
    let root = at.join("root");
    for package in entries(at, |name| name.ends_with(".deb"))? {
        let mut unpack = program("dpkg");
        unpack.arg("-x").arg(&package).arg(&root);
        quiet_step(&format!("unpacking {}", package.display()), unpack)?;
    }
    Ok(Some(root.join("usr")))
}

/// The folders below `usr/lib` that hold shared objects.
fn library_folders(usr: &Path) -> Vec<PathBuf> {
    entries(&usr.join("lib"), |name| name.ends_with("-linux-gnu")).unwrap_or_default()
}

fn compile(source: &Path, usr: Option<&Path>) -> Result<(), Failure> {
    let mut configure = program("sh");
    configure.arg("./configure").args(WITHOUT).current_dir(source);
    match usr {
        Some(usr) => {
            let folders = library_folders(usr).into_iter().map(|folder| format!("-L{}", folder.display()));
            configure.arg(format!("--with-libevent-dir={}", usr.display()));
            configure.arg(format!("CFLAGS={CFLAGS} -I{}", usr.join("include").display()));
            configure.arg(format!("LDFLAGS={}", folders.collect::<Vec<_>>().join(" ")));
        }
        None => drop(configure.arg(format!("CFLAGS={CFLAGS}"))),
    }
    quiet_step("configuring tor", configure)?;
    // configure appends -fPIE for programs; of two such flags the last holds, and a shared library needs this one.
    let makefile = source.join("Makefile");
    let text = std::fs::read_to_string(&makefile).map_err(|error| format!("{}: {error}", makefile.display()))?;
    let flags = text.lines().find_map(|line| line.strip_prefix("CFLAGS = ")).ok_or("tor's Makefile sets no CFLAGS")?;
    let mut make = program("make");
    make.args(["-j2", &format!("CFLAGS={flags} -fPIC"), "src/test/bench", NTOR]).current_dir(source);
    quiet_step("compiling tor's bench program (two minutes)", make)?;
    Ok(())
}

/// Links tor's ntor, and what it stands on, into a shared library.
fn link_ntor(peers: &Path, source: &Path, version: &str) -> Result<(), Failure> {
    write(&source.join("candor.mk"), LIBRARIES)?;
    let mut ask = program("make");
    ask.args(["-s", "-f", "candor.mk", "candor-libraries"]).current_dir(source);
    let libraries = quiet_step("asking tor's makefile for its libraries", ask)?;
    let at = peers.join("tor-ntor");
    make_directory(&at)?;
    let shim = source.join("candor_ntor.c");
    write(&shim, SHIM)?;
    let mut link = program("cc");
    link.args([CFLAGS, "-fPIC", "-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,--gc-sections", "-I.", "-Isrc", "-o"]);
    link.arg(at.join("libcandor-tor-ntor.so.1")).arg(&shim).arg(NTOR).arg("-Wl,--start-group");
    link.args(libraries.split_whitespace()).args(["-Wl,--end-group", "-lssl", "-lcrypto", "-lm", "-lpthread"]);
    link.current_dir(source);
    quiet_step("linking tor's ntor", link)?;
    let told = format!("Debian's source package tor {version}, without Debian's patches");
    let build = format!("{}, {CFLAGS} -fPIC and what tor's configure adds, on {}, {}", compiler(), cpu(), today());
    write_provenance(&at, &[("version", version), ("commit", &told), ("build", &build)])?;
    println!("C tor's ntor is in {}", at.display());
    Ok(())
}

/// Microseconds of the three steps.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Steps {
    client_start: f64,
    server: f64,
    client_finish: f64,
}

/// Runs one of the program's benchmarks, and reads each run by `read`.
fn measure<T>(
    source: &Path,
    usr: Option<&Path>,
    name: &str,
    read: impl Fn(&str) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut runs = Vec::new();
    for run in 1..=RUNS {
        let mut bench = program(source.join("src/test/bench"));
        bench.arg(name).current_dir(source);
        if let Some(usr) = usr {
            let folders = library_folders(usr).into_iter().map(|folder| folder.display().to_string());
            bench.env("LD_LIBRARY_PATH", folders.collect::<Vec<_>>().join(":"));
        }
        runs.push(read(&quiet_step(&format!("bench {name}, {run} of {RUNS}"), bench)?)?);
    }
    Ok(runs)
}

/// The figures with the Ed25519 multiplication of the base point, which tor chooses at its start where it is the faster.
fn parse(said: &str) -> Result<Steps, Failure> {
    let (_, faster) = said.split_once(&format!("{ENABLED}enabled")).ok_or("bench prints no figures of onion_ntor")?;
    let figure = |label: &str| {
        let line = faster.lines().find_map(|line| line.strip_prefix(label));
        let number = line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok());
        number.ok_or_else(|| format!("bench prints no `{label}`"))
    };
    Ok(Steps { client_start: figure(CLIENT_START)?, server: figure(SERVER)?, client_finish: figure(CLIENT_FINISH)? })
}

/// Nanoseconds per cell behind a label.
fn nanoseconds(said: &str, label: &str) -> Result<f64, Failure> {
    let line = said.lines().find_map(|line| line.trim_start().strip_prefix(label)?.strip_prefix(':'));
    let number = line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("bench prints no `{label}`"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Writes the figures, and the claims file that sets them beside our rows. `cells` are nanoseconds for a forwarded cell, tor1 and
/// CGO.
fn report(at: &Path, version: &str, runs: &[Steps], cells: [f64; 2]) -> Result<(), Failure> {
    let of = |step: fn(&Steps) -> f64| median(runs.iter().map(step).collect());
    let (start, server, finish) = (of(|s| s.client_start), of(|s| s.server), of(|s| s.client_finish));
    let whole = of(|s| s.client_start + s.server + s.client_finish);
    let cpu = cpu();
    let raw: Vec<_> = runs.iter().map(|s| json!([s.client_start, s.server, s.client_finish])).collect();
    let figures = json!({
        "what": "C tor, src/test/bench onion_ntor, Ed25519 base point multiplication enabled; microseconds, means of 1024",
        "evidence": "imported",
        "version": version,
        "compiler": compiler(),
        "cflags": CFLAGS,
        "cpu": cpu,
        "runs": raw,
        "median_us": {"client-start": start, "server": server, "client-finish": finish, "sum": whole},
    });
    write(&at.join("onion_ntor.json"), &format!("{figures:#}\n"))?;
    write(&at.join("claims.toml"), &claims(version, &cpu, [start, server, finish, whole], cells))?;
    println!("C tor {version}: {start:.1} + {server:.1} + {finish:.1} = {whole:.1} µs a handshake, both sides");
    println!("a forwarded cell: tor1 {:.0} ns, CGO {:.0} ns", cells[0], cells[1]);
    println!("beside a run of ours: candor report --claims={}", at.join("claims.toml").display());
    Ok(())
}

fn claims(version: &str, cpu: &str, [start, server, finish, whole]: [f64; 4], [tor1, cgo]: [f64; 2]) -> String {
    let mut text = format!(
        "# Written by `cargo xtask peers tor`. Imported, not quoted: the bench program ran on this machine.\n\n\
         key = \"tor-{version}\"\nsource = \"C tor {version}, its own src/test/bench, built and run here ({})\"\n",
        compiler().replace('"', "'")
    );
    let mut put = |place: &str, unit: &str, what: &str, value: f64, how: &str, task: &str, doubt: &str| {
        text.push_str(&format!(
            "\n[[claim]]\nwhat = \"{what}\"\nplace = \"bench {place}\"\nvalue = {value:.3}\nunit = \"{unit}\"\n\
             hardware = {cpu:?}\nhow = \"{how}\"\ntask = \"{task}\"\nsamples = {RUNS}\ndoubt = \"{doubt}\"\n"
        ));
    };
    let cells = "imported: the mean of a loop over one cell that was not interleaved with ours; the median of the runs";
    put("cell_ops_tor1", "ns", "C tor, tor1, an outbound cell at a relay", tor1, "whole", "relay/cells/tor1", cells);
    put("cell_ops_cgo", "ns", "C tor, CGO, an outbound cell at a relay", cgo, "whole", "relay/cells/cgo", cells);
    let mut add = |what: &str, value: f64, how: &str, task: &str, doubt: &str| {
        put("onion_ntor", "us", what, value, how, task, doubt);
    };
    let doubt = "imported: means of loops that were not interleaved with ours; each number the median of the runs";
    add("C tor, ntor, client's first step", start, "whole", "", doubt);
    // Ours makes the circuit and the keys of its ciphers too.
    let less = format!("{doubt}; without the circuit that ours makes");
    add("C tor, ntor, relay", server, "whole", "relay/create2/ntor/single", &less);
    add(
        "C tor, ntor, relay",
        server,
        "whole",
        "relay/create2/hybrid-768/single",
        &format!("{less}; classical, beside a hybrid"),
    );
    add("C tor, ntor, client's second step", finish, "whole", "", doubt);
    add("C tor, ntor, the three steps together", whole, "sum-of-parts", "ntor/ntor/handshake", doubt);
    let beside = format!("{doubt}; classical, beside a hybrid");
    add("C tor, ntor, the three steps together", whole, "sum-of-parts", "ntor/hybrid-768/handshake", &beside);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "===== onion_ntor =====\nEd25519-based basepoint multiply = disabled.\n\
        Client-side, part 1: 44.052761 usec.\nServer-side: 108.100219 usec\nClient-side, part 2: 73.629148 usec.\n\
        Ed25519-based basepoint multiply = enabled.\nClient-side, part 1: 10.175456 usec.\nServer-side: 86.050521 usec\n\
        Client-side, part 2: 73.281188 usec.\n";

    #[test]
    fn the_faster_figures_are_read() {
        let steps = parse(SAID).unwrap();
        assert_eq!(steps, Steps { client_start: 10.175456, server: 86.050521, client_finish: 73.281188 });
        assert!(parse("===== onion_ntor =====").is_err());
    }

    #[test]
    fn nanoseconds_per_cell_are_read() {
        let said = "===== cell_ops_tor1 =====\n Inbound cells: 83.26 ns per cell. (0.17 ns per byte)\nOutbound cells: 85.29 ns per cell.\n\
            CGO outbound at relay: 293.44 per cell (9.74 cpb)\n";
        assert_eq!(nanoseconds(said, "Outbound cells"), Ok(85.29));
        assert_eq!(nanoseconds(said, "CGO outbound at relay"), Ok(293.44));
        assert!(nanoseconds(said, "CGO inbound").is_err());
    }

    #[test]
    fn the_claims_are_toml_with_all_fields() {
        let text = claims("0.4.9.11", "a CPU \"with quotes\"", [10.0, 86.0, 73.0, 169.0], [85.3, 293.4]);
        let table: toml::Table = text.parse().unwrap();
        let claims = table["claim"].as_array().unwrap();
        assert_eq!(claims.len(), 8);
        assert_eq!((claims[1]["task"].as_str(), claims[1]["unit"].as_str()), (Some("relay/cells/cgo"), Some("ns")));
        assert!(claims.iter().all(|claim| claim["hardware"].as_str() == Some("a CPU \"with quotes\"")));
        assert_eq!(claims[4]["task"].as_str(), Some("relay/create2/hybrid-768/single"));
        assert_eq!(claims[7]["task"].as_str(), Some("ntor/hybrid-768/handshake"));
    }
}
