//! What is measured wants its machine for itself: a lock of the kernel in the machine's temporary folder, which sweeps of all folders share.

use crate::LabError;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where Linux says which boot of which machine this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// How a shard uses its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Beside others that do the same: it is simulated.
    Shared,
    /// Alone: it is measured.
    Alone,
}

/// A part of this machine, or all of it. Dropping it, or the end of the process, gives it back.
#[derive(Debug)]
pub struct Host(#[expect(dead_code, reason = "closing it ends the lock")] File);

impl Host {
    /// Takes this machine. `None` if another shard uses it in a way that excludes this one.
    ///
    /// # Errors
    /// The lock can't be made or taken.
    pub fn taken(by: Use) -> Result<Option<Self>, LabError> {
        let (path, file) = opened()?;
        let locked = match by {
            Use::Shared => file.try_lock_shared(),
            Use::Alone => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(LabError::Io { doing: "can't lock", path, source }),
        }
    }

    /// Waits until this machine can be used so. By the time it is taken, another may have it again.
    ///
    /// # Errors
    /// As for [`Host::taken`].
    pub fn wait(by: Use) -> Result<(), LabError> {
        let (path, file) = opened()?;
        let locked = match by {
            Use::Shared => file.lock_shared(),
            Use::Alone => file.lock(),
        };
        locked.map_err(|source| LabError::Io { doing: "can't lock", path, source })
    }
}

/// The lock. The boot is in its name because several machines may have one temporary folder. It stays behind: if it were removed, two processes could hold two locks of that name.
fn opened() -> Result<(PathBuf, File), LabError> {
    let boot = std::fs::read_to_string(BOOT).unwrap_or_default();
    let boot: String = boot.chars().filter(char::is_ascii_alphanumeric).collect();
    let path = std::env::temp_dir().join(format!("candor-sweep-{boot}.lock"));
    let file = open(&path);
    file.map_err(|source| LabError::Io { doing: "can't open", path: path.clone(), source }).map(|file| (path, file))
}

/// Another user may have made it, so it is only read; the lock does not need more.
fn open(path: &Path) -> io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match File::options().read(true).write(true).create_new(true).open(path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => File::open(path),
                made => made,
            }
        }
        opened => opened,
    }
}
