//! libgcrypt 1.11, from the source package of Debian's newer release: beside the system's 1.10, which has neither GFNI nor AVX-512 for SM4. The
//! package itself wants a newer C library than Debian 12 has.

use super::newer::{Newer, SUITE};
use super::{Extent, compiler, cpu, expect_in, make_directory, quiet_step, today, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::Path;

const VERSION: &str = "1.11.0";
const ARCHIVE: &str = "libgcrypt20_1.11.0.orig.tar.bz2";
const DIGEST: &str = "09120c9867ce7f2081d6aaa1775386b98c2f2f246135761aae47d81f58685b9c";

/// libgpg-error goes into the library: the system's is older, and one process may hold both versions of libgcrypt.
const ERROR_ARCHIVE: &str = "libgpg-error_1.51.orig.tar.bz2";
const ERROR_DIGEST: &str = "be0f1b2db6b93eed55369cdf79f19f72750c8c7c39fc20b577e724545427e6b2";
const ERROR_OPTIONS: [&str; 7] = [
    "--disable-shared",
    "--enable-static",
    "--with-pic",
    "--disable-nls",
    "--disable-doc",
    "--disable-tests",
    "--disable-languages",
];

const OPTIONS: [&str; 2] = ["--disable-static", "--disable-doc"];
/// The authors' flags, and this CPU for what is written in C.
const CFLAGS: &str = "-O2 -march=native";

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let newer = Newer::at(peers, "libgcrypt")?;
    let error = newer.source("libgpg-error", ERROR_ARCHIVE, ERROR_DIGEST)?;
    let source = newer.source("libgcrypt20", ARCHIVE, DIGEST)?;
    let prefix = error.join("installed");

    let mut configure = program("./configure");
    configure.args(ERROR_OPTIONS).arg(format!("--prefix={}", prefix.display())).current_dir(&error);
    quiet_step("configuring libgpg-error", configure)?;
    if extent == Extent::Check {
        let rules = fs::read_to_string(source.join("cipher/Makefile.in")).unwrap_or_default();
        return expect_in("libgcrypt's cipher/Makefile.in", &rules, &["sm4-gfni-avx512-amd64"]);
    }
    let mut make = program("make");
    make.args(["-j2", "install"]).current_dir(&error);
    quiet_step("compiling libgpg-error", make)?;

    let mut configure = program("./configure");
    configure.args(OPTIONS).arg(format!("--with-libgpg-error-prefix={}", prefix.display()));
    // The system's own gpgrt-config would be found first.
    configure.arg(format!("GPGRT_CONFIG={}", prefix.join("bin/gpgrt-config").display()));
    configure.arg(format!("CFLAGS={CFLAGS}")).current_dir(&source);
    quiet_step("configuring libgcrypt", configure)?;
    // Without the tests, which take longer than the library.
    for folder in ["compat", "mpi", "cipher", "random", "src"] {
        let mut make = program("make");
        make.args(["-j2", "-C", folder]).current_dir(&source);
        quiet_step(&format!("compiling libgcrypt, {folder}"), make)?;
    }

    let at = peers.join(format!("libgcrypt-{VERSION}"));
    make_directory(&at)?;
    let (from, to) = (source.join("src/.libs/libgcrypt.so.20"), at.join("libgcrypt.so.20"));
    fs::copy(&from, to).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    let told =
        format!("Debian {SUITE}, source package libgcrypt20 {VERSION}, sha256 {DIGEST}, without Debian's patches");
    let flags = format!("{}, {CFLAGS}, on {}, {}", compiler(), cpu(), today());
    write_provenance(&at, &[("commit", &told), ("build", &flags)])?;
    println!("libgcrypt {VERSION} is in {}", at.display());
    Ok(())
}
