//! liboqs, from the source inside the Rust package `oqs-sys`; and beside it a small library that gives away its SHAKE128 of four messages.

use super::cargo_package::Package;
use super::{Extent, compiler, expect_in, make_directory, quiet_step, write, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::Path;

/// The package that holds liboqs 0.13.0, the newest there.
const PACKAGE: &str = "0.11.0";
/// What is built of it: the KEM that we measure, and the one that pq-ntor-experiment has.
const KEMS: &str = "KEM_ml_kem_512;KEM_ml_kem_768;KEM_ml_kem_1024;KEM_kyber_512;KEM_kyber_768;KEM_kyber_1024";
/// As distributions build it: all arms, one chosen at run time.
const OPTIONS: [&str; 5] = [
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=ON",
    "-DOQS_DIST_BUILD=ON",
    "-DOQS_USE_OPENSSL=OFF",
    "-DOQS_BUILD_ONLY_LIB=ON",
];

const SHIM: &str = include_str!("shims/oqs_shake.c");

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let package = Package::fetch(&peers.join("liboqs-source"), "oqs-sys", PACKAGE)?;
    let (source, version) = (package.folder.join("liboqs"), package.library_version("liboqs-")?);
    let build = peers.join(format!("liboqs-{version}"));
    make_directory(&build)?;
    let mut configure = program("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&build).args(OPTIONS).arg(format!("-DOQS_MINIMAL_BUILD={KEMS}"));
    quiet_step("configuring liboqs", configure)?;
    let headers = source.join("src/common/sha3");
    let lanes = fs::read_to_string(headers.join("sha3x4.h")).unwrap_or_default();
    expect_in("liboqs's sha3x4.h", &lanes, &["void OQS_SHA3_shake128_x4("])?;
    if extent == Extent::Check {
        return Ok(());
    }
    let mut make = program("cmake");
    make.arg("--build").arg(&build).args(["--parallel", "2"]);
    quiet_step("compiling liboqs (a minute)", make)?;
    let at = build.join("lib");
    let shim = build.join("oqs_shake.c");
    write(&shim, SHIM)?;
    let mut compile = program("cc");
    compile
        .args(["-O2", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-o"])
        .arg(at.join("libcandor-oqs-shake.so.1"));
    compile.arg(&shim).arg("-I").arg(build.join("include")).arg("-I").arg(&headers).arg(at.join("liboqs-internal.a"));
    quiet_step("compiling the shim over liboqs's SHAKE128", compile)?;
    let told = format!("{}, cmake {} (source: {})", compiler(), OPTIONS.join(" "), package.id());
    write_provenance(&at, &[("build", &told)])?;
    println!("liboqs {version} is in {}", at.display());
    Ok(())
}
