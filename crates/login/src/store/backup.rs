//! A consistent copy of a database that is in use.

use super::error::StoreError;
use super::sqlite::Sqlite;
use super::{Database, Store};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Store {
    /// Writes a copy of a SQLite database to `to`, which must not exist. Logins and registrations go on meanwhile; the copy is as the database
    /// was at one moment. When this returns, the copy has been read back and is on the disk. It is of no use without the master key.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] for PostgreSQL, which has programs of its own for it; [`StoreError`].
    pub async fn back_up(&self, to: &Path) -> Result<(), StoreError> {
        let (database, to) = (Arc::clone(&self.database), to.to_owned());
        let copied = tokio::task::spawn_blocking(move || match &*database {
            Database::Sqlite(file) => copy(file.path(), &to),
            Database::Postgres(_) => {
                Err(StoreError::Unsupported("back up PostgreSQL with its own pg_dump, which copies a database in use"))
            }
        });
        copied.await.map_err(|error| StoreError::Other(error.to_string()))?
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    // Made here, so that only its owner can read it; SQLite takes an empty file.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    made.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => StoreError::Other(format!("{} exists; name a new file", to.display())),
        _ => failed(to, &error),
    })?;
    let written = write(from, to);
    if written.is_err() {
        let _ = std::fs::remove_file(to);
    }
    written
}

fn write(from: &Path, to: &Path) -> Result<(), StoreError> {
    Sqlite::reader(from)?.copy_into(to)?;
    Sqlite::reader(to)?.check()?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(PathBuf::from("."), Path::to_owned);
    let synced = File::open(to).and_then(|file| file.sync_all()).and_then(|()| File::open(folder)?.sync_all());
    synced.map_err(|error| failed(to, &error))
}

fn failed(file: &Path, error: &std::io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::StorageFull => StoreError::Full,
        _ => StoreError::Other(format!("can't write {}: {error}", file.display())),
    }
}
