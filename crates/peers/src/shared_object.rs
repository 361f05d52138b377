//! A library that is loaded at run time: found, opened, asked for its version, and shown in lists.

#![allow(unsafe_code)] // Loading a library, and believing its header about the types of its functions.

pub(crate) mod built;
pub(crate) mod find;
pub(crate) mod given;

use crate::list::{Peer, PeerState};
use built::Built;
use candor_lab::{Entry, Provenance, Refusal, Tuning, objects};
use libloading::Library;
use std::path::{Path, PathBuf};

/// Which library: where its files are found and what is said of it.
pub(crate) struct Which {
    /// `libgcrypt`; subjects are called `libgcrypt-1.10.1`.
    pub(crate) name: &'static str,
    /// How the names of its files begin.
    pub(crate) file: &'static str,
    /// For `candor list peers`.
    pub(crate) what: &'static str,
    /// How to get it.
    pub(crate) how: &'static str,
    /// The arm, where nothing tells which it is.
    pub(crate) arm: &'static str,
    /// Files beside it that must be in memory first, because it asks for them by these names.
    pub(crate) needs: &'static [&'static str],
}

/// The arm of libraries that look at the CPU for themselves.
pub(crate) const CHOSEN_AT_RUN_TIME: &str = "chosen by the library at run time, which does not tell which";

/// A shared object with the functions `F`, which hold it in memory.
pub(crate) struct SharedObject<F> {
    /// `libgcrypt-1.10.1`, `gf2x-1.3.0+tuned`; without a plus where nothing tells how it was built.
    pub(crate) name: String,
    which: &'static Which,
    version: String,
    path: PathBuf,
    /// What stands beside it, if `cargo xtask peers` has built it.
    built: Built,
    pub(crate) functions: F,
}

/// All objects of one library.
pub(crate) struct Found<F> {
    which: &'static Which,
    /// Each name once, or its path and why it is of no use.
    objects: Vec<Result<SharedObject<F>, (PathBuf, String)>>,
}

/// Says the version and finds the functions; what was built by us also has what the recipe has written down.
type LookUp<F> = fn(Library, &Built) -> Result<(String, F), String>;

impl<F> Found<F> {
    /// Looks for the library and opens what there is.
    pub(crate) fn look_for(which: &'static Which, look_up: LookUp<F>) -> Self {
        let mut found = Self { which, objects: Vec::new() };
        for path in find::libraries(which.file) {
            let opened = open(which, &path, look_up).map_err(|reason| (path, reason));
            if !opened.as_ref().is_ok_and(|new| found.usable().any(|known| known.name == new.name)) {
                if let Ok(new) = &opened {
                    objects::named(&new.path, which.file, &new.name);
                }
                found.objects.push(opened);
            }
        }
        found
    }

    /// The objects that can be used.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &SharedObject<F>> {
        self.objects.iter().flatten()
    }

    /// For `candor list peers`.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let Which { name: library, what, how, .. } = *self.which;
        let peer = |name: &str, state| Peer { name: name.into(), library: library.into(), what, state };
        let known = |object: &Result<SharedObject<F>, (PathBuf, String)>| match object {
            Ok(found) => {
                peer(&found.name, PeerState::Found { version: found.version.clone(), path: found.path.clone() })
            }
            Err((path, reason)) => {
                peer(library, PeerState::Refused { reason: format!("{}: {reason}", path.display()) })
            }
        };
        match self.objects.as_slice() {
            [] => vec![peer(library, PeerState::Missing { how: how.into() })],
            all => all.iter().map(known).collect(),
        }
    }

    /// An entry for every object that can be used, or one that says how to get one.
    pub(crate) fn each(&'static self, entry: impl Fn(&'static SharedObject<F>) -> Entry) -> Vec<Entry> {
        self.each_by_several(|object| vec![entry(object)])
    }

    /// Like [`Self::each`], where an object has several entries.
    pub(crate) fn each_by_several(&'static self, of: impl Fn(&'static SharedObject<F>) -> Vec<Entry>) -> Vec<Entry> {
        let entries: Vec<Entry> = self.usable().flat_map(of).collect();
        match entries.is_empty() {
            true => {
                let reason = format!("is not on this machine: {}", self.which.how);
                vec![Entry::refused(self.which.name, Refusal::new(reason))]
            }
            false => entries,
        }
    }
}

fn open<F>(which: &'static Which, path: &Path, look_up: LookUp<F>) -> Result<SharedObject<F>, String> {
    for needed in which.needs.iter().map(|name| path.with_file_name(name)).filter(|file| file.exists()) {
        // SAFETY: as below. It stays in memory for good, as the library does that needs it.
        let loaded = unsafe { Library::new(&needed) };
        std::mem::forget(loaded.map_err(|error| format!("{} does not load: {error}", needed.display()))?);
    }
    objects::meet(path);
    // SAFETY: loading runs the library's constructors. It is one of the system's or one that the user named; those that are
    // loaded here have constructors that look at the CPU or fill tables of their own, if any.
    let loaded = unsafe { Library::new(path) }.map_err(|error| format!("does not load: {error}"))?;
    let built = Built::beside(path).unwrap_or_default();
    let (version, functions) = look_up(loaded, &built)?;
    let variant = built.field("variant").map(|variant| format!("+{variant}"));
    let name = format!("{}-{version}{}", which.name, variant.unwrap_or_default());
    Ok(SharedObject { name, which, version, path: path.to_owned(), built, functions })
}

/// Looks a function up, or a variable.
///
/// # Safety
/// `F` is the type of the function of that name, or of a pointer to the variable, and is not used once the library is gone.
pub(crate) unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller's promise.
    unsafe { library.get::<F>(name) }.map(|function| *function).map_err(|_| format!("has no {name}"))
}

impl<F> SharedObject<F> {
    /// The provenance of a subject of this library.
    pub(crate) fn provenance(&self, timed: &str) -> Provenance {
        self.provenance_of_tunable(timed, Tuning::NotApplicable)
    }

    /// The same for a library with thresholds to tune. `untuned` is what to say where nothing tells that they were.
    pub(crate) fn provenance_of_tunable(&self, timed: &str, untuned: Tuning) -> Provenance {
        let timed = format!("{timed} ({})", find::shown(&self.path));
        let told = self.built.provenance(self.which.name, &self.version, &timed, untuned);
        Provenance {
            build: told.build.or_else(|| Some("unknown: the library does not tell how it was built".into())),
            arm: told.arm.or_else(|| Some(self.which.arm.into())),
            object_sha256: objects::sha256(&self.path),
            ..told
        }
    }
}
