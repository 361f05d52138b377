//! The schema, and how a database of an earlier version gets it.

use super::error::StoreError;
use super::sql::{Sql, arguments};
use crate::master::MasterKey;

/// What each version added, oldest first. A version that was released is never changed again.
const VERSIONS: [&str; 1] = [include_str!("schema/1.sql")];

/// Brings the database to the newest version, in one transaction. Several processes may try at once: the first does it, the others wait.
pub(super) async fn migrate(sql: &mut Sql, master: &MasterKey) -> Result<(), StoreError> {
    let known = VERSIONS.len() as i64;
    sql.batch(match sql {
        Sql::Sqlite(_) => "BEGIN IMMEDIATE",
        // Any number does for the lock; this one is candor's.
        Sql::Postgres(_) => "BEGIN; SELECT pg_advisory_xact_lock(7160217)",
    })
    .await?;
    let about = "CREATE TABLE IF NOT EXISTS candor_login (version INTEGER NOT NULL, master BLOB NOT NULL) STRICT";
    sql.batch(&dialect(about, sql)).await?;
    let check = master.check_value();
    let found = match sql.first("SELECT version, master FROM candor_login", &[]).await? {
        Some(row) if row.blob(1)? != check => return Err(StoreError::MasterKey),
        Some(row) => row.integer(0)?,
        None => 0,
    };
    if !(0..=known).contains(&found) {
        return Err(StoreError::Schema { found, known });
    }
    if found < known {
        for version in &VERSIONS[found as usize..] {
            sql.batch(&dialect(version, sql)).await?;
        }
        sql.execute(
            "INSERT INTO audit_head (only_row, sequence, hash) VALUES (1, 0, ?1) ON CONFLICT (only_row) DO NOTHING",
            arguments![&[0; 32]],
        )
        .await?;
        sql.execute("DELETE FROM candor_login", &[]).await?;
        sql.execute("INSERT INTO candor_login (version, master) VALUES (?1, ?2)", arguments![known, &check]).await?;
    }
    sql.batch("COMMIT").await
}

/// The statements in the database's own words. The files are written in SQLite's.
fn dialect(statements: &str, sql: &Sql) -> String {
    match sql {
        Sql::Sqlite(_) => statements.to_owned(),
        Sql::Postgres(_) => statements
            .replace(" INTEGER", " BIGINT")
            .replace(" BLOB", " BYTEA")
            // Sorted by bytes, as in SQLite.
            .replace(" TEXT", " TEXT COLLATE \"C\"")
            .replace(" STRICT", ""),
    }
}
