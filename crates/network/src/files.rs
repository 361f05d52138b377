//! Files: replacing them in one step, and how many may be open.

use crate::Error;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// Replaces a file. Readers see the old text or the new one, never a part, even after a power cut.
pub(crate) fn replace(path: &Path, text: impl AsRef<[u8]>, mode: u32) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let written = write(&partial, text.as_ref(), mode).and_then(|()| {
        std::fs::rename(&partial, path)?;
        sync_folder(path)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        Error::file(path, &error)
    })
}

/// Reads a file of secrets, of at most `most` bytes, which its owner alone may read.
pub(crate) fn read_secret(path: &Path, file: File, most: usize) -> Result<Zeroizing<String>, Error> {
    let wrong = |why: String| Error::KeyFile { path: path.to_owned(), why };
    let metadata = file.metadata().map_err(|error| Error::file(path, &error))?;
    if !metadata.is_file() {
        return Err(wrong("not a file".to_owned()));
    }
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong(format!(
            "others may read or change it (mode {:03o}); make it yours alone: chmod 600 {}",
            mode & 0o777,
            path.display()
        )));
    }
    // Room for all of it beforehand, so that no copy is left behind by growing.
    let mut text = Zeroizing::new(String::with_capacity(most));
    file.take(most as u64).read_to_string(&mut text).map_err(|error| Error::file(path, &error))?;
    Ok(text)
}

/// Reads a file that may have at most `most` bytes. One that is longer is an error, and no more of it is read.
pub(crate) fn read_bounded(path: &Path, most: usize) -> Result<Vec<u8>, Error> {
    match read_up_to(path, most) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Error::File { path: path.to_owned(), why: format!("longer than {most} bytes") }),
        Err(error) => Err(Error::file(path, &error)),
    }
}

/// The same with the system's own error, and `None` for a file that is longer.
pub(crate) fn read_up_to(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() <= most))
}

/// Raises the process's limit of open files as far as the system lets it, and says what it is then; `None` if there is no limit.
pub(crate) fn raise_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(_) => current,
    }
}

/// Writes a new file as a whole, and none if there is one: of several processes, one succeeds.
pub(crate) fn create(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let written = write(&partial, text.as_bytes(), mode).and_then(|()| {
        // Unlike renaming, that replaces nothing.
        std::fs::hard_link(&partial, path)?;
        sync_folder(path)
    });
    let _ = std::fs::remove_file(&partial);
    written.map_err(|error| Error::file(path, &error))
}

/// Writes a file that was not there, to the disk.
fn write(path: &OsStr, text: &[u8], mode: u32) -> io::Result<()> {
    // One that was left behind could have another mode.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

/// Brings the names in a file's folder to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the process, or the system, has as many files open as it may.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["one", "two"] {
            replace(&path, text, 0o600).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // A folder in the way of the partial file: nothing can be written.
        std::fs::create_dir(folder.path().join("file.partial")).unwrap();
        assert!(matches!(replace(&path, "three", 0o600), Err(Error::File { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
    }

    #[test]
    fn a_new_file_is_whole_and_replaces_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        create(&path, "one", 0o600).unwrap();
        assert!(matches!(create(&path, "two", 0o600), Err(Error::File { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_that_can_not_be_written_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let partial = folder.path().join(format!("file.{}.partial", std::process::id()));
        std::fs::create_dir(&partial).unwrap();
        assert!(matches!(create(&path, "one", 0o600), Err(Error::File { .. })));
        assert!(!path.exists());
    }

    #[test]
    fn the_limit_of_open_files_is_raised_to_the_most_that_is_allowed() {
        let allowed = raise_limit();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!((current, allowed), (maximum, maximum));
    }
}
