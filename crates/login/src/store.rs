//! The database: SQLite or PostgreSQL, behind one set of methods.
//!
//! - A change that belongs together is one method and one transaction, with its entry in the audit log: either all of it happened or nothing.
//! - What a method has answered with `Ok` is on the disk. If the process is killed before, the change may have happened or not; it never has
//!   by half.
//! - Nothing in the database opens anything by itself: tokens are stored as hashes, OPAQUE's keys sealed under the
//!   [`MasterKey`], passwords not at all.
//! - Several processes may use one database at the same time, with SQLite on one machine.
//!
//! `sqlite:PATH` is a file in WAL mode. Reading happens on the calling thread: a look-up takes microseconds, less than handing it to another
//! thread. Writing happens on a thread of its own, and all changes that wait share one commit, so that many changes cost one wait for the disk.
//!
//! `postgres://…` is a pool of up to sixteen connections. Rows are locked in the order registration token, key of the
//! ring, account, session, shares, audit log.

mod accounts;
mod audit;
mod backup;
mod devices;
mod error;
mod imports;
mod postgres;
mod ring;
mod schema;
mod sessions;
mod shares;
mod sql;
mod sqlite;
mod tokens;
mod upkeep;

pub use accounts::{Account, AccountSummary, NewAccount, NewRecord, Opens};
pub use audit::{Actor, AuditEntry, AuditHead, Event};
pub use devices::{Device, NewDevice};
pub use error::{Conflict, StoreError};
pub use imports::Import;
pub use ring::{KeyState, RingKey};
pub use sessions::{NewSession, Refresh, Scope, Session};
pub use shares::{Answers, Found, SchemeShare, WHOLE};
pub use tokens::{Pruned, RegistrationToken};
pub use upkeep::Upkeep;

use crate::ids::random;
use crate::master::MasterKey;
use audit::AuditKey;
use postgres::Pool;
use sql::{Sql, arguments};
use sqlite::File;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

/// Bytes that a readiness check writes: at least as many as a login does, with its indices.
const ROOM: usize = 64 << 10;

/// Work on a connection.
type Working<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A database of accounts. Clones share its connections.
#[derive(Clone)]
pub struct Store {
    database: Arc<Database>,
    master: MasterKey,
    audit: AuditKey,
}

enum Database {
    Sqlite(File),
    Postgres(Box<Pool>),
}

/// What a URL names.
enum Place<'a> {
    File(&'a Path),
    Server(&'a str),
}

impl<'a> Place<'a> {
    fn of(url: &'a str) -> Result<Self, StoreError> {
        match url.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::File(Path::new(path))),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Server(url)),
            // The text may hold a password.
            _ => Err(StoreError::Url("not the URL of a database".to_owned())),
        }
    }
}

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    Sqlite,
    /// A server.
    Postgres,
}

impl Store {
    /// Opens the database at `url`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`, and brings it to today's schema. A file that does not
    /// exist is made. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`StoreError::MasterKey`] if the database was made with another master key; [`StoreError`].
    pub async fn open(url: &str, master: &MasterKey) -> Result<Self, StoreError> {
        let database = match Place::of(url)? {
            Place::File(path) => Database::Sqlite(File::open(path, master)?),
            Place::Server(url) => Database::Postgres(Box::new(Pool::open(url, master).await?)),
        };
        let audit = AuditKey::new(master.derive("audit log"));
        Ok(Self { database: Arc::new(database), master: master.clone(), audit })
    }

    /// Which database it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match *self.database {
            Database::Sqlite(_) => Kind::Sqlite,
            Database::Postgres(_) => Kind::Postgres,
        }
    }

    /// The master key that it was opened with.
    #[must_use]
    pub fn master(&self) -> &MasterKey {
        &self.master
    }

    /// Whether there is a database at `url` already. Nothing is made.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn exists(url: &str) -> Result<bool, StoreError> {
        match Place::of(url)? {
            Place::File(path) => Ok(std::fs::metadata(path).is_ok_and(|file| file.len() > 0)),
            Place::Server(url) => Pool::exists(url).await,
        }
    }

    /// Whether the database takes changes, for readiness checks. It writes as many bytes as a login does, always in the same place.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        // Different ones each time: SQLite writes no page that stays as it is.
        let bytes = random::<32>()?.repeat(ROOM / 32);
        self.write(move |sql| {
            Box::pin(async move {
                let write = "INSERT INTO room (only_row, bytes) VALUES (1, ?1) \
                             ON CONFLICT (only_row) DO UPDATE SET bytes = excluded.bytes";
                sql.execute(write, arguments![bytes.as_slice()]).await.map(drop)
            })
        })
        .await
    }

    /// What has been asked of the database since the last call: statements, and how many rows each gave or changed.
    #[cfg(test)]
    pub(crate) fn traced(&self) -> Vec<(&'static str, u64)> {
        match &*self.database {
            Database::Sqlite(file) => sqlite::trace::take(file.path()),
            Database::Postgres(_) => Vec::new(),
        }
    }

    /// Looks something up.
    async fn read<T: Send>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> Working<'a, T> + Send,
    ) -> Result<T, StoreError> {
        match &*self.database {
            Database::Sqlite(file) => file.read(work),
            Database::Postgres(pool) => pool.read(work).await,
        }
    }

    /// Looks at many rows, which with SQLite would hold up the calling thread for too long.
    async fn scan<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> Working<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &*self.database {
            Database::Sqlite(_) => {
                let database = Arc::clone(&self.database);
                let scan = tokio::task::spawn_blocking(move || match &*database {
                    Database::Sqlite(file) => file.read(work),
                    Database::Postgres(_) => Err(StoreError::Other("not SQLite any more".to_owned())),
                });
                scan.await.map_err(|error| StoreError::Other(error.to_string()))?
            }
            Database::Postgres(pool) => pool.scan(work).await,
        }
    }

    /// Changes something, in a transaction. An error undoes all of it.
    async fn write<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> Working<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &*self.database {
            Database::Sqlite(file) => file.write(work).await,
            Database::Postgres(pool) => pool.write(work).await,
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccountId, UnixTime};

    #[tokio::test]
    async fn an_event_in_a_new_file_is_there_when_the_file_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("login.db").display());
        let master = MasterKey::from_bytes([7; 32]);
        let event = Event::new(Actor::Server, "started", AccountId([3; 16])).with("for a test");
        let store = Store::open(&url, &master).await.unwrap();
        store.record(event, UnixTime(5)).await.unwrap();
        let mut files = 0;
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let mode = std::os::unix::fs::MetadataExt::mode(&file.unwrap().metadata().unwrap());
            assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
            files += 1;
        }
        assert!(files >= 2, "the database and its log");
        let entries = store.audit_entries(0, 10).await.unwrap();
        drop(store);

        let store = Store::open(&url, &master).await.unwrap();
        assert_eq!(store.audit_entries(0, 10).await.unwrap(), entries);
        assert_eq!(
            (entries[0].sequence, entries[0].actor.as_str(), entries[0].event.as_str()),
            (1, "server", "started")
        );
        assert!(store.audit_entry_fits(&[0; 32], &entries[0]));
        assert_eq!(store.audit_head().await.unwrap().hash, entries[0].hash);
        let other = MasterKey::from_bytes([8; 32]);
        assert_eq!(Store::open(&url, &other).await.map(drop), Err(StoreError::MasterKey));
    }

    #[tokio::test]
    async fn a_url_that_names_no_database_is_refused() {
        let master = MasterKey::from_bytes([7; 32]);
        for url in ["", "login.db", "sqlite:", "mysql://localhost/login", "postgres://localhost:port/login"] {
            let error = Store::open(url, &master).await.map(drop).unwrap_err();
            assert!(matches!(error, StoreError::Url(_)), "{url}: {error}");
        }
    }
}
