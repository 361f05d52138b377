//! Accounts that come from another system with their old password hashes.

use super::Store;
use super::accounts::{self, NewAccount};
use super::audit::{Actor, Event};
use super::error::{Conflict, StoreError};
use super::shares;
use super::sql::{Sql, arguments};
use crate::ids::{AccountId, KeyId};
use crate::name::UserName;
use crate::time::UnixTime;
use candor_old_hashes::{OldScheme, Template};
use std::collections::BTreeMap;

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

impl Store {
    /// Imports accounts, all or none; returns which were new. A name that is taken is left alone. Nobody can log in to them until [`Self::end_import`]: an account that
    /// answered before the names without one are given its scheme would be known by that.
    ///
    /// # Errors
    /// [`Conflict::NoKey`]; [`StoreError::Unavailable`] if another import ended in between; [`StoreError`].
    pub async fn import(&self, batch: Vec<Import>, actor: Actor, now: UnixTime) -> Result<Vec<bool>, StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                let ended = sql.first("SELECT imports FROM shares", &[]).await?.map_or(Ok(0), |row| row.integer(0))?;
                let (mut new, mut schemes) = (Vec::with_capacity(batch.len()), BTreeMap::new());
                for import in &batch {
                    let (account, number) = (&import.account, ended + 1);
                    let scheme = Some((import.scheme.as_str(), number));
                    match accounts::insert(sql, AccountId::generate()?, account, scheme, now).await {
                        Err(StoreError::Conflict(Conflict::NameTaken)) => new.push(false),
                        Err(error) => return Err(error),
                        Ok(()) => {
                            new.push(true);
                            *schemes.entry((import.template.to_string(), account.key)).or_insert(0) += 1;
                        }
                    }
                }
                if schemes.is_empty() {
                    return Ok(new);
                }
                if shares::lock(sql).await? != ended {
                    return Err(StoreError::Unavailable("another import ended in between".to_owned()));
                }
                for ((template, key), count) in &schemes {
                    sql.execute(
                        "INSERT INTO old_scheme (scheme, ring, imported, counted, remaining, share) \
                         VALUES (?1, ?2, ?3, 0, 0, 0) \
                         ON CONFLICT (scheme, ring) DO UPDATE SET imported = old_scheme.imported + excluded.imported",
                        arguments![template.as_str(), &key.0, *count],
                    )
                    .await?;
                }
                let count: i64 = schemes.values().sum();
                let event = Event::new(actor, "imported", "").with(format_args!("accounts: {count}"));
                audit.append(sql, &event, now).await?;
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
}

/// An account of an import that has not ended was deleted. `lost` is its scheme, with the key that it was registered under.
pub(super) async fn forget(sql: &mut Sql, lost: Option<(&str, KeyId)>) -> Result<(), StoreError> {
    let Some((Ok(scheme), key)) = lost.map(|(scheme, key)| (scheme.parse::<OldScheme>(), key)) else { return Ok(()) };
    let forget = "UPDATE old_scheme SET imported = imported - 1 WHERE scheme = ?1 AND ring = ?2 AND imported > counted";
    sql.execute(forget, arguments![Template::of(&scheme).to_string().as_str(), &key.0]).await.map(drop)
}
