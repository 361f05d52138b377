//! Known devices: those from which an account's owner has logged in before.

use super::Store;
use super::error::{Conflict, StoreError};
use super::sql::{Row, Sql, arguments};
use crate::ids::{AccountId, DeviceId, TokenHash};
use crate::time::UnixTime;

/// The most devices of an account; a new one replaces the one that was used least recently.
const MOST: i64 = 32;

/// A known device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Names it.
    pub id: DeviceId,
    /// The hash of what it proves itself with.
    pub proof: TokenHash,
    /// What its owner calls it.
    pub label: String,
    /// When it became known.
    pub created: UnixTime,
    /// When it was last used.
    pub used: UnixTime,
}

/// A device that becomes known with a session.
#[derive(Clone, Debug)]
pub struct NewDevice {
    /// Names it.
    pub id: DeviceId,
    /// The hash of what it proves itself with.
    pub proof: TokenHash,
}

impl Store {
    /// A device of an account.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn device(&self, account: AccountId, device: DeviceId) -> Result<Option<Device>, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT id, proof, label, created, used FROM device WHERE account = ?1 AND id = ?2";
                sql.first(sought, arguments![&account.0, &device.0]).await?.as_ref().map(read).transpose()
            })
        })
        .await
    }

    /// The known devices of an account, the most recently used first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn devices(&self, account: AccountId) -> Result<Vec<Device>, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT id, proof, label, created, used FROM device WHERE account = ?1 \
                              ORDER BY used DESC, id";
                sql.query(sought, arguments![&account.0]).await?.iter().map(read).collect()
            })
        })
        .await
    }

    /// Notes that a device was used.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn mark_device_used(&self, device: DeviceId, now: UnixTime) -> Result<(), StoreError> {
        self.write(move |sql| {
            Box::pin(async move {
                sql.execute("UPDATE device SET used = ?1 WHERE id = ?2", arguments![now, &device.0]).await?;
                Ok(())
            })
        })
        .await
    }

    /// Forgets a device of an account.
    ///
    /// # Errors
    /// [`Conflict::NoDevice`]; [`StoreError`].
    pub async fn remove_device(&self, account: AccountId, device: DeviceId) -> Result<(), StoreError> {
        self.write(move |sql| {
            Box::pin(async move {
                let removed = sql
                    .execute("DELETE FROM device WHERE id = ?1 AND account = ?2", arguments![&device.0, &account.0])
                    .await?;
                if removed == 0 { Err(Conflict::NoDevice.into()) } else { Ok(()) }
            })
        })
        .await
    }
}

/// Makes a device known; of too many, the one that was used least recently goes.
pub(super) async fn insert(
    sql: &mut Sql,
    account: AccountId,
    new: &NewDevice,
    label: &str,
    now: UnixTime,
) -> Result<(), StoreError> {
    sql.execute(
        "DELETE FROM device WHERE account = ?1 AND id IN \
         (SELECT id FROM device WHERE account = ?1 ORDER BY used DESC, id LIMIT ?2 OFFSET ?3)",
        arguments![&account.0, i64::from(u32::MAX), MOST - 1],
    )
    .await?;
    sql.execute(
        "INSERT INTO device (id, account, proof, label, created, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        arguments![&new.id.0, &account.0, &new.proof.0, label, now, now],
    )
    .await?;
    Ok(())
}

fn read(row: &Row) -> Result<Device, StoreError> {
    Ok(Device {
        id: DeviceId(row.array(0)?),
        proof: TokenHash(row.array(1)?),
        label: row.text(2)?,
        created: row.time(3)?,
        used: row.time(4)?,
    })
}
