//! The schema, and how a database of an earlier version gets it.

use super::error::StoreError;
use super::sql::{Sql, arguments};
use crate::master::MasterKey;

/// What each version added, oldest first. A version that was released is never changed again.
const VERSIONS: [&str; 3] = [include_str!("schema/1.sql"), include_str!("schema/2.sql"), include_str!("schema/3.sql")];

/// Brings the database to the newest version, in one transaction. Several processes may try at once: the first does it, the others wait.
pub(super) async fn migrate(sql: &mut Sql, master: &MasterKey) -> Result<(), StoreError> {
    migrate_to(sql, master, &VERSIONS).await
}

async fn migrate_to(sql: &mut Sql, master: &MasterKey, versions: &[&str]) -> Result<(), StoreError> {
    let known = versions.len() as i64;
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
        for version in &versions[found as usize..] {
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

#[cfg(test)]
mod tests {
    use super::super::sqlite::{Sqlite, now};
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn a_database_of_version_1_keeps_what_it_knows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("login.db");
        let master = MasterKey::from_bytes([7; 32]);
        let mut sql = Sql::Sqlite(Sqlite::writer(&path).unwrap());
        now(migrate_to(&mut sql, &master, &VERSIONS[..1])).unwrap();
        let rows = Connection::open(&path).unwrap();
        rows.execute_batch(
            "INSERT INTO ring VALUES (x'01', 1, x'', 5, 250); INSERT INTO old_scheme VALUES ('$bcrypt$r=4$bytes,16', x'01', 7); \
             INSERT INTO old_share VALUES (1, 9); \
             INSERT INTO account VALUES (x'02', 'alice', 'alice', x'', x'', x'01', '$bcrypt$r=4$c2FsdHNhbHRzYWx0c2FsdA', 5, 5, 0); \
             INSERT INTO session VALUES (x'03', x'02', x'04', x'05', 1, 'laptop', 5, 5, 6, 7)",
        )
        .unwrap();
        now(migrate(&mut sql, &master)).unwrap();
        let number = |sought: &str| rows.query_row(sought, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(number("SELECT version FROM candor_login"), 3);
        assert_eq!(number("SELECT moved FROM population"), 250_000_000);
        assert_eq!(number("SELECT accounts FROM population"), 1);
        assert_eq!(number("SELECT counted FROM old_scheme"), 7);
        assert_eq!([number("SELECT share FROM old_scheme"), number("SELECT remaining FROM old_scheme")], [9, 1]);
        // Its refresh token could not be authenticated.
        assert_eq!([number("SELECT COUNT(*) FROM account"), number("SELECT COUNT(*) FROM session")], [1, 0]);
        // A program that knows version 1 only leaves it alone.
        let refused = now(migrate_to(&mut Sql::Sqlite(Sqlite::writer(&path).unwrap()), &master, &VERSIONS[..1]));
        assert_eq!(refused, Err(StoreError::Schema { found: 3, known: 1 }));
    }
}
