//! One way to say SQL to both databases.
//!
//! Statements are written once, with `?1`, `?2` for their arguments and three types: INTEGER (64 bits), TEXT, BLOB. For PostgreSQL the
//! arguments become `$1`, `$2`, and the types BIGINT, TEXT and BYTEA.

use super::error::StoreError;
use super::postgres::Postgres;
use super::sqlite::Sqlite;

/// A connection to either database.
pub(super) enum Sql {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Sql {
    /// Runs a statement; returns the number of rows that it changed.
    pub(super) async fn execute(&mut self, sql: &'static str, arguments: &[Value<'_>]) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.execute(sql, arguments),
            Self::Postgres(postgres) => postgres.execute(sql, arguments).await,
        }
    }

    /// Runs a statement; returns its rows.
    pub(super) async fn query(&mut self, sql: &'static str, arguments: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.query(sql, arguments),
            Self::Postgres(postgres) => postgres.query(sql, arguments).await,
        }
    }

    /// The first row of a statement, if there is one.
    pub(super) async fn first(
        &mut self,
        sql: &'static str,
        arguments: &[Value<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, arguments).await?.into_iter().next())
    }

    /// Runs statements without arguments, such as those of a schema.
    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.batch(sql),
            Self::Postgres(postgres) => postgres.batch(sql).await,
        }
    }
}

/// An argument of a statement.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Integer(i64),
    Text(&'a str),
    Blob(&'a [u8]),
    Null,
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<crate::time::UnixTime> for Value<'_> {
    fn from(time: crate::time::UnixTime) -> Self {
        Self::Integer(time.0)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The arguments of a statement, in order.
macro_rules! arguments {
    ($($value:expr),* $(,)?) => { &[$($crate::store::sql::Value::from($value)),*] };
}
pub(super) use arguments;

/// A value of a row.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
    Null,
}

/// A row of an answer. A value of another type than the schema's is [`StoreError::Corrupt`].
pub(super) struct Row(pub(super) Vec<Cell>);

impl Row {
    pub(super) fn integer(&self, column: usize) -> Result<i64, StoreError> {
        match self.0.get(column) {
            Some(Cell::Integer(number)) => Ok(*number),
            _ => Err(wrong(column, "an integer")),
        }
    }

    pub(super) fn time(&self, column: usize) -> Result<crate::time::UnixTime, StoreError> {
        self.integer(column).map(crate::time::UnixTime)
    }

    pub(super) fn flag(&self, column: usize) -> Result<bool, StoreError> {
        self.integer(column).map(|number| number != 0)
    }

    pub(super) fn count(&self, column: usize) -> Result<u64, StoreError> {
        u64::try_from(self.integer(column)?).map_err(|_| wrong(column, "a count"))
    }

    pub(super) fn text(&self, column: usize) -> Result<String, StoreError> {
        match self.0.get(column) {
            Some(Cell::Text(text)) => Ok(text.clone()),
            _ => Err(wrong(column, "text")),
        }
    }

    /// Whether a column is this text.
    pub(super) fn is_text(&self, column: usize, text: &str) -> bool {
        matches!(self.0.get(column), Some(Cell::Text(there)) if there == text)
    }

    pub(super) fn text_or_null(&self, column: usize) -> Result<Option<String>, StoreError> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            _ => self.text(column).map(Some),
        }
    }

    pub(super) fn blob(&self, column: usize) -> Result<&[u8], StoreError> {
        match self.0.get(column) {
            Some(Cell::Blob(bytes)) => Ok(bytes),
            _ => Err(wrong(column, "bytes")),
        }
    }

    pub(super) fn array<const N: usize>(&self, column: usize) -> Result<[u8; N], StoreError> {
        self.blob(column)?.try_into().map_err(|_| wrong(column, "as many bytes as the schema says"))
    }
}

fn wrong(column: usize, expected: &str) -> StoreError {
    StoreError::Corrupt(format!("column {column} of an answer is not {expected}"))
}
