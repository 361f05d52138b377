//! SQLite: one file, one writer, readers that never wait.

use super::error::StoreError;
use super::sql::{Cell, Row, Sql, Value};
use crate::master::MasterKey;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};
use std::fs::OpenOptions;
use std::future::Future;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);
/// The most changes under one commit: whoever comes first does not wait for more.
const BATCH: usize = 64;
/// The most changes that wait for the writer; more are turned away as [`StoreError::Unavailable`].
const QUEUE: usize = 1024;
/// Prepared statements per connection; there are fewer.
const STATEMENTS: usize = 128;
/// The most idle connections for reading.
const READERS: usize = 16;

/// A connection to the file.
pub(super) struct Sqlite(Connection);

impl Sqlite {
    fn open(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(Self(connection))
    }

    /// A connection that writes. An acknowledged change is durable: `synchronous=FULL` waits for the disk at each commit.
    pub(super) fn writer(path: &Path) -> Result<Self, StoreError> {
        // Made here, so that only its owner can read it; SQLite gives the files beside it the same permissions. If this fails, SQLite says why.
        let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let sqlite = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        sqlite.0.pragma_update(None, "journal_mode", "WAL")?;
        sqlite.0.pragma_update(None, "synchronous", "FULL")?;
        sqlite.0.pragma_update(None, "foreign_keys", "ON")?;
        Ok(sqlite)
    }

    pub(super) fn reader(path: &Path) -> Result<Self, StoreError> {
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    /// Writes a copy, as the database is now, to an empty file.
    pub(super) fn copy_into(&self, to: &Path) -> Result<(), StoreError> {
        let to = to.to_str().ok_or_else(|| StoreError::Other("the path of a copy must be UTF-8".to_owned()))?;
        self.0.execute("VACUUM INTO ?1", [to])?;
        Ok(())
    }

    /// Reads everything, and says whether it fits together.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let said: String = self.0.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if said == "ok" { Ok(()) } else { Err(StoreError::Corrupt(said)) }
    }

    pub(super) fn execute(&self, sql: &'static str, arguments: &[Value<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.0.prepare_cached(sql)?;
        let changed = statement.execute(rusqlite::params_from_iter(arguments))? as u64;
        #[cfg(test)]
        trace::note(self.0.path(), sql, changed);
        Ok(changed)
    }

    pub(super) fn query(&self, sql: &'static str, arguments: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let mut statement = self.0.prepare_cached(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(arguments))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|column| row.get_ref(column).map_err(StoreError::from).and_then(cell));
            found.push(Row(cells.collect::<Result<_, _>>()?));
        }
        #[cfg(test)]
        trace::note(self.0.path(), sql, found.len() as u64);
        Ok(found)
    }

    pub(super) fn batch(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.0.execute_batch(sql)?)
    }
}

fn cell(value: ValueRef<'_>) -> Result<Cell, StoreError> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
        ValueRef::Text(text) => Cell::Text(
            String::from_utf8(text.to_vec())
                .map_err(|_| StoreError::Corrupt("a text is not valid UTF-8".to_owned()))?,
        ),
        ValueRef::Real(_) => return Err(StoreError::Corrupt("a number is not whole".to_owned())),
    })
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Integer(number) => ValueRef::Integer(number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
            Self::Null => ValueRef::Null,
        }))
    }
}

/// The file: a thread that writes, and connections that read.
pub(super) struct File {
    path: PathBuf,
    writer: SyncSender<Box<dyn Job>>,
    readers: Mutex<Vec<Sql>>,
}

impl File {
    /// Opens the file, or makes it, and brings it to today's schema.
    pub(super) fn open(path: &Path, master: &MasterKey) -> Result<Self, StoreError> {
        let mut sql = Sql::Sqlite(Sqlite::writer(path)?);
        now(super::schema::migrate(&mut sql, master))?;
        let opened = Opened { path: path.to_owned(), inode: inode(path)? };
        let (writer, jobs) = sync_channel(QUEUE);
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || write(sql, &opened, &jobs))
            .map_err(|error| StoreError::Other(format!("can't start the thread that writes: {error}")))?;
        Ok(Self { path: path.to_owned(), writer, readers: Mutex::new(Vec::new()) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads on the calling thread: a look-up in an open file takes less time than handing it to another thread.
    pub(super) fn read<T>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> super::Working<'a, T>,
    ) -> Result<T, StoreError> {
        let idle = self.lock().pop();
        let mut sql = match idle {
            Some(sql) => sql,
            None => Sql::Sqlite(Sqlite::reader(&self.path)?),
        };
        let answer = now(work(&mut sql))?;
        let mut idle = self.lock();
        if idle.len() < READERS {
            idle.push(sql);
        }
        Ok(answer)
    }

    /// Queues a change. When it is answered with `Ok`, it is on the disk.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> super::Working<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Waiting { work: Some(work), done: None, answer: Some(answer) };
        self.writer.try_send(Box::new(job)).map_err(|error| {
            StoreError::Unavailable(match error {
                TrySendError::Full(_) => "too many changes are waiting".to_owned(),
                TrySendError::Disconnected(_) => "the thread that writes has ended".to_owned(),
            })
        })?;
        answered.await.map_err(|_| StoreError::Unavailable("the thread that writes has ended".to_owned()))?
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Sql>> {
        self.readers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A change that waits for its turn, and then for the commit.
trait Job: Send {
    /// Makes the change; says whether to keep it.
    fn run(&mut self, sql: &mut Sql) -> bool;
    /// Answers: with the outcome of the change, or with what went wrong with the commit.
    fn answer(&mut self, committed: &Result<(), StoreError>);
}

struct Waiting<W, T> {
    work: Option<W>,
    done: Option<Result<T, StoreError>>,
    answer: Option<oneshot::Sender<Result<T, StoreError>>>,
}

impl<T: Send, W: for<'a> FnOnce(&'a mut Sql) -> super::Working<'a, T> + Send> Job for Waiting<W, T> {
    fn run(&mut self, sql: &mut Sql) -> bool {
        let done = self.work.take().map(|work| now(work(sql)));
        let keep = matches!(done, Some(Ok(_)));
        self.done = done;
        keep
    }

    fn answer(&mut self, committed: &Result<(), StoreError>) {
        let outcome = match (self.done.take(), committed) {
            (Some(done), Ok(())) => done,
            // Also for what was refused: the reason may have been another change of this commit.
            (_, Err(error)) => Err(error.clone()),
            (None, Ok(())) => Err(StoreError::Unavailable("the change was not tried".to_owned())),
        };
        if let Some(answer) = self.answer.take() {
            // Whoever asked may have gone; the change was made all the same.
            let _ = answer.send(outcome);
        }
    }
}

/// The file that was opened, whatever its path leads to later.
struct Opened {
    path: PathBuf,
    inode: (u64, u64),
}

impl Opened {
    /// Whether the path still leads to the file: changes of one that was removed or replaced would be lost with the last process that has it open.
    fn is_there(&self) -> Result<(), StoreError> {
        if inode(&self.path)? == self.inode {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "{} was replaced while the server had it open; stop the server before you restore a copy",
            self.path.display()
        )))
    }
}

/// The device and the inode of a file.
fn inode(path: &Path) -> Result<(u64, u64), StoreError> {
    let found = std::fs::metadata(path);
    let found = found.map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
    Ok((found.dev(), found.ino()))
}

/// Makes changes until the last [`File`] is gone. All that wait are made under one commit, so that they share one wait for the disk; each
/// has a savepoint, so that one that is refused takes no other with it.
fn write(mut sql: Sql, opened: &Opened, jobs: &Receiver<Box<dyn Job>>) {
    while let Ok(first) = jobs.recv() {
        let mut batch = Vec::from([first]);
        let mut committed = now(sql.batch("BEGIN IMMEDIATE"));
        if committed.is_ok() {
            committed = run(&mut sql, &mut batch, jobs).and_then(|()| opened.is_there());
            committed = committed.and_then(|()| now(sql.batch("COMMIT")));
            if committed.is_err() {
                // SQLite may have rolled back by itself.
                let _ = now(sql.batch("ROLLBACK"));
            }
        }
        batch.iter_mut().for_each(|job| job.answer(&committed));
    }
}

fn run(sql: &mut Sql, batch: &mut Vec<Box<dyn Job>>, jobs: &Receiver<Box<dyn Job>>) -> Result<(), StoreError> {
    let mut next = 0;
    while next < batch.len() {
        now(sql.batch("SAVEPOINT change"))?;
        let keep = batch[next].run(sql);
        now(sql.batch(if keep { "RELEASE change" } else { "ROLLBACK TO change; RELEASE change" }))?;
        next += 1;
        if batch.len() < BATCH {
            batch.extend(jobs.try_recv());
        }
    }
    Ok(())
}

/// The answer of work on SQLite, which never waits for anything but SQLite.
pub(super) fn now<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let work: Pin<&mut _> = pin!(work);
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(StoreError::Other("work on SQLite waits for something else".to_owned())),
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OutOfMemory,
            ) => Self::Unavailable(text),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(text),
            _ => Self::Other(text),
        }
    }
}

/// What was asked of each file, for tests that compare work.
#[cfg(test)]
pub(super) mod trace {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::sync::{LazyLock, Mutex};

    type Asked = Vec<(&'static str, u64)>;

    static ASKED: LazyLock<Mutex<HashMap<PathBuf, Asked>>> = LazyLock::new(Mutex::default);

    pub(super) fn note(path: Option<&str>, sql: &'static str, rows: u64) {
        ASKED.lock().unwrap().entry(path.unwrap_or_default().into()).or_default().push((sql, rows));
    }

    pub(in crate::store) fn take(path: &Path) -> Asked {
        let path = path.canonicalize().expect("the file of an open database");
        ASKED.lock().unwrap().remove(&path).unwrap_or_default()
    }
}
