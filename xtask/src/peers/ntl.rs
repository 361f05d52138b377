//! NTL on the tuned gf2x, behind a small C++ shim: fields GF(2^m) by the library that mathematicians use.
//!
//! Debian's NTL is compiled for any x86-64 and stands on Debian's gf2x, which has no hardware code: ten times slower, and no
//! fair comparison. This one is compiled for this CPU, without threads, so that its current field is a plain variable.

use super::debian::Apt;
use super::gf2x::{Tuning, make, untar};
use super::{check_digest, compiler, expect_in, make_directory, quiet_step, write, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::path::{Path, PathBuf};

const VERSION: &str = "11.5.1";
const DEBIAN: &str = "11.5.1-1";
const DIGEST: &str = "210d06c31306cbc6eaf6814453c56c776d9d8e8df36d74eb306f6a523d1c6a8a";
const CXXFLAGS: &str = "-O3 -march=native -fPIC";
/// GMP serves integers, which nothing here uses.
const OPTIONS: [&str; 5] = ["SHARED=off", "NATIVE=on", "NTL_GF2X_LIB=on", "NTL_THREADS=off", "NTL_GMP_LIP=off"];

fn archive() -> String {
    format!("ntl_{VERSION}.orig.tar.gz")
}

const SHIM: &str = include_str!("shims/ntl.cpp");

/// Everything up to the compiler.
pub(super) fn check(apt: &Apt<'_>, at: &Path) -> Result<(), Failure> {
    let makefile = configure(apt, at)?.join("makefile");
    let text = std::fs::read_to_string(&makefile).map_err(|error| format!("{}: {error}", makefile.display()))?;
    expect_in("NTL's makefile", &text, &["setup1:", "setup2:", "setup3:", "setup4:", "ntl.a:"])
}

/// Fetches, unpacks and configures the source, and says where it is.
fn configure(apt: &Apt<'_>, at: &Path) -> Result<PathBuf, Failure> {
    apt.source(&format!("ntl={DEBIAN}"))?;
    let archive = archive();
    check_digest(&at.join(&archive), DIGEST)?;
    let build = at.join("build/ntl");
    let _ = std::fs::remove_dir_all(&build);
    make_directory(&build)?;
    untar(at, &archive, &build)?;
    let source = build.join(format!("ntl-{VERSION}/src"));
    let gf2x = at.join("build/tuned/gf2x-1.3.0");

    let mut configure = program("sh");
    configure.arg("./configure").args(OPTIONS).arg(format!("CXXFLAGS={CXXFLAGS}")).current_dir(&source);
    configure
        .arg(format!("GF2X_INCDIR={}", gf2x.display()))
        .arg(format!("GF2X_LIBDIR={}", gf2x.join(".libs").display()));
    quiet_step("configuring NTL", configure)?;
    Ok(source)
}

/// Builds it below `at`, where the tuned gf2x has been built.
pub(super) fn build(apt: &Apt<'_>, at: &Path, tuning: &Tuning) -> Result<(), Failure> {
    let source = configure(apt, at)?;
    let gf2x = at.join("build/tuned/gf2x-1.3.0");
    let archive = archive();
    // Programs that look at the compiler and the CPU and write headers: one after the other.
    quiet_step("asking the machine", make(&source, &["setup1", "setup2", "setup3", "setup4"]))?;
    quiet_step("compiling NTL (minutes)", make(&source, &["-j2", "ntl.a"]))?;

    let to = at.join("ntl");
    make_directory(&to)?;
    let shim = at.join("build/ntl.cpp");
    write(&shim, SHIM)?;
    let mut compile = program("c++");
    compile.args(CXXFLAGS.split(' ')).args(["-shared", "-o"]).arg(to.join("libcandor-ntl.so.1")).arg(&shim);
    compile.arg("-I").arg(source.join("../include")).arg(source.join("ntl.a")).arg(gf2x.join(".libs/libgf2x.a"));
    quiet_step("compiling the shim over NTL", compile)?;
    write_provenance(
        &to,
        &[
            ("variant", "tuned"),
            ("version", VERSION),
            ("commit", &format!("Debian source ntl {DEBIAN}, {archive} sha256:{DIGEST}")),
            ("build", &format!("{}, {CXXFLAGS}, {}", compiler(), OPTIONS.join(" "))),
            ("arm", &format!("PCLMULQDQ, fixed when it was built; gf2x: {}", tuning.found)),
            ("tuning", &format!("gf2x below it, {}", tuning.line)),
        ],
    )?;
    println!("NTL {VERSION} is in {}", to.display());
    Ok(())
}
