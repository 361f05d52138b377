//! A library of the system that is loaded at run time: found, opened, asked for its version, and shown in lists.

#![allow(unsafe_code)] // Loading a library, and believing its header about the types of its functions.

use super::{Peer, PeerState, find};
use candor_lab::{Entry, Provenance, Refusal};
use libloading::Library;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A shared object with the functions `F`, which hold it in memory.
pub(super) struct SharedObject<F> {
    /// `libgcrypt-1.10.1`.
    pub(super) name: String,
    library: &'static str,
    version: String,
    path: PathBuf,
    pub(super) functions: F,
    sha256: OnceLock<Option<String>>,
}

/// All objects of one library: each version once, or its path and why it is of no use.
pub(super) type Found<F> = Vec<Result<SharedObject<F>, (PathBuf, String)>>;

/// Looks for `library` (the beginning of its files' names as well) and opens what there is. `look_up` says the version and
/// finds the functions.
pub(super) fn find_all<F>(library: &'static str, look_up: fn(Library) -> Result<(String, F), String>) -> Found<F> {
    let mut all: Found<F> = Vec::new();
    for path in find::libraries(library) {
        let opened = open(library, &path, look_up).map_err(|reason| (path, reason));
        let known = |new: &SharedObject<F>| all.iter().flatten().any(|found| found.name == new.name);
        if !opened.as_ref().is_ok_and(known) {
            all.push(opened);
        }
    }
    all
}

fn open<F>(
    library: &'static str,
    path: &Path,
    look_up: fn(Library) -> Result<(String, F), String>,
) -> Result<SharedObject<F>, String> {
    // SAFETY: loading runs the library's constructors. It is one of the system's or one that the user named; those that are
    // loaded here have constructors that look at the CPU and nothing else.
    let loaded = unsafe { Library::new(path) }.map_err(|error| format!("does not load: {error}"))?;
    let (version, functions) = look_up(loaded)?;
    let name = format!("{library}-{version}");
    Ok(SharedObject { name, library, version, path: path.to_owned(), functions, sha256: OnceLock::new() })
}

/// Looks one function up.
///
/// # Safety
/// `F` is the type of the function of that name, and is not used once the library is gone.
pub(super) unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller's promise.
    unsafe { library.get::<F>(name) }.map(|function| *function).map_err(|_| format!("has no {name}"))
}

/// For `candor list peers`.
pub(super) fn peers<F>(found: &Found<F>, library: &'static str, what: &'static str, how: &str) -> Vec<Peer> {
    let peer = |name: &str, state| Peer { name: name.into(), library: library.into(), what, state };
    let known = |found: &Result<SharedObject<F>, (PathBuf, String)>| match found {
        Ok(found) => peer(&found.name, PeerState::Found { version: found.version.clone(), path: found.path.clone() }),
        Err((path, reason)) => peer(library, PeerState::Refused { reason: format!("{}: {reason}", path.display()) }),
    };
    match found.as_slice() {
        [] => vec![peer(library, PeerState::Missing { how: how.into() })],
        all => all.iter().map(known).collect(),
    }
}

/// An entry for every object that can be used, or one that says how to get one.
pub(super) fn each<F>(
    found: &'static Found<F>,
    library: &'static str,
    how: &str,
    entry: impl Fn(&'static SharedObject<F>) -> Entry,
) -> Vec<Entry> {
    let entries: Vec<Entry> = found.iter().flatten().map(entry).collect();
    match entries.is_empty() {
        true => vec![Entry::refused(library, Refusal::new(format!("is not on this machine: {how}")))],
        false => entries,
    }
}

impl<F> SharedObject<F> {
    /// What a subject of this library says about itself: `build` and `arm` as far as it tells them.
    pub(super) fn provenance(&self, timed: &str, build: Option<String>, arm: Option<String>) -> Provenance {
        Provenance {
            build: Some(build.unwrap_or_else(|| "as the system ships it; the library does not tell how".into())),
            arm: Some(arm.unwrap_or_else(|| "chosen by the library at run time, which does not tell which".into())),
            object_sha256: self.sha256.get_or_init(|| find::sha256(&self.path)).clone(),
            ..Provenance::of(self.library, &self.version, &format!("{timed} ({})", self.path.display()))
        }
    }
}
