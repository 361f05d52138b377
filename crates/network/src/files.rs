//! Files: replacing them in one step, and how many may be open.

use crate::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces a file. Readers see the old text or the new one, never a part, even after a power cut.
pub(crate) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let write = || {
        // One that was left behind could have another mode.
        match std::fs::remove_file(&partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&partial, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        Error::file(path, &error)
    })
}

/// Raises the process's limit of open files as far as the system lets it, and says what it is then; `None` if there is no limit.
pub(crate) fn raise_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(_) => current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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
    fn the_limit_of_open_files_is_raised_to_the_most_that_is_allowed() {
        let allowed = raise_limit();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!((current, allowed), (maximum, maximum));
    }
}
