//! GNU coreutils: `sha256sum`, which most people hash files with.

#![cfg(feature = "peer-coreutils")]

use crate::contract::file_hash::{self, Program, TIMED};
use crate::list::{Offers, Peer, PeerState};
use crate::program;
use crate::shared_object::find;
use candor_lab::{Entry, Provenance, Refusal, objects};
use std::path::PathBuf;
use std::sync::LazyLock;

const COREUTILS: &str = "coreutils";
const WHAT: &str = "GNU's sha256sum, a process for each file";
const HOW: &str = "it comes with GNU coreutils (Debian: apt install coreutils)";

/// The program and its version, or why it is of no use; none if there is no program of this name.
static FOUND: LazyLock<Option<Result<(PathBuf, String), String>>> = LazyLock::new(|| {
    let path = program::on_path("sha256sum")?;
    let said = program::says(&path, "--version", None).unwrap_or_default();
    Some(version(&said).map(|version| (path, version.to_owned())))
});

/// From the first line of `sha256sum --version`.
fn version(said: &str) -> Result<&str, String> {
    let version = said.strip_prefix("sha256sum (GNU coreutils) ").map(str::trim);
    version
        .filter(|version| !version.is_empty())
        .ok_or_else(|| format!("sha256sum says {said:?}; expected that of GNU coreutils"))
}

/// What coreutils offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        let (version, state) = match &*FOUND {
            None => (None, PeerState::Missing { how: HOW.into() }),
            Some(Err(reason)) => (None, PeerState::Refused { reason: reason.clone() }),
            Some(Ok((path, version))) => {
                (Some(version), PeerState::Found { version: version.clone(), path: path.clone() })
            }
        };
        let name = version.map_or(COREUTILS.to_owned(), |version| format!("{COREUTILS}-{version}"));
        vec![Peer { name, library: COREUTILS.into(), what: WHAT, state }]
    }

    fn file_sha256(&self, bytes: u64) -> Vec<Entry> {
        let refused = |reason: String| vec![Entry::refused(COREUTILS, Refusal::new(reason))];
        let (path, version) = match &*FOUND {
            None => return refused(format!("is not on this machine: {HOW}")),
            Some(Err(reason)) => return refused(reason.clone()),
            Some(Ok(found)) => found,
        };
        let make = move || {
            let provenance = Provenance {
                build: Some(format!("as installed in {}", find::shown(path))),
                object_sha256: objects::sha256(path),
                ..Provenance::of(COREUTILS, version, TIMED)
            };
            Ok(Program { path: path.clone(), arguments: Vec::new(), libraries: None, provenance })
        };
        vec![file_hash::entry(format!("{COREUTILS}-{version}"), bytes, make)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gnu_s_program_is_taken_for_it() {
        assert_eq!(version("sha256sum (GNU coreutils) 9.1"), Ok("9.1"));
        for other in ["sha256sum (uutils coreutils) 0.2.2", "BusyBox v1.36.1", "sha256sum (GNU coreutils) ", ""] {
            assert!(version(other).unwrap_err().contains("expected that of GNU coreutils"), "{other}");
        }
    }
}
