//! PostgreSQL: a pool of connections, each change a transaction of its own.

mod channel;

use super::error::StoreError;
use super::sql::{Cell, Row, Sql, Value};
use crate::master::MasterKey;
use bytes::BytesMut;
use channel::Verified;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, Statement};

/// The most connections of one process; others wait.
const CONNECTIONS: usize = 16;
/// How long to wait for a connection, and for a free one.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for what a request asks. Longer than for any lock: then the database itself is stuck, or cannot be reached any more.
const ANSWER: Duration = Duration::from_secs(10);
/// What each session of the database is told first. A change that waits for a lock gives up before its client does.
const SESSION: &str = "SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '30s'; \
                       SET synchronous_commit = on; SET client_min_messages = warning";

/// A connection with its prepared statements.
pub(super) struct Postgres {
    client: Client,
    statements: HashMap<&'static str, Statement>,
}

impl Postgres {
    async fn connect(config: &Config, verified: Option<&Verified>) -> Result<Self, StoreError> {
        // The task ends when the client is dropped; what goes wrong with the connection the client says.
        let client = match verified {
            None => {
                let (client, connection) = within(config.connect(NoTls)).await??;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
            Some(verified) => {
                let connected = within(config.connect(verified.clone())).await?;
                let (client, connection) = connected.map_err(|error| match StoreError::from(error) {
                    // Neither the network's nor the database's word: the handshake's.
                    StoreError::Other(why) => StoreError::Tls(why),
                    other => other,
                })?;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
        };
        client.batch_execute(SESSION).await?;
        Ok(Self { client, statements: HashMap::new() })
    }

    pub(super) async fn execute(&mut self, sql: &'static str, arguments: &[Value<'_>]) -> Result<u64, StoreError> {
        let statement = self.prepared(sql).await?;
        Ok(self.client.execute(&statement, &references(arguments)).await?)
    }

    pub(super) async fn query(&mut self, sql: &'static str, arguments: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(sql).await?;
        let rows = self.client.query(&statement, &references(arguments)).await?;
        rows.iter().map(row).collect()
    }

    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        Ok(self.client.batch_execute(sql).await?)
    }

    async fn prepared(&mut self, sql: &'static str) -> Result<Statement, StoreError> {
        match self.statements.entry(sql) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(place) => {
                let statement = self.client.prepare(&sql.replace('?', "$")).await?;
                Ok(place.insert(statement).clone())
            }
        }
    }
}

fn references<'a>(arguments: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    arguments.iter().map(|argument| argument as &(dyn ToSql + Sync)).collect()
}

fn row(row: &tokio_postgres::Row) -> Result<Row, StoreError> {
    let cell = |(index, column): (usize, &tokio_postgres::Column)| {
        let cell = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(Cell::Integer),
            Type::TEXT => row.try_get::<_, Option<String>>(index)?.map(Cell::Text),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map(Cell::Blob),
            ref other => return Err(StoreError::Corrupt(format!("column {} has type {other}", column.name()))),
        };
        Ok(cell.unwrap_or(Cell::Null))
    };
    row.columns().iter().enumerate().map(cell).collect::<Result<_, _>>().map(Row)
}

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match *self {
            // What is compared with a small constant has four bytes.
            Self::Integer(number) if *ty == Type::INT4 => i32::try_from(number)?.to_sql_checked(ty, out),
            Self::Integer(number) => number.to_sql_checked(ty, out),
            Self::Text(text) => text.to_sql_checked(ty, out),
            Self::Blob(bytes) => bytes.to_sql_checked(ty, out),
            Self::Null => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        // `to_sql` asks the type that it writes.
        true
    }

    to_sql_checked!();
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Value(..)")
    }
}

/// The database.
pub(super) struct Pool {
    config: Config,
    verified: Option<Verified>,
    idle: Mutex<Vec<Sql>>,
    turns: Semaphore,
}

impl Pool {
    /// Connects, and brings the database to today's schema.
    pub(super) async fn open(url: &str, master: &MasterKey) -> Result<Self, StoreError> {
        let (config, verified) = channel::read(url)?;
        let pool = Self { config, verified, idle: Mutex::new(Vec::new()), turns: Semaphore::new(CONNECTIONS) };
        let mut sql = pool.connect().await?;
        super::schema::migrate(&mut sql, master).await?;
        pool.give_back(sql);
        Ok(pool)
    }

    /// Whether the database has our schema, of whatever version.
    pub(super) async fn exists(url: &str) -> Result<bool, StoreError> {
        let (config, verified) = channel::read(url)?;
        let mut sql = Postgres::connect(&config, verified.as_ref()).await?;
        let sought = "SELECT CAST(CASE WHEN to_regclass('candor_login') IS NULL THEN 0 ELSE 1 END AS BIGINT)";
        sql.query(sought, &[]).await?.first().map_or(Ok(false), |row| row.flag(0))
    }

    /// Reads what a request asks for.
    pub(super) async fn read<T: Send>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> super::Working<'a, T> + Send,
    ) -> Result<T, StoreError> {
        answered(self.scan(work)).await
    }

    /// Reads, for as long as it takes.
    pub(super) async fn scan<T: Send>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> super::Working<'a, T> + Send,
    ) -> Result<T, StoreError> {
        let _turn = self.turn().await?;
        let mut sql = self.take().await?;
        let answer = work(&mut sql).await;
        // A connection that failed may be broken; a new one is not.
        if answer.is_ok() {
            self.give_back(sql);
        }
        answer
    }

    /// Makes a change in a transaction. When it is answered with `Ok`, it is committed. If the caller goes away in the middle, the connection
    /// is closed, and the database undoes what was begun. If the database does not answer, nobody knows whether the change was made.
    pub(super) async fn write<T: Send>(
        &self,
        work: impl for<'a> FnOnce(&'a mut Sql) -> super::Working<'a, T> + Send,
    ) -> Result<T, StoreError> {
        answered(async {
            let _turn = self.turn().await?;
            let mut sql = self.take().await?;
            sql.batch("BEGIN").await?;
            let answer = work(&mut sql).await;
            match &answer {
                Ok(_) => {
                    sql.batch("COMMIT").await?;
                    self.give_back(sql);
                }
                Err(StoreError::Conflict(_)) => {
                    sql.batch("ROLLBACK").await?;
                    self.give_back(sql);
                }
                Err(_) => {}
            }
            answer
        })
        .await
    }

    async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, StoreError> {
        let turn = within(self.turns.acquire()).await?;
        turn.map_err(|_| StoreError::Unavailable("the store is closed".to_owned()))
    }

    /// A connection that works as far as anybody knows: what the database closed is thrown away.
    async fn take(&self) -> Result<Sql, StoreError> {
        loop {
            let idle = self.lock().pop();
            match idle {
                Some(Sql::Postgres(postgres)) if postgres.client.is_closed() => {}
                Some(sql) => return Ok(sql),
                None => return self.connect().await,
            }
        }
    }

    async fn connect(&self) -> Result<Sql, StoreError> {
        Postgres::connect(&self.config, self.verified.as_ref()).await.map(Sql::Postgres)
    }

    fn give_back(&self, sql: Sql) {
        self.lock().push(sql);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Sql>> {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The connection is given up with the work: a new one may reach the database again.
async fn answered<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let late = |_| StoreError::Unavailable(format!("no answer within {} seconds", ANSWER.as_secs()));
    tokio::time::timeout(ANSWER, work).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
}

async fn within<T>(work: impl Future<Output = T>) -> Result<T, StoreError> {
    let late = |_| StoreError::Unavailable(format!("no connection within {} seconds", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, work).await.map_err(late)
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(said) = error.as_db_error() else {
            // Without an answer of the database it is the connection, or a value that does not fit its type.
            let text = error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
            // A handshake that fails says so by an I/O error too.
            let of_network = |cause: &(dyn Error + 'static)| {
                let io = cause.downcast_ref::<std::io::Error>();
                io.is_some_and(|io| !io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()))
            };
            let connection = error.is_closed() || error.source().is_none_or(of_network);
            return if connection { Self::Unavailable(text) } else { Self::Other(text) };
        };
        let text = format!("{} ({})", said.message(), said.code().code());
        match said.code() {
            code if *code == SqlState::DISK_FULL => Self::Full,
            code if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => Self::Corrupt(text),
            // Connections refused or cut, shutting down, locks not had in time, deadlocks, out of memory or connections, I/O.
            code if ["08", "53", "55", "57", "58", "40"].contains(&code.code().get(..2).unwrap_or_default()) => {
                Self::Unavailable(text)
            }
            _ => Self::Other(text),
        }
    }
}
