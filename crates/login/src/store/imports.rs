//! Accounts that come from another system with their old password hashes.

use super::Store;
use super::accounts::{self, NewAccount};
use super::audit::{Actor, Event};
use super::error::{Conflict, StoreError};
use super::sql::{Sql, arguments};
use crate::ids::{AccountId, KeyId};
use crate::name::UserName;
use crate::time::UnixTime;
use candor_old_hashes::Template;

/// What [`OldSchemes::share`] counts in.
pub const WHOLE: u64 = 1_000_000_000;

/// An account to import.
#[derive(Clone, Debug)]
pub struct Import {
    /// Its name, its record and its key. The record's password is the old hash.
    pub account: NewAccount,
    /// How the client computes the old hash: an [`OldScheme`](candor_old_hashes::OldScheme) as text.
    pub scheme: String,
    /// The same without the salt, for names without an account.
    pub template: Template,
}

/// What accounts with old hashes have in common, for names without an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldSchemes {
    /// Templates, the key that their accounts were registered under, and how many accounts had been imported with them when the share was
    /// updated last.
    pub imported: Vec<(Template, KeyId, u64)>,
    /// How many names without an account, in [`WHOLE`], have an old hash. Between imports it only falls.
    pub share: u64,
}

impl Store {
    /// Imports accounts, all or none; returns which were new. A name that is taken is left alone.
    ///
    /// # Errors
    /// [`Conflict::NoKey`]; [`StoreError`].
    pub async fn import(&self, batch: Vec<Import>, actor: Actor, now: UnixTime) -> Result<Vec<bool>, StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                let mut new = Vec::with_capacity(batch.len());
                for import in &batch {
                    new.push(insert(sql, import, now).await?);
                }
                let count = new.iter().filter(|new| **new).count();
                if count > 0 {
                    let event = Event::new(actor, "imported", "").with(format_args!("accounts: {count}"));
                    audit.append(sql, &event, now).await?;
                }
                Ok(new)
            })
        })
        .await
    }

    /// Whether there is an account of this name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_account(&self, name: &UserName) -> Result<bool, StoreError> {
        let key = name.key().to_owned();
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT created FROM account WHERE name_key = ?1";
                Ok(sql.first(sought, arguments![key.as_str()]).await?.is_some())
            })
        })
        .await
    }

    /// What the accounts with old hashes have in common.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn old_schemes(&self) -> Result<OldSchemes, StoreError> {
        self.read(|sql| {
            Box::pin(async move {
                let mut imported = Vec::new();
                // In one order, so that every instance draws the same.
                let all = "SELECT scheme, ring, counted FROM old_scheme ORDER BY scheme, ring";
                for row in sql.query(all, &[]).await? {
                    let template = row
                        .text(0)?
                        .parse()
                        .map_err(|error| StoreError::Corrupt(format!("a scheme of old password hashes: {error}")))?;
                    imported.push((template, KeyId(row.array(1)?), row.count(2)?));
                }
                let share = sql.first("SELECT share FROM old_share WHERE only_row = 1", &[]).await?;
                Ok(OldSchemes { imported, share: share.map_or(Ok(0), |row| row.count(0))? })
            })
        })
        .await
    }

    /// How many accounts there are, and how many of them still have an old hash. Counts rows, so it takes a while with many accounts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn count_accounts(&self) -> Result<(u64, u64), StoreError> {
        self.scan(|sql| {
            Box::pin(async move {
                let count = "SELECT COUNT(*), COUNT(old_hash) FROM account";
                sql.first(count, &[]).await?.map_or(Ok((0, 0)), |row| Ok((row.count(0)?, row.count(1)?)))
            })
        })
        .await
    }

    /// Lets the share of names with an old hash follow the accounts: `share` of them, in [`WHOLE`], still have one. An account loses its old hash once
    /// and never gets one back, so the share of the names falls and does not rise, not even when other accounts are deleted. Only after an import,
    /// when accounts with old hashes have come, is it set afresh.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn set_old_share(&self, share: u64) -> Result<(), StoreError> {
        self.write(move |sql| {
            Box::pin(async move {
                let share = share.min(WHOLE) as i64;
                let mut imported = 0;
                for row in sql.query("SELECT imported FROM old_scheme", &[]).await? {
                    imported += row.integer(0)?;
                }
                sql.execute("UPDATE old_scheme SET counted = imported WHERE counted <> imported", &[]).await?;
                sql.execute(
                    "INSERT INTO old_share (only_row, share, imported) VALUES (1, ?1, ?2) ON CONFLICT (only_row) \
                     DO UPDATE SET share = excluded.share, imported = excluded.imported \
                     WHERE old_share.imported < excluded.imported",
                    arguments![share, imported],
                )
                .await?;
                sql.execute("UPDATE old_share SET share = ?1 WHERE share > ?1", arguments![share]).await?;
                Ok(())
            })
        })
        .await
    }
}

async fn insert(sql: &mut Sql, import: &Import, now: UnixTime) -> Result<bool, StoreError> {
    let account = &import.account;
    match accounts::insert(sql, AccountId::generate()?, account, Some(&import.scheme), now).await {
        Err(StoreError::Conflict(Conflict::NameTaken)) => return Ok(false),
        other => other?,
    }
    sql.execute(
        "INSERT INTO old_scheme (scheme, ring, imported, counted) VALUES (?1, ?2, 1, 0) \
         ON CONFLICT (scheme, ring) DO UPDATE SET imported = old_scheme.imported + 1",
        arguments![import.template.to_string().as_str(), &account.key.0],
    )
    .await?;
    Ok(true)
}
