//! GmSSL, from the source inside the Rust package `gmssl-rs-sys` of its authors: 3.1.1, the newest that a package has.
//!
//! 3.2.0 has SM2 in assembly, and is many times as fast. Where `CANDOR_GMSSL` names a git repository that has it, it is built as well.

use super::cargo_package::Package;
use super::{Extent, compiler, cpu, expect_in, make_directory, quiet_step, today, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::{Path, PathBuf};

const PACKAGE: (&str, &str) = ("gmssl-rs-sys", "0.1.0");
const LIBRARY: &str = "libgmssl.so.3";

const REPOSITORY: &str = "CANDOR_GMSSL";
/// The commit of its tag v3.2.0.
const COMMIT: &str = "7c9f02904ef33e59c87b4f16621cc8fd434e7579";

/// A release, the options beside the authors' release build on this CPU, and its arm.
struct Release {
    version: &'static str,
    options: &'static [&'static str],
    arm: &'static str,
}

const IN_PACKAGE: Release = Release { version: "3.1.1", options: &[], arm: "portable C" };
const IN_REPOSITORY: Release = Release {
    version: "3.2.0",
    options: &["-DENABLE_SM2_AMD64=ON", "-DENABLE_ASM_UNDERSCORE_PREFIX=OFF"],
    arm: "SM2's field in assembly for x86-64; SM4 in C with tables, since its AES-NI code decrypts CBC wrongly in place",
};

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let project = peers.join("gmssl-source");
    let package = Package::fetch(&project, PACKAGE.0, PACKAGE.1)?;
    let source = package.unpack(&project)?.join("GmSSL");
    IN_PACKAGE.build(peers, &source, &package.id(), extent)?;
    match std::env::var_os(REPOSITORY) {
        Some(repository) => {
            let source = exported(&project, Path::new(&repository))?;
            IN_REPOSITORY.build(peers, &source, &format!("git commit {COMMIT}"), extent)
        }
        None => {
            println!(
                "without GmSSL 3.2.0, which no package has: {REPOSITORY} may name a git repository with its {COMMIT}"
            );
            Ok(())
        }
    }
}

/// The commit's files, from a git repository. git names content by its digest: what is exported is that commit's.
fn exported(project: &Path, repository: &Path) -> Result<PathBuf, Failure> {
    let to = project.join("git");
    let _ = fs::remove_dir_all(&to);
    make_directory(&to)?;
    let archive = project.join("git.tar");
    let mut export = program("git");
    export.arg("-C").arg(repository).args(["archive", "--output"]).arg(&archive).arg(COMMIT);
    quiet_step("taking GmSSL out of the git repository", export)?;
    let mut unpack = program("tar");
    unpack.arg("xf").arg(&archive).arg("-C").arg(&to);
    quiet_step("unpacking it", unpack)?;
    Ok(to)
}

impl Release {
    fn build(&self, peers: &Path, source: &Path, commit: &str, extent: Extent) -> Result<(), Failure> {
        let Self { version, options, arm } = *self;
        let header = source.join("include/gmssl/version.h");
        let told = fs::read_to_string(&header).map_err(|error| format!("{}: {error}", header.display()))?;
        expect_in("GmSSL's version.h", &told, &[&format!("\"GmSSL {version}\"")])?;
        let mut all = vec!["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS=-march=native"];
        all.extend(options);
        let build = source.with_extension("build");
        let mut configure = program("cmake");
        configure.arg("-S").arg(source).arg("-B").arg(&build).args(&all);
        quiet_step(&format!("configuring GmSSL {version}"), configure)?;
        if extent == Extent::Check {
            return Ok(());
        }
        let mut make = program("cmake");
        make.arg("--build").arg(&build).args(["--target", "gmssl", "--parallel", "2"]);
        quiet_step(&format!("compiling GmSSL {version}"), make)?;

        let at = peers.join(format!("gmssl-{version}"));
        make_directory(&at)?;
        let from = build.join("bin").join(LIBRARY);
        fs::copy(&from, at.join(LIBRARY)).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
        let flags = format!("{}, cmake {}, on {}, {}", compiler(), all.join(" "), cpu(), today());
        write_provenance(&at, &[("commit", commit), ("build", &flags), ("arm", arm)])?;
        println!("GmSSL {version} is in {}", at.display());
        Ok(())
    }
}
