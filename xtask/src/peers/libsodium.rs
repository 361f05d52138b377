//! libsodium twice, from the source inside the Rust package `libsodium-sys-stable`: as its authors have it, beside the system's older one; and with memory
//! that Argon2 keeps from call to call, for the rows in which everyone keeps it. libsodium itself maps and unmaps its memory in each call, and its interface
//! takes none from a caller.

use super::cargo_package::Package;
use super::{Extent, compiler, cpu, expect_in, make_directory, quiet_step, today, write, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::{Path, PathBuf};

const PACKAGE: (&str, &str) = ("libsodium-sys-stable", "1.24.3");
/// The authors' archive in the package.
const ARCHIVE: &str = "LATEST.tar.gz";
const VERSION: &str = "1.0.22";
const LIBRARY: &str = "libsodium.so.26";
/// The authors' flags, and this CPU for what is written in C.
const CFLAGS: &str = "-O3 -march=native";
const OPTIONS: [&str; 3] = ["--disable-static", "--disable-dependency-tracking", "--disable-ssp"];

/// The file of Argon2's memory, and its last include: behind it stands ours.
const CORE: &str = "src/libsodium/crypto_pwhash/argon2/argon2-core.c";
const LAST_INCLUDE: &str = "#include \"blake2b-long.h\"\n";
const KEPT: &str = include_str!("shims/libsodium_kept.h");

/// That the memory is not wiped, which the rows say of it.
const DEFAULTS: (&str, &str) =
    ("src/libsodium/crypto_pwhash/argon2/argon2.h", "#define ARGON2_DEFAULT_FLAGS (UINT32_C(0))");

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let project = peers.join("libsodium-source");
    let package = Package::fetch(&project, PACKAGE.0, PACKAGE.1)?;
    let source = unpacked(&project, &package.folder.join(ARCHIVE))?;
    let read = |file: &str| fs::read_to_string(source.join(file)).map_err(|error| format!("{file}: {error}"));
    expect_in("libsodium's configure", &read("configure")?, &[&format!("PACKAGE_VERSION='{VERSION}'")])?;
    expect_in(DEFAULTS.0, &read(DEFAULTS.0)?, &[DEFAULTS.1])?;
    let kept = keeping(&read(CORE)?)?;

    let mut configure = program("./configure");
    configure.args(OPTIONS).arg(format!("CFLAGS={CFLAGS}")).current_dir(&source);
    quiet_step("configuring libsodium", configure)?;
    if extent == Extent::Check {
        return Ok(());
    }
    let flags = format!("{}, {CFLAGS}, on {}, {}", compiler(), cpu(), today());
    compile(&source, "compiling libsodium")?;
    let id = package.id();
    install(peers, &source, VERSION, &[("commit", &id), ("build", &flags)])?;

    write(&source.join(CORE), &kept)?;
    write(&source.join(CORE).with_file_name("candor_kept.h"), KEPT)?;
    compile(&source, "compiling it with memory that Argon2 keeps")?;
    let flags = format!("{flags}; changed by candor: Argon2's mmap and munmap are a region that each thread keeps");
    install(
        peers,
        &source,
        &format!("{VERSION}-kept"),
        &[("variant", "kept"), ("commit", id.as_str()), ("build", flags.as_str())],
    )
}

/// The authors' archive, unpacked afresh.
fn unpacked(project: &Path, archive: &Path) -> Result<PathBuf, Failure> {
    let to = project.join("source");
    let _ = fs::remove_dir_all(&to);
    make_directory(&to)?;
    let mut unpack = program("tar");
    unpack.arg("xf").arg(archive).args(["--strip-components=1", "-C"]).arg(&to);
    quiet_step("unpacking libsodium", unpack)?;
    Ok(to)
}

/// The source of Argon2's memory with [`KEPT`] behind its headers.
fn keeping(core: &str) -> Result<String, Failure> {
    expect_in(CORE, core, &[LAST_INCLUDE, "= mmap(NULL, memory_size,", "munmap(region->base, region->size)"])?;
    Ok(core.replacen(LAST_INCLUDE, &format!("{LAST_INCLUDE}#include \"candor_kept.h\"\n"), 1))
}

fn compile(source: &Path, what: &str) -> Result<(), Failure> {
    let mut make = program("make");
    // The library without its tests.
    make.args(["-j2", "-C", "src/libsodium"]).current_dir(source);
    quiet_step(what, make).map(drop)
}

fn install(peers: &Path, source: &Path, name: &str, fields: &[(&str, &str)]) -> Result<(), Failure> {
    let at = peers.join(format!("libsodium-{name}"));
    make_directory(&at)?;
    let from = source.join("src/libsodium/.libs").join(LIBRARY);
    fs::copy(&from, at.join(LIBRARY)).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    write_provenance(&at, fields)?;
    println!("libsodium {name} is in {}", at.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_memory_stands_behind_the_last_header_and_nothing_else_changes() {
        let core = format!(
            "#include <sys/mman.h>\n{LAST_INCLUDE}base = mmap(NULL, memory_size, 3);\nmunmap(region->base, region->size);\n"
        );
        let kept = keeping(&core).unwrap();
        assert_eq!(kept.replace("#include \"candor_kept.h\"\n", ""), core);
        let place = |what: &str| kept.find(what).unwrap();
        assert!(place(LAST_INCLUDE) < place("candor_kept.h") && place("candor_kept.h") < place("= mmap("));
        // What maps its memory otherwise would go on mapping it.
        assert!(keeping(&core.replace("mmap(NULL", "map(NULL")).unwrap_err().contains("mmap(NULL"));
    }
}
