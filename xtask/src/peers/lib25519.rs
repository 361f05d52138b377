//! lib25519, X25519 by Bernstein and Nath in assembly for several microarchitectures, from a binary package of Debian's newer release: it wants no
//! newer C library than Debian 12's.
//!
//! It draws randomness through librandombytes, in whose place the stand-in is put that libmceliece has as well: two libraries of one name can't be
//! in one process.

use super::debian::entries;
use super::newer::{Newer, SUITE};
use super::{Extent, check_digest, compiler, make_directory, randomness, today, write_provenance};
use crate::Failure;
use std::fs;
use std::path::Path;

const PACKAGE: &str = "lib25519-1";
const VERSION: &str = "20241004";
const DEBIAN: &str = "0~20241004-2";
const DIGEST: &str = "175706d256878dc4069716d1bb628ff2cbd52e9a6dd21e46dc0321b016b47bef";

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let newer = Newer::at(peers, "lib25519")?;
    let root = newer.unpack(&format!("{PACKAGE}={DEBIAN}"))?;
    let debs = entries(newer.folder(), |name| name.starts_with(PACKAGE) && name.ends_with(".deb"))?;
    let deb = debs.last().ok_or_else(|| format!("apt fetched no {PACKAGE}_….deb"))?;
    check_digest(deb, DIGEST)?;
    let folders = entries(&root.join("usr/lib"), |name| name.ends_with("-linux-gnu"))?;
    let folder = folders.first().ok_or_else(|| format!("{PACKAGE} holds no library"))?;
    if extent == Extent::Check {
        return Ok(());
    }
    let at = peers.join(format!("lib25519-{VERSION}"));
    make_directory(&at)?;
    let from = folder.join("lib25519.so.1");
    fs::copy(&from, at.join("lib25519.so.1")).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    randomness::build_shared(&at)?;
    let told = format!("Debian {SUITE}, package {PACKAGE} {DEBIAN}, sha256 {DIGEST}");
    let build = format!(
        "as Debian builds it; in place of librandombytes, a stand-in that hands out bytes given beforehand, {}, {}",
        compiler(),
        today()
    );
    write_provenance(&at, &[("version", VERSION), ("commit", &told), ("build", &build)])?;
    println!("lib25519 {VERSION} is in {}", at.display());
    Ok(())
}
