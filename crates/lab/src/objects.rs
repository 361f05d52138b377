//! Files of others that subjects load or start: shared objects and programs, each with its digest.
//!
//! A run has thousands of processes, and they load the same files. So one process reads and digests a file, and the run tells the later ones: where the
//! libraries are, what they call themselves, their digests, and by which marks the file can be told from another ([`Stamp`]). A process that measures looks
//! for nothing and loads only the libraries after which its subjects are named. At the end of its preparations it compares the marks; if a file is no longer
//! the one that was probed, the process is lost, with that as its reason.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that subjects of a run stand on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    path: PathBuf,
    stamp: Stamp,
    /// What it is, if it was loaded. Programs are not.
    library: Option<Library>,
    /// SHA-256 of its bytes, if a subject needed it.
    sha256: Option<String>,
}

/// What a library is looked for and what its subjects are named after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Library {
    /// How the names of such files begin: `libcrypto`. Its path need not, since it was found by a link.
    file: String,
    /// `openssl-3.0.19`.
    name: String,
}

/// The marks by which a file is known again: its place on its disk, its length, and when it or its name was last changed. Who writes to a file, or puts another
/// in its place, changes one of them, unless he sets the machine's clock back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// The same of the inode. No call sets it.
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::from(&metadata))
    }

    /// In which mark another differs.
    fn differs_from(&self, other: &Self) -> Option<&'static str> {
        let marks = [
            ("length", self.length == other.length),
            ("time of modification", self.modified == other.modified),
            ("inode", (self.device, self.inode) == (other.device, other.inode)),
            ("time of change", self.changed == other.changed),
        ];
        marks.iter().find(|(_, same)| !same).map(|(mark, _)| *mark)
    }
}

#[cfg(unix)]
impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(not(unix))]
impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        let since = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = since.map_or((0, 0), |since| (since.as_secs() as i64, i64::from(since.subsec_nanos())));
        Self { device: 0, inode: 0, length: metadata.len(), modified, changed: modified }
    }
}

/// What a process knows of these files.
#[derive(Debug, Default)]
struct Known {
    /// What the run has told.
    told: Vec<Object>,
    /// The names of the subjects to be measured, if they are known.
    subjects: Option<Vec<String>>,
    /// What this process has met itself.
    met: Vec<Object>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { told: Vec::new(), subjects: None, met: Vec::new() });

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes over what the run tells a worker. One that measures is told its subjects.
pub(crate) fn told(objects: &[Object], subjects: Option<&[String]>) {
    *known() = Known { told: objects.to_vec(), subjects: subjects.map(<[_]>::to_vec), met: Vec::new() };
}

/// The libraries with such names that this process needs, where it was told them, in the order in which they were found; `None` if it must look for them.
#[must_use]
pub fn needed(file: &str) -> Option<Vec<PathBuf>> {
    known().needed(file)
}

/// Notes that a library at this path is about to be loaded.
pub fn meet(path: &Path) {
    known().meet(path);
}

/// Notes what the subjects of a library are named after that was looked for under the name `file` and loaded.
pub fn named(path: &Path, file: &str, name: &str) {
    known().named(path, file, name);
}

/// SHA-256 of a file in hexadecimal digits: as the run has told it if the marks are the same, and otherwise by reading it. `None` if it can't be read, or changed
/// after it was met.
#[must_use]
pub fn sha256(path: &Path) -> Option<String> {
    known().sha256(path)
}

/// What this process has met.
pub(crate) fn met() -> Vec<Object> {
    known().met.clone()
}

/// Says which of the files that these subjects stand on is no longer the one that was probed, and in what it differs.
pub(crate) fn changed(objects: &[Object], subjects: &[String]) -> Option<String> {
    objects.iter().filter(|object| object.is_needed(subjects)).find_map(|object| {
        let file = object.path.file_name().unwrap_or_default().display();
        match Stamp::of(&object.path) {
            None => Some(format!("{file} was there when it was probed and is gone")),
            Some(now) => {
                let mark = object.stamp.differs_from(&now)?;
                Some(format!("{file} is not the file that was probed: its {mark} differs"))
            }
        }
    })
}

/// Adds those to `all` that it does not have, and takes the newer of two.
pub(crate) fn add(all: &mut Vec<Object>, more: &[Object]) {
    for object in more {
        all.retain(|known| known.path != object.path || known == object);
        if !all.contains(object) {
            all.push(object.clone());
        }
    }
}

impl Object {
    /// Whether one of these subjects is named after it: `liboqs-0.13.0+openssl-3.0.19` is after two. A program is needed by those who were told of it.
    fn is_needed(&self, subjects: &[String]) -> bool {
        self.library.as_ref().is_none_or(|Library { name, .. }| subjects.iter().any(|subject| subject.contains(name)))
    }
}

impl Known {
    fn needed(&self, file: &str) -> Option<Vec<PathBuf>> {
        let subjects = self.subjects.as_ref()?;
        let is_one = |object: &&Object| object.library.as_ref().is_some_and(|library| library.file == file);
        let libraries = self.told.iter().filter(is_one).filter(|object| object.is_needed(subjects));
        Some(libraries.map(|object| object.path.clone()).collect())
    }

    fn meet(&mut self, path: &Path) -> Option<&mut Object> {
        if !self.met.iter().any(|object| object.path == path) {
            let stamp = Stamp::of(path)?;
            self.met.push(Object { path: path.to_owned(), stamp, library: None, sha256: None });
        }
        self.met.iter_mut().find(|object| object.path == path)
    }

    fn named(&mut self, path: &Path, file: &str, name: &str) {
        if let Some(object) = self.meet(path) {
            object.library = Some(Library { file: file.to_owned(), name: name.to_owned() });
        }
    }

    fn sha256(&mut self, path: &Path) -> Option<String> {
        let Object { stamp, sha256, .. } = self.meet(path)?.clone();
        if sha256.is_some() {
            return sha256;
        }
        let told = self.told.iter().find(|object| object.path == path && object.stamp == stamp);
        let digest = match told.and_then(|object| object.sha256.clone()) {
            Some(digest) => digest,
            None => base16ct::lower::encode_string(&Sha256::digest(fs::read(path).ok()?)),
        };
        // It is the digest of what was loaded only if the file is still that.
        Stamp::of(path).filter(|now| *now == stamp)?;
        self.meet(path)?.sha256 = Some(digest.clone());
        Some(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of `abc` (FIPS 180-4).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn file(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.into()).collect()
    }

    /// A library that a probe has met and digested.
    fn probed(path: &Path, file: &str, name: &str) -> Object {
        let mut known = Known::default();
        known.named(path, file, name);
        assert!(known.sha256(path).is_some());
        known.met.remove(0)
    }

    #[test]
    fn a_digest_that_was_told_is_taken_for_the_same_file_and_for_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "liba.so.1", b"abc");
        let mut told = probed(&path, "liba", "a-1");
        assert_eq!(told.sha256.as_deref(), Some(ABC));
        told.sha256 = Some("as told".into());
        let later = |told: &Object| Known { told: vec![told.clone()], ..Known::default() }.sha256(&path);
        assert_eq!(later(&told).as_deref(), Some("as told"));
        for stamp in [
            Stamp { length: 4, ..told.stamp },
            Stamp { inode: told.stamp.inode ^ 1, ..told.stamp },
            Stamp { modified: (1, 0), ..told.stamp },
            Stamp { changed: (1, 0), ..told.stamp },
        ] {
            assert_eq!(later(&Object { stamp, ..told.clone() }).as_deref(), Some(ABC), "{stamp:?}");
        }
    }

    #[test]
    fn a_file_that_is_replaced_after_it_was_loaded_has_no_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "liba.so.1", b"abc");
        let mut known = Known::default();
        known.meet(&path);
        let other = file(&folder, "other", b"abc");
        fs::rename(other, &path).unwrap();
        assert_eq!(known.sha256(&path), None);
        assert_eq!(Known::default().sha256(&path).as_deref(), Some(ABC), "whoever meets it now has it");
        assert_eq!(Known::default().sha256(&folder.path().join("missing")), None);
    }

    #[test]
    fn a_measuring_process_needs_the_libraries_of_its_subjects_in_their_order_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let object = |path: &str, library: &str, name: &str| probed(&file(&folder, path, b"abc"), library, name);
        let mut program = object("openssl", "", "");
        program.library = None;
        let told = vec![
            object("libcrypto.so.4", "libcrypto", "openssl-4.0.3"),
            object("liboqs.so.7", "liboqs", "liboqs-0.13.0"),
            // Behind a link of another name.
            object("crypto-3.0.19.so", "libcrypto", "openssl-3.0.19"),
            program,
        ];
        let needed = |library: &str, subjects: &[&str]| -> Vec<String> {
            let known = Known { told: told.clone(), subjects: Some(names(subjects)), met: Vec::new() };
            let paths = known.needed(library).unwrap();
            paths.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(needed("libcrypto", &["candor@avx2", "candor@avx2#2", "openssl-3.0.19"]), ["crypto-3.0.19.so"]);
        assert_eq!(needed("libcrypto", &["openssl-3.0.19", "openssl-4.0.3"]), ["libcrypto.so.4", "crypto-3.0.19.so"]);
        let on_both = ["liboqs-0.13.0+openssl-3.0.19"];
        assert_eq!(
            (needed("liboqs", &on_both), needed("libcrypto", &on_both)),
            (vec!["liboqs.so.7".into()], vec!["crypto-3.0.19.so".into()])
        );
        assert!(needed("liboqs", &["openssl-3.0.19"]).is_empty() && needed("libcrypto", &["openssl-3.5.0"]).is_empty());
        assert_eq!(
            Known { told: told.clone(), ..Known::default() }.needed("libcrypto"),
            None,
            "a probe looks for them"
        );
    }

    #[test]
    fn a_file_that_is_not_the_one_that_was_probed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "liba.so.1", b"abc");
        let objects = [probed(&path, "liba", "a-1")];
        let subjects = names(&["ours", "a-1+batch"]);
        assert_eq!(changed(&objects, &subjects), None);
        // The same bytes, length and time of modification in another file of that name.
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let other = file(&folder, "other", b"abc");
        fs::File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(other, &path).unwrap();
        let why = changed(&objects, &subjects).unwrap();
        assert_eq!(why, "liba.so.1 is not the file that was probed: its inode differs");
        assert_eq!(changed(&objects, &names(&["ours", "b-1"])), None, "nobody needs it");
        fs::remove_file(&path).unwrap();
        assert!(changed(&objects, &subjects).unwrap().ends_with("is gone"));
    }

    #[test]
    fn the_newer_of_two_findings_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (file(&folder, "liba.so.1", b"abc"), file(&folder, "libb.so.1", b"abc"));
        let (older, b) = (probed(&a, "liba", "a-1"), probed(&b, "libb", "b-1"));
        let newer = Object { sha256: None, ..older.clone() };
        let mut all = vec![older.clone()];
        add(&mut all, &[b.clone(), older.clone()]);
        assert_eq!(all, [older, b.clone()]);
        add(&mut all, std::slice::from_ref(&newer));
        assert_eq!(all, [b, newer]);
    }
}
