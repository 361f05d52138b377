//! The audit log: a chain of entries, each authenticated together with all before it.

use super::Store;
use super::error::StoreError;
use super::sql::{Row, Sql, arguments};
use crate::ids::AccountId;
use crate::time::UnixTime;
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The owner of an account, who has proved that.
    Account(AccountId),
    /// Somebody who has not proved anything, except by a token that the event names.
    Stranger,
    /// Somebody with the command line, by the name that the operating system gives.
    Operator(String),
    /// The server by itself.
    Server,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => write!(f, "account:{id}"),
            Self::Stranger => f.write_str("stranger"),
            Self::Operator(name) => write!(f, "operator:{name}"),
            Self::Server => f.write_str("server"),
        }
    }
}

/// Something that the audit log records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who.
    pub actor: Actor,
    /// What: a word such as `registered`.
    pub event: &'static str,
    /// To what: the identifier of an account, a key or a session; empty if to nothing in particular.
    pub subject: String,
    /// What else there is to say; no secrets, and nothing of a person's but what they chose as a label.
    pub detail: String,
}

impl Event {
    /// An event with nothing else to say.
    pub fn new(actor: Actor, event: &'static str, subject: impl fmt::Display) -> Self {
        Self { actor, event, subject: subject.to_string(), detail: String::new() }
    }

    /// The event with this detail.
    #[must_use]
    pub fn with(self, detail: impl fmt::Display) -> Self {
        Self { detail: detail.to_string(), ..self }
    }
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, from 1.
    pub sequence: u64,
    /// When.
    pub at: UnixTime,
    /// Who, as [`Actor`] is written.
    pub actor: String,
    /// What.
    pub event: String,
    /// To what.
    pub subject: String,
    /// What else there is to say.
    pub detail: String,
    /// HMAC-SHA-256 of the entry and the hash before it.
    pub hash: [u8; 32],
}

/// Where the chain ends. Whoever keeps a copy of it elsewhere notices when entries are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// The number of the last entry; 0 if there is none.
    pub sequence: u64,
    /// Its hash.
    pub hash: [u8; 32],
}

/// The key of the chain: without it nobody makes an entry that fits.
#[derive(Clone)]
pub(super) struct AuditKey(Arc<Zeroizing<[u8; 32]>>);

impl AuditKey {
    pub(super) fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self(Arc::new(key))
    }

    /// Appends an entry. The last thing in a transaction: from here to the commit nobody else appends.
    pub(super) async fn append(&self, sql: &mut Sql, event: &Event, at: UnixTime) -> Result<(), StoreError> {
        let head = sql
            .first("UPDATE audit_head SET sequence = sequence + 1 WHERE only_row = 1 RETURNING sequence, hash", &[])
            .await?
            .ok_or_else(|| StoreError::Corrupt("the audit log has no head".to_owned()))?;
        let (sequence, previous) = (head.integer(0)?, head.array(1)?);
        let actor = event.actor.to_string();
        let hash = self.hash(&previous, sequence, at, [&actor, event.event, &event.subject, &event.detail]);
        sql.execute(
            "INSERT INTO audit (sequence, at, actor, event, subject, detail, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            arguments![sequence, at, actor.as_str(), event.event, event.subject.as_str(), event.detail.as_str(), &hash],
        )
        .await?;
        sql.execute("UPDATE audit_head SET hash = ?1 WHERE only_row = 1", arguments![&hash]).await?;
        Ok(())
    }

    /// The hash of an entry whose predecessor has the hash `previous`.
    fn hash(&self, previous: &[u8; 32], sequence: i64, at: UnixTime, texts: [&str; 4]) -> [u8; 32] {
        let mut mac = HmacSha256::new_from_slice(self.0.as_slice()).expect("HMAC takes keys of any length");
        mac.update(previous);
        mac.update(&sequence.to_be_bytes());
        mac.update(&at.0.to_be_bytes());
        for text in texts {
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }

    /// Whether `entry` is what was appended after an entry with the hash `previous`.
    pub(super) fn fits(&self, previous: &[u8; 32], entry: &AuditEntry) -> bool {
        let sequence = i64::try_from(entry.sequence).unwrap_or(i64::MAX);
        let texts = [entry.actor.as_str(), &entry.event, &entry.subject, &entry.detail];
        self.hash(previous, sequence, entry.at, texts) == entry.hash
    }
}

impl Store {
    /// Records an event that changes nothing else.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn record(&self, event: Event, at: UnixTime) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| Box::pin(async move { audit.append(sql, &event, at).await })).await
    }

    /// Up to `limit` entries after number `after`, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn audit_entries(&self, after: u64, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let (after, limit) = (i64::try_from(after).unwrap_or(i64::MAX), i64::from(limit));
        self.read(move |sql| {
            Box::pin(async move {
                let rows = sql
                    .query(
                        "SELECT sequence, at, actor, event, subject, detail, hash FROM audit WHERE sequence > ?1 \
                         ORDER BY sequence LIMIT ?2",
                        arguments![after, limit],
                    )
                    .await?;
                rows.iter().map(entry).collect()
            })
        })
        .await
    }

    /// The last `limit` entries about `subject`, or about anything; the newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn latest_audit_entries(
        &self,
        subject: Option<String>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let rows = sql
                    .query(
                        "SELECT sequence, at, actor, event, subject, detail, hash FROM audit \
                         WHERE subject = ?1 OR ?2 = 0 ORDER BY sequence DESC LIMIT ?3",
                        arguments![
                            subject.as_deref().unwrap_or_default(),
                            i64::from(subject.is_some()),
                            i64::from(limit)
                        ],
                    )
                    .await?;
                rows.iter().map(entry).collect()
            })
        })
        .await
    }

    /// Where the chain ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn audit_head(&self) -> Result<AuditHead, StoreError> {
        self.read(|sql| {
            Box::pin(async move {
                let row = sql.first("SELECT sequence, hash FROM audit_head WHERE only_row = 1", &[]).await?;
                let row = row.ok_or_else(|| StoreError::Corrupt("the audit log has no head".to_owned()))?;
                Ok(AuditHead { sequence: row.count(0)?, hash: row.array(1)? })
            })
        })
        .await
    }

    /// Where the chain ends, and the lowest and the highest number of an entry at the same moment; 1 and 0 if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn audit_bounds(&self) -> Result<(AuditHead, i64, i64), StoreError> {
        self.read(|sql| {
            Box::pin(async move {
                // One statement, so that both databases answer as of one moment.
                let row = sql
                    .first(
                        "SELECT sequence, hash, (SELECT COALESCE(MIN(sequence), 1) FROM audit), \
                         (SELECT COALESCE(MAX(sequence), 0) FROM audit) FROM audit_head WHERE only_row = 1",
                        &[],
                    )
                    .await?;
                let row = row.ok_or_else(|| StoreError::Corrupt("the audit log has no head".to_owned()))?;
                let head = AuditHead { sequence: row.count(0)?, hash: row.array(1)? };
                Ok((head, row.integer(2)?, row.integer(3)?))
            })
        })
        .await
    }

    /// Whether `entry` is what was appended after an entry with the hash `previous`.
    #[must_use]
    pub fn audit_entry_fits(&self, previous: &[u8; 32], entry: &AuditEntry) -> bool {
        self.audit.fits(previous, entry)
    }
}

fn entry(row: &Row) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        sequence: row.count(0)?,
        at: row.time(1)?,
        actor: row.text(2)?,
        event: row.text(3)?,
        subject: row.text(4)?,
        detail: row.text(5)?,
        hash: row.array(6)?,
    })
}
