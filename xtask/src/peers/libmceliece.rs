//! libmceliece, the fastest Classic McEliece there is in C, from a binary package of Debian's newer release: it wants no newer C library than
//! Debian 12's.
//!
//! It draws randomness through librandombytes. A stand-in takes that library's place, so that all libraries can be given the same bytes and
//! must answer with the same keys.

use super::debian::entries;
use super::newer::{Newer, SUITE};
use super::{Extent, check_digest, compiler, make_directory, randomness, today, write_provenance};
use crate::Failure;
use std::fs;
use std::path::Path;

const PACKAGE: &str = "libmceliece1";
const VERSION: &str = "20241009";
const DEBIAN: &str = "0~20241009-2";
const DIGEST: &str = "e5b35e04ad8b66306b9429a1a0afff795fdd3e9380c8a33707e903bedc460578";

pub(super) fn build(peers: &Path, extent: Extent) -> Result<(), Failure> {
    let newer = Newer::at(peers, "libmceliece")?;
    let root = newer.unpack(&format!("{PACKAGE}={DEBIAN}"))?;
    let debs = entries(newer.folder(), |name| name.starts_with(PACKAGE) && name.ends_with(".deb"))?;
    let deb = debs.last().ok_or_else(|| format!("apt fetched no {PACKAGE}_….deb"))?;
    check_digest(deb, DIGEST)?;
    let folders = entries(&root.join("usr/lib"), |name| name.ends_with("-linux-gnu"))?;
    let folder = folders.first().ok_or_else(|| format!("{PACKAGE} holds no library"))?;
    if extent == Extent::Check {
        return Ok(());
    }
    let at = peers.join(format!("libmceliece-{VERSION}"));
    make_directory(&at)?;
    let from = folder.join("libmceliece.so.1");
    fs::copy(&from, at.join("libmceliece.so.1")).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    randomness::build_shared(&at)?;
    let told = format!("Debian {SUITE}, package {PACKAGE} {DEBIAN}, sha256 {DIGEST}");
    let build = format!(
        "as Debian builds it; in place of librandombytes, a stand-in that hands out bytes given beforehand, {}, {}",
        compiler(),
        today()
    );
    write_provenance(&at, &[("version", VERSION), ("commit", &told), ("build", &build)])?;
    println!("libmceliece {VERSION} is in {}", at.display());
    Ok(())
}
