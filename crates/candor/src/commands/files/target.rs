//! Where output goes: standard output, or a file that gets its name only once all of it is there.
//!
//! Until then the file has no name at all where the system can do that (O_TMPFILE), so that nothing is left of it even if candor is killed; elsewhere it has a
//! hidden name beside its own.

use crate::Failure;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The path that stands for standard output.
pub(super) const STDOUT: &str = "-";

/// Who may read a new file.
#[derive(Clone, Copy)]
pub(super) enum Readers {
    /// Its owner: secret keys, and plaintext.
    Owner,
    /// Whoever the user's mask allows.
    Anybody,
}

/// An output that is being written.
pub(super) enum Target {
    /// Without the buffer that looks for ends of lines.
    Stdout(File),
    File(Pending),
}

/// A file without its name.
pub(super) struct Pending {
    file: File,
    /// The hidden name, where it needs one.
    hidden: Option<PathBuf>,
    path: PathBuf,
    replace: bool,
}

impl Target {
    /// The file at `path`, or standard output, which is also `-`. A file that exists is an error unless it is to be replaced.
    pub(super) fn create(path: Option<&Path>, readers: Readers, replace: bool) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| *path != Path::new(STDOUT)) else {
            let stdout = io::stdout().as_fd().try_clone_to_owned();
            let stdout = stdout.map_err(|error| Failure::Error(format!("no standard output: {error}")))?;
            return Ok(Self::Stdout(File::from(stdout)));
        };
        match path.symlink_metadata() {
            // A device or a link would be replaced by a file, and not written to.
            Ok(about) if !about.is_file() => {
                let expected = "expected a regular file, or a name that is free";
                return Err(Failure::Error(format!("{} is not a regular file; {expected}", path.display())));
            }
            Ok(_) if !replace => return Err(exists(path)),
            _ => {}
        }
        let mode = match readers {
            Readers::Owner => 0o600,
            Readers::Anybody => 0o666,
        };
        let failed = |error: io::Error| Failure::Error(format!("can't write {}: {error}", path.display()));
        let folder = folder_of(path);
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        // Without /proc a file could not be given its name later.
        let can_be_named = Path::new("/proc/self/fd").is_dir();
        let nameless = can_be_named.then(|| rustix::fs::openat(CWD, folder, flags, Mode::from_raw_mode(mode)));
        let (file, hidden) = match nameless {
            Some(Ok(file)) => (File::from(file), None),
            _ => {
                let hidden = hidden_beside(path);
                let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&hidden);
                (opened.map_err(failed)?, Some(hidden))
            }
        };
        Ok(Self::File(Pending { file, hidden, path: path.to_owned(), replace }))
    }

    /// Refuses to write bytes to a terminal.
    pub(super) fn refuse_terminal(&self, what: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(stdout) if stdout.is_terminal() => {
                Err(Failure::Error(format!("{what} is no text for a terminal; name a file with --output")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let (written, name) = match self {
            Self::Stdout(stdout) => (stdout.write_all(bytes), "standard output".to_owned()),
            Self::File(pending) => (pending.file.write_all(bytes), pending.path.display().to_string()),
        };
        written.map_err(|error| Failure::Error(format!("can't write {name}: {error}")))
    }

    /// Gives the file its name, once all of it is on the disk.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(_) => Ok(()),
            Self::File(pending) => pending.finish(),
        }
    }
}

impl Pending {
    /// The name is on the disk as well when this returns: whoever deletes the original then loses nothing by a crash.
    fn finish(self) -> Result<(), Failure> {
        let path = self.path.clone();
        self.name()?;
        let named = File::open(folder_of(&path)).and_then(|folder| folder.sync_all());
        match named {
            // Some file systems have no such call for folders.
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
                Err(Failure::Error(format!("{} is written, but may lose its name in a crash: {error}", path.display())))
            }
            _ => Ok(()),
        }
    }

    fn name(mut self) -> Result<(), Failure> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.path),
            _ => Failure::Error(format!("can't write {}: {error}", self.path.display())),
        };
        self.file.sync_all().map_err(failed)?;
        if self.hidden.is_none() {
            // The name of an open file that has none yet.
            let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let link = |to: &Path| rustix::fs::linkat(CWD, &*own, CWD, to, AtFlags::SYMLINK_FOLLOW);
            if !self.replace {
                return link(&self.path).map_err(|error| failed(error.into()));
            }
            let hidden = hidden_beside(&self.path);
            link(&hidden).map_err(|error| failed(error.into()))?;
            self.hidden = Some(hidden);
        }
        let Some(hidden) = self.hidden.as_deref() else { return Ok(()) };
        let renamed = match self.replace {
            true => fs::rename(hidden, &self.path),
            false => rename_if_free(hidden, &self.path),
        };
        renamed.map_err(failed)?;
        self.hidden = None;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            let _ = fs::remove_file(hidden);
        }
    }
}

/// Where a file lies.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Renames a file, unless the name is taken. Not every file system has a call for that; one that has no hard links either is an error, because there would be a
/// moment in which the name may be taken.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => link_if_free(from, to),
        other => Ok(other?),
    }
}

/// The same in two steps, of which the first is refused if the name is taken.
fn link_if_free(from: &Path, to: &Path) -> io::Result<()> {
    rustix::fs::linkat(CWD, from, CWD, to, AtFlags::empty())?;
    fs::remove_file(from)
}

/// A name that nothing has: what a killed process with this number has left is in nobody's way.
fn hidden_beside(path: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    path.with_file_name(format!(".candor-{}-{:x}", std::process::id(), now.as_nanos()))
}

fn exists(path: &Path) -> Failure {
    Failure::Error(format!("{} exists; choose another name, or remove it", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn text(outcome: Result<(), Failure>) -> String {
        match outcome {
            Err(Failure::Error(text)) => text,
            _ => panic!("it is an error"),
        }
    }

    /// The same with a name from the start, as where O_TMPFILE is not to be had.
    fn named(path: &Path, replace: bool) -> Target {
        let hidden = hidden_beside(path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&hidden).unwrap();
        Target::File(Pending { file, hidden: Some(hidden), path: path.to_owned(), replace })
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let create = |replace| Target::create(Some(&path), Readers::Owner, replace).ok().unwrap();
        for make in [&(|| create(false)) as &dyn Fn() -> Target, &|| named(&path, false)] {
            let mut target = make();
            target.write(b"half").ok().unwrap();
            assert!(!path.exists());
            drop(target);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
            let mut target = make();
            target.write(b"whole").ok().unwrap();
            target.finish().ok().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"whole");
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_name_that_is_taken_is_never_taken_over_by_either_way() {
        for give in [rename_if_free as fn(&Path, &Path) -> io::Result<()>, link_if_free] {
            let folder = tempfile::tempdir().unwrap();
            let (ours, theirs, free) =
                (folder.path().join("ours"), folder.path().join("theirs"), folder.path().join("c"));
            fs::write(&ours, "ours").unwrap();
            fs::write(&theirs, "theirs").unwrap();
            assert_eq!(give(&ours, &theirs).map_err(|error| error.kind()), Err(io::ErrorKind::AlreadyExists));
            assert_eq!((fs::read(&ours).unwrap(), fs::read(&theirs).unwrap()), (b"ours".to_vec(), b"theirs".to_vec()));
            give(&ours, &free).unwrap();
            assert_eq!((ours.exists(), fs::read(&free).unwrap()), (false, b"ours".to_vec()));
        }
    }

    #[test]
    fn what_is_no_regular_file_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (link, linked) = (folder.path().join("link"), folder.path().join("linked"));
        fs::write(&linked, "theirs").unwrap();
        std::os::unix::fs::symlink(&linked, &link).unwrap();
        for path in [Path::new("/dev/null"), folder.path(), link.as_path()] {
            for replace in [false, true] {
                let refused = Target::create(Some(path), Readers::Anybody, replace).map(drop);
                assert!(text(refused).contains("is not a regular file"), "{}", path.display());
            }
        }
        assert!(Target::create(Some(&linked), Readers::Anybody, true).is_ok());
        assert_eq!(fs::read(&linked).unwrap(), b"theirs");
    }

    #[test]
    fn a_file_that_exists_is_replaced_only_if_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for make in [
            &(|replace| Target::create(Some(&path), Readers::Anybody, replace).ok().unwrap())
                as &dyn Fn(bool) -> Target,
            &|replace| named(&path, replace),
        ] {
            // One that appears while it is being written.
            let target = make(false);
            fs::write(&path, "theirs").unwrap();
            assert!(text(target.finish()).contains("exists"));
            assert_eq!(fs::read(&path).unwrap(), b"theirs");
            assert!(Target::create(Some(&path), Readers::Anybody, false).is_err());
            let mut target = make(true);
            target.write(b"ours").ok().unwrap();
            target.finish().ok().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"ours");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            fs::remove_file(&path).unwrap();
        }
    }
}
