//! Intel's Multi-Buffer Crypto for IPsec, from the packages of Debian's newer release, which want no newer C library than Debian 12's; and a
//! small shim over it, since its calls are fields of a structure that only its header knows.

use super::debian::entries;
use super::newer::{Newer, SUITE};
use super::{Extent, check_digest, compiler, expect_in, make_directory, quiet_step, today, write, write_provenance};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::Path;

const VERSION: &str = "2.0.0";
const DEBIAN: &str = "2.0-1+b1";
/// The library and its header, each with the package's SHA-256.
const PACKAGES: [(&str, &str); 2] = [
    ("libipsec-mb2", "3fbb25a6f87dc37e9dd823be2de6cb49ca69861885a2c496d8748df83c056489"),
    ("libipsec-mb-dev", "aa3e53b66b6471c4821ada3636337d8b7089887ccede5b8d7d91c50c643d031a"),
];
const LIBRARY: &str = "libIPSec_MB.so.2";
const SHIM: &str = include_str!("shims/ipsec_mb.c");

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let newer = Newer::at(peers, "ipsec-mb")?;
    let root = newer.unpack(&format!("{}={DEBIAN}", PACKAGES[0].0))?;
    newer.apt()?.unpack(&format!("{}={DEBIAN}", PACKAGES[1].0), &root)?;
    for (package, digest) in PACKAGES {
        let debs = entries(newer.folder(), |name| name.starts_with(&format!("{package}_")) && name.ends_with(".deb"))?;
        check_digest(debs.last().ok_or_else(|| format!("apt fetched no {package}_….deb"))?, digest)?;
    }
    let include = root.join("usr/include");
    let header = include.join("intel-ipsec-mb.h");
    let told = fs::read_to_string(&header).map_err(|error| format!("{}: {error}", header.display()))?;
    expect_in("intel-ipsec-mb.h", &told, &[&format!("\"{VERSION}\""), "IMB_SUBMIT_HASH_BURST_NOCHECK"])?;
    let folders = entries(&root.join("usr/lib"), |name| name.ends_with("-linux-gnu"))?;
    let folder = folders.first().ok_or("libipsec-mb2 holds no library")?;
    if extent == Extent::Check {
        return Ok(());
    }
    let at = peers.join(format!("ipsec-mb-{VERSION}"));
    make_directory(&at)?;
    let from = folder.join(LIBRARY);
    fs::copy(&from, at.join(LIBRARY)).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    let shim = at.join("shim.c");
    write(&shim, SHIM)?;
    let mut compile = program("cc");
    compile.args(["-O2", "-shared", "-fPIC", "-o"]).arg(at.join("libcandor-ipsec-mb.so.1")).arg(&shim);
    compile.arg("-I").arg(&include).arg(at.join(LIBRARY));
    quiet_step("compiling the shim over IPsec-MB", compile)?;
    let [(library, digest), _] = PACKAGES;
    let told = format!("Debian {SUITE}, package {library} {DEBIAN}, sha256 {digest}");
    let build = format!("as Debian builds it; the shim: {}, -O2, {}", compiler(), today());
    write_provenance(&at, &[("version", VERSION), ("commit", &told), ("build", &build)])?;
    println!("IPsec-MB {VERSION} is in {}", at.display());
    Ok(())
}
