//! liboqs, from the source inside the Rust package `oqs-sys`.

use super::cargo_package::Package;
use super::{Extent, compiler, make_directory, quiet_step, write_provenance};
use crate::Failure;
use crate::stage::program;
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

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let package = Package::fetch(&peers.join("liboqs-source"), "oqs-sys", PACKAGE)?;
    let (source, version) = (package.folder.join("liboqs"), package.library_version("liboqs-")?);
    let build = peers.join(format!("liboqs-{version}"));
    make_directory(&build)?;
    let mut configure = program("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&build).args(OPTIONS).arg(format!("-DOQS_MINIMAL_BUILD={KEMS}"));
    quiet_step("configuring liboqs", configure)?;
    if extent == Extent::Check {
        return Ok(());
    }
    let mut make = program("cmake");
    make.arg("--build").arg(&build).args(["--parallel", "2"]);
    quiet_step("compiling liboqs (a minute)", make)?;
    let at = build.join("lib");
    let told = format!("{}, cmake {} (source: {})", compiler(), OPTIONS.join(" "), package.id());
    write_provenance(&at, &[("build", &told)])?;
    println!("liboqs {version} is in {}", at.display());
    Ok(())
}
