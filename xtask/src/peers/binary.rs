//! Libraries by Bernstein and others whose binary packages of Debian's newer release want no newer C library than Debian 12's: lib25519 (X25519 in
//! assembly for several microarchitectures) and libmceliece, the fastest Classic McEliece there is in C.
//!
//! They draw randomness through librandombytes. A stand-in takes that library's place, the same for both, since two libraries of one name can't be
//! in one process. So all libraries can be given the same bytes and must answer with the same keys.

use super::debian::entries;
use super::newer::{Newer, SUITE};
use super::{Extent, check_digest, compiler, make_directory, randomness, today, write_provenance};
use crate::Failure;
use std::fs;
use std::path::Path;

pub(super) struct Binary {
    name: &'static str,
    library: &'static str,
    package: &'static str,
    version: &'static str,
    debian: &'static str,
    digest: &'static str,
}

pub(super) const LIB25519: Binary = Binary {
    name: "lib25519",
    library: "lib25519.so.1",
    package: "lib25519-1",
    version: "20241004",
    debian: "0~20241004-2",
    digest: "175706d256878dc4069716d1bb628ff2cbd52e9a6dd21e46dc0321b016b47bef",
};

pub(super) const LIBMCELIECE: Binary = Binary {
    name: "libmceliece",
    library: "libmceliece.so.1",
    package: "libmceliece1",
    version: "20241009",
    debian: "0~20241009-2",
    digest: "e5b35e04ad8b66306b9429a1a0afff795fdd3e9380c8a33707e903bedc460578",
};

impl Binary {
    pub(super) fn build(&self, peers: &Path, extent: Extent) -> Result<(), Failure> {
        let Self { name, library, package, version, debian, digest } = *self;
        let newer = Newer::at(peers, name)?;
        let root = newer.unpack(&format!("{package}={debian}"))?;
        let debs = entries(newer.folder(), |name| name.starts_with(package) && name.ends_with(".deb"))?;
        let deb = debs.last().ok_or_else(|| format!("apt fetched no {package}_….deb"))?;
        check_digest(deb, digest)?;
        let folders = entries(&root.join("usr/lib"), |name| name.ends_with("-linux-gnu"))?;
        let folder = folders.first().ok_or_else(|| format!("{package} holds no library"))?;
        if extent == Extent::Check {
            return Ok(());
        }
        let at = peers.join(format!("{name}-{version}"));
        make_directory(&at)?;
        let from = folder.join(library);
        fs::copy(&from, at.join(library)).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
        randomness::build_shared(&at)?;
        let told = format!("Debian {SUITE}, package {package} {debian}, sha256 {digest}");
        let build = format!(
            "as Debian builds it; in place of librandombytes, a stand-in that hands out bytes given beforehand, {}, {}",
            compiler(),
            today()
        );
        write_provenance(&at, &[("version", version), ("commit", &told), ("build", &build)])?;
        println!("{name} {version} is in {}", at.display());
        Ok(())
    }
}
