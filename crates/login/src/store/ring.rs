//! The key ring, as the database keeps it.

use super::Store;
use super::audit::{Actor, Event};
use super::error::{Conflict, StoreError};
use super::shares::{self, WHOLE};
use super::sql::{Sql, arguments};
use crate::ids::KeyId;
use crate::master::MasterKey;
use crate::time::UnixTime;
use std::fmt;
use zeroize::Zeroizing;

/// What a key of the ring is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// For new registrations, and for the logins of the accounts that registered under it. One key is active.
    Active,
    /// For the logins of the accounts that registered under it.
    Accepted,
    /// For nothing: its bytes are gone.
    Retired,
}

impl KeyState {
    fn number(self) -> i64 {
        match self {
            Self::Active => 1,
            Self::Accepted => 2,
            Self::Retired => 3,
        }
    }

    pub(super) fn from_number(number: i64) -> Result<Self, StoreError> {
        [Self::Active, Self::Accepted, Self::Retired]
            .into_iter()
            .find(|state| state.number() == number)
            .ok_or_else(|| StoreError::Corrupt(format!("a key has state {number}")))
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Accepted => "accepted",
            Self::Retired => "retired",
        })
    }
}

/// A key of the ring.
#[derive(Clone)]
#[non_exhaustive]
pub struct RingKey {
    /// Names it.
    pub id: KeyId,
    /// What it is used for.
    pub state: KeyState,
    /// [`Server::to_bytes`](candor_opaque::Server::to_bytes); empty once retired.
    pub server: Zeroizing<Vec<u8>>,
    /// When it was made.
    pub created: UnixTime,
    /// Of the accounts with this key or an older one, how many in [`WHOLE`] have this one; it only grows.
    pub moved: u64,
}

impl fmt::Debug for RingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingKey").field("id", &self.id).field("state", &self.state).finish_non_exhaustive()
    }
}

impl Store {
    /// All keys, the oldest first.
    ///
    /// # Errors
    /// [`StoreError::MasterKey`] if a key can't be opened with the store's master key; [`StoreError`].
    pub async fn ring(&self) -> Result<Vec<RingKey>, StoreError> {
        let master = self.master.clone();
        self.read(move |sql| Box::pin(async move { read(sql, &master).await })).await
    }

    /// How many accounts have records that were made under each key, the oldest key first. Counts rows, so it takes a while with many accounts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn accounts_by_key(&self) -> Result<Vec<(KeyId, u64)>, StoreError> {
        self.scan(|sql| {
            Box::pin(async move {
                let count = "SELECT r.id, (SELECT COUNT(*) FROM account a WHERE a.ring = r.id) FROM ring r \
                             ORDER BY r.created, r.id";
                let rows = sql.query(count, &[]).await?;
                rows.iter().map(|row| Ok((KeyId(row.array(0)?), row.count(1)?))).collect()
            })
        })
        .await
    }

    /// Adds a key and makes it the active one; the one that was active is accepted from now on. With `only_first`, nothing is added to a ring
    /// that has a key already. Returns the identifier of the active key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_key(
        &self,
        server: Zeroizing<Vec<u8>>,
        only_first: bool,
        actor: Actor,
        now: UnixTime,
    ) -> Result<KeyId, StoreError> {
        let (audit, id) = (self.audit.clone(), KeyId::generate()?);
        let sealed = self.master.seal(&id.0, &server)?;
        self.write(move |sql| {
            Box::pin(async move {
                // Of several instances that start at once one makes the first key. With SQLite nobody else writes meanwhile. The table is locked, not the head of
                // the log: a registration holds the active key's row when it comes to the head.
                if let Sql::Postgres(_) = sql {
                    sql.batch("LOCK TABLE ring IN SHARE ROW EXCLUSIVE MODE").await?;
                }
                let active = active(sql).await?;
                if let (true, Some(active)) = (only_first, active) {
                    return Ok(active);
                }
                sql.execute(
                    "UPDATE ring SET state = ?1 WHERE state = ?2",
                    arguments![KeyState::Accepted.number(), KeyState::Active.number()],
                )
                .await?;
                // Later than every other, also within one second and after the clock was set back: the order is by this.
                let last = sql.first("SELECT created FROM ring ORDER BY created DESC LIMIT 1", &[]).await?;
                let created = last.map_or(Ok(now), |last| last.time(0).map(|last| now.max(last.plus(1))))?;
                let moved = if active.is_some() { 0 } else { WHOLE as i64 };
                sql.execute(
                    "INSERT INTO ring (id, state, sealed, created) VALUES (?1, ?2, ?3, ?4)",
                    arguments![&id.0, KeyState::Active.number(), sealed.as_slice(), created],
                )
                .await?;
                let alone = "INSERT INTO population (ring, accounts, moved) VALUES (?1, 0, ?2)";
                sql.execute(alone, arguments![&id.0, moved]).await?;
                shares::lock(sql).await?;
                shares::follow(sql, false).await?;
                shares::changed(sql).await?;
                audit.append(sql, &Event::new(actor, "key-added", id), now).await?;
                Ok(id)
            })
        })
        .await
    }

    /// Replaces the bytes of a key, after [`Server::adopt_ksf`](candor_opaque::Server::adopt_ksf).
    ///
    /// # Errors
    /// [`Conflict::NoKey`] if there is no such key, or it is retired; [`StoreError`].
    pub async fn update_key(
        &self,
        id: KeyId,
        server: Zeroizing<Vec<u8>>,
        actor: Actor,
        now: UnixTime,
    ) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        let sealed = self.master.seal(&id.0, &server)?;
        self.write(move |sql| {
            Box::pin(async move {
                let updated = sql
                    .execute(
                        "UPDATE ring SET sealed = ?1 WHERE id = ?2 AND state <> ?3",
                        arguments![sealed.as_slice(), &id.0, KeyState::Retired.number()],
                    )
                    .await?;
                if updated == 0 {
                    return Err(Conflict::NoKey.into());
                }
                shares::changed(sql).await?;
                audit.append(sql, &Event::new(actor, "key-updated", id), now).await
            })
        })
        .await
    }

    /// Retires an accepted key: its bytes are removed.
    ///
    /// # Errors
    /// [`Conflict::KeyInUse`] if accounts have records that were made under it; [`Conflict::NoKey`] if it is not an accepted one;
    /// [`StoreError`].
    pub async fn retire_key(&self, id: KeyId, actor: Actor, now: UnixTime) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                let retired = sql
                    .execute(
                        "UPDATE ring SET state = ?1, sealed = ?2 WHERE id = ?3 AND state = ?4",
                        arguments![KeyState::Retired.number(), &[0; 0], &id.0, KeyState::Accepted.number()],
                    )
                    .await?;
                if retired == 0 {
                    return Err(Conflict::NoKey.into());
                }
                let used = "SELECT id FROM account WHERE ring = ?1 LIMIT 1";
                if sql.first(used, arguments![&id.0]).await?.is_some() {
                    return Err(Conflict::KeyInUse.into());
                }
                shares::changed(sql).await?;
                audit.append(sql, &Event::new(actor, "key-retired", id), now).await
            })
        })
        .await
    }
}

/// All keys, the oldest first.
pub(super) async fn read(sql: &mut Sql, master: &MasterKey) -> Result<Vec<RingKey>, StoreError> {
    let sought = "SELECT r.id, r.state, r.sealed, r.created, p.moved FROM ring r JOIN population p ON p.ring = r.id \
                  ORDER BY r.created, r.id";
    let key = |row: &super::sql::Row| {
        let (id, state) = (KeyId(row.array(0)?), KeyState::from_number(row.integer(1)?)?);
        let server = match state {
            KeyState::Retired => Zeroizing::new(Vec::new()),
            _ => master.open(&id.0, row.blob(2)?).ok_or(StoreError::MasterKey)?,
        };
        Ok(RingKey { id, state, server, created: row.time(3)?, moved: row.count(4)? })
    };
    sql.query(sought, &[]).await?.iter().map(key).collect()
}

async fn active(sql: &mut Sql) -> Result<Option<KeyId>, StoreError> {
    let row = sql.first("SELECT id FROM ring WHERE state = ?1", arguments![KeyState::Active.number()]).await?;
    row.map(|row| row.array(0).map(KeyId)).transpose()
}
