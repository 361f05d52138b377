//! OpenSSL 4, from the source inside the Rust package `openssl-src`, as a shared library: so that it stands beside
//! the OpenSSL that the system has.

use super::cargo_package::Package;
use super::{Extent, compiler, counted_step, make_directory, quiet_step, today, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::path::Path;

/// The package that holds OpenSSL 4.0.3.
const PACKAGE: &str = "400.0.2";
/// As distributions build it, without what only its own tests and its command line need. The 64-bit code for the NIST curves
/// is off unless asked for; a peer is measured at its best. The package lacks the scripts that link modules and shared
/// libraries: the legacy algorithms come inside the library, and [`LINK`] does the rest.
const OPTIONS: [&str; 6] = ["shared", "no-module", "enable-ec_nistp_64_gcc_128", "no-tests", "no-docs", "no-apps"];

/// OpenSSL's own linker flags on Linux: calls inside the library stay inside, and nothing unloads it.
const LINK: [&str; 4] = ["-shared", "-Wl,-Bsymbolic", "-Wl,-znodelete", "-Wl,-soname,libcrypto.so.4"];

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let package = Package::fetch(&peers.join("openssl-4-source"), "openssl-src", PACKAGE)?;
    let version = package.library_version("")?.to_owned();
    let source = package.unpack(&peers.join("openssl-4-source"))?.join("openssl");
    let build = peers.join("openssl-4");
    make_directory(&build)?;
    let build = build.canonicalize().map_err(|error| format!("{}: {error}", build.display()))?;
    let source = source.canonicalize().map_err(|error| format!("{}: {error}", source.display()))?;

    let mut configure = program("perl");
    configure.arg(source.join("Configure")).args(OPTIONS).current_dir(&build);
    // Its configuration file and modules would be looked for here; there are none, and none are needed.
    configure.arg(format!("--prefix={}", build.join("nowhere").display()));
    quiet_step("configuring OpenSSL", configure)?;
    if extent == Extent::Check {
        let mut goals = program("make");
        goals.args(["--dry-run", "build_generated", "libcrypto.a"]).current_dir(&build);
        return quiet_step("looking for OpenSSL's libcrypto", goals).map(drop);
    }
    let make = |goal: &str| {
        let mut make = program("make");
        make.args(["-j2", goal]).current_dir(&build);
        make
    };
    quiet_step("generating OpenSSL's assembly and headers", make("build_generated"))?;
    let mut plan = make("libcrypto.a");
    plan.arg("--dry-run");
    let objects = quiet_step("counting what is to be compiled", plan)?.lines().filter(|line| compiles(line)).count();
    counted_step("compiling OpenSSL's libcrypto", make("libcrypto.a"), objects, compiles)?;
    let mut link = program("cc");
    link.args(LINK).args(["-o", "libcrypto.so.4", "-Wl,--whole-archive", "libcrypto.a", "-Wl,--no-whole-archive"]);
    link.args(["-ldl", "-pthread"]).current_dir(&build);
    quiet_step("linking libcrypto.so.4", link)?;

    // The library tells its compiler's flags itself, but not its options nor where the source is from.
    let told = format!("{}; {}; Configure {}; built {}", package.id(), compiler(), OPTIONS.join(" "), today());
    write_provenance(&build, &[("commit", &told)])?;
    println!("OpenSSL {version} is in {}", build.display());
    Ok(())
}

/// Whether a line of make's compiles an object.
fn compiles(line: &str) -> bool {
    line.contains(" -c ")
}
