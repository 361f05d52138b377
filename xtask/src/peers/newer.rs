//! Packages of the Debian release after the system's own, for peers that the system has only in an older version, or not at all.
//!
//! Libraries that want no newer C library than the system's run as they are, unpacked by `Apt::unpack("NAME/trixie", …)`. The others are built
//! from their source packages: [`Newer::source`]. Nothing is installed, and the system's own apt never sees these lists.

use super::debian::{Apt, Release, entries};
use super::gf2x::untar;
use super::{check_digest, make_directory};
use crate::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// The release after Debian 12.
pub(super) const SUITE: &str = "trixie";

/// This machine's architecture by Debian's name.
const ARCHITECTURE: &str = match std::env::consts::ARCH.as_bytes() {
    b"x86_64" => "amd64",
    b"aarch64" => "arm64",
    _ => std::env::consts::ARCH,
};

/// A folder with packages of that release.
pub(super) struct Newer {
    at: PathBuf,
}

impl Newer {
    /// The folder for the peer `name` below `peers`. All of them share apt's lists.
    pub(super) fn at(peers: &Path, name: &str) -> Result<Self, Failure> {
        let at = peers.join("newer").join(name);
        make_directory(&at)?;
        Ok(Self { at })
    }

    /// apt with the lists of both releases.
    pub(super) fn apt(&self) -> Result<Apt<'_>, Failure> {
        let release = Release { suite: SUITE, architecture: ARCHITECTURE, with_sources: true };
        Apt::with(&self.at, Some(release), &[])
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.at
    }

    /// Fetches a binary package (`libmceliece1=0~20241009-2`) and unpacks it: the folder that would be `/`, which is new each time.
    pub(super) fn unpack(&self, package: &str) -> Result<PathBuf, Failure> {
        let root = self.at.join("root");
        let _ = fs::remove_dir_all(&root);
        self.apt()?.unpack(package, &root)?;
        Ok(root)
    }

    /// Fetches a source package and unpacks the authors' archive, whose name and SHA-256 are those given, without Debian's patches: the folder
    /// with the sources, which is new each time.
    pub(super) fn source(&self, package: &str, archive: &str, sha256: &str) -> Result<PathBuf, Failure> {
        self.apt()?.source(&format!("{package}/{SUITE}"))?;
        check_digest(&self.at.join(archive), sha256)?;
        let to = self.at.join(package);
        let _ = fs::remove_dir_all(&to);
        make_directory(&to)?;
        untar(&self.at, archive, &to)?;
        let mut folders = entries(&to, |_| true)?;
        folders.pop().ok_or_else(|| format!("{archive} holds nothing"))
    }
}
