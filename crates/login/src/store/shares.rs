//! What names without an account are answered with: which key, and which old scheme. It follows the accounts, in the transaction that changes them, so that no answer
//! tells an account by being ahead of the names without one.

use super::accounts::Account;
use super::audit::{Actor, Event};
use super::error::StoreError;
use super::ring::{self, RingKey};
use super::sql::{Row, Sql, arguments};
use super::{Store, accounts};
use crate::ids::KeyId;
use crate::name::UserName;
use crate::time::UnixTime;
use candor_old_hashes::{OldScheme, Template};

/// What shares count in.
pub const WHOLE: u64 = 1_000_000_000;

/// What a look-up of a name found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// The account of that name, if there is one.
    pub account: Option<Account>,
    /// When [`Answers`] were changed last, as [`Answers::generation`] counts.
    pub generation: u64,
}

/// What logins are answered with, as it was at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answers {
    /// Counts the changes of what follows.
    pub generation: u64,
    /// Imports that have ended; accounts of later ones don't answer yet.
    pub imports: u64,
    /// The key ring, the oldest first.
    pub ring: Vec<RingKey>,
    /// What names without an account are given. In one order, so that every instance draws the same.
    pub schemes: Vec<SchemeShare>,
}

/// A scheme of old hashes that names without an account are given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemeShare {
    /// The scheme without the salt.
    pub template: Template,
    /// The key that its accounts were registered under.
    pub key: KeyId,
    /// How many accounts have been imported with it: what names are given, they are given in these proportions.
    pub imported: u64,
    /// How many in [`WHOLE`] of the names that were given it still have it. Between imports it only falls.
    pub share: u64,
}

impl Store {
    /// The account of this name, and whether answers have changed since they were read.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn look_up(&self, name: &UserName) -> Result<Found, StoreError> {
        let key = name.key().to_owned();
        self.read(move |sql| Box::pin(async move { accounts::look_up(sql, &key).await })).await
    }

    /// What logins are answered with.
    ///
    /// # Errors
    /// [`StoreError::MasterKey`] if a key can't be opened with the store's master key; [`StoreError`].
    pub async fn answers(&self) -> Result<Answers, StoreError> {
        let master = self.master.clone();
        self.read(move |sql| {
            Box::pin(async move {
                // All of one moment: what changed in between would not be noticed until it changes again.
                sql.batch(match sql {
                    Sql::Sqlite(_) => "BEGIN",
                    Sql::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                })
                .await?;
                let shares = sql.first("SELECT generation, imports FROM shares", &[]).await?;
                let shares = shares.ok_or_else(|| StoreError::Corrupt("table `shares` has no row".to_owned()))?;
                let sought = "SELECT scheme, ring, counted, share FROM old_scheme ORDER BY scheme, ring";
                let schemes = sql.query(sought, &[]).await?.iter().map(scheme).collect::<Result<_, _>>()?;
                let ring = ring::read(sql, &master).await?;
                sql.batch("COMMIT").await?;
                Ok(Answers { generation: shares.count(0)?, imports: shares.count(1)?, ring, schemes })
            })
        })
        .await
    }

    /// Ends an import: from now on its accounts answer, and names without an account are given old schemes in the new proportions. Returns whether there was
    /// anything to end.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_import(&self, actor: Actor, now: UnixTime) -> Result<bool, StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                lock(sql).await?;
                let sought = "SELECT ring, imported - counted FROM old_scheme WHERE imported > counted";
                let new = sql.query(sought, &[]).await?;
                for row in &new {
                    let (key, new) = (KeyId(row.array(0)?), row.integer(1)?);
                    count(sql, key, new).await?;
                }
                if new.is_empty() {
                    return Ok(false);
                }
                let counted = "UPDATE old_scheme SET remaining = remaining + imported - counted, counted = imported \
                               WHERE imported > counted";
                sql.execute(counted, &[]).await?;
                sql.execute("UPDATE shares SET imports = imports + 1", &[]).await?;
                follow(sql, true).await?;
                audit.append(sql, &Event::new(actor, "import-ended", ""), now).await?;
                Ok(true)
            })
        })
        .await
    }
}

/// How many accounts came to a key, or left it, and which old hash one of them has lost.
#[derive(Default)]
pub(super) struct Moves<'a> {
    pub(super) from: Option<KeyId>,
    pub(super) to: Option<KeyId>,
    /// With the key that its account was registered under.
    pub(super) lost: Option<(&'a str, KeyId)>,
}

/// Lets the names without an account follow one that was made, changed or deleted. To be called last before the entry in the audit log: from here to its end no other
/// transaction does the same.
pub(super) async fn moved(sql: &mut Sql, moves: Moves<'_>) -> Result<(), StoreError> {
    lock(sql).await?;
    for (key, accounts) in [(moves.from, -1), (moves.to, 1)] {
        if let Some(key) = key {
            count(sql, key, accounts).await?;
        }
    }
    if let Some((scheme, key)) = moves.lost {
        lose(sql, scheme, key).await?;
    }
    follow(sql, false).await
}

/// Counts the generation up: what answers are made of has changed in another way.
pub(super) async fn changed(sql: &mut Sql) -> Result<(), StoreError> {
    sql.execute("UPDATE shares SET generation = generation + 1", &[]).await.map(drop)
}

/// Keeps others from changing shares until the transaction ends; returns how many imports have ended.
pub(super) async fn lock(sql: &mut Sql) -> Result<i64, StoreError> {
    let row = sql.first("UPDATE shares SET generation = generation RETURNING imports", &[]).await?;
    row.ok_or_else(|| StoreError::Corrupt("table `shares` has no row".to_owned()))?.integer(0)
}

async fn count(sql: &mut Sql, key: KeyId, accounts: i64) -> Result<(), StoreError> {
    let count = "UPDATE population SET accounts = accounts + ?1 WHERE ring = ?2";
    sql.execute(count, arguments![accounts, &key.0]).await.map(drop)
}

/// An account has lost its old hash.
async fn lose(sql: &mut Sql, scheme: &str, key: KeyId) -> Result<(), StoreError> {
    let Ok(old) = scheme.parse::<OldScheme>() else { return Ok(()) };
    let template = Template::of(&old).to_string();
    let lost = "UPDATE old_scheme SET remaining = remaining - 1 WHERE scheme = ?1 AND ring = ?2 AND remaining > 0";
    if sql.execute(lost, arguments![template.as_str(), &key.0]).await? > 0 {
        return Ok(());
    }
    // It was imported when salts were told apart less exactly: by another scheme that is the same up to the salt.
    let before_salt = scheme.rfind('$').map_or(scheme, |end| &scheme[..=end]);
    let lost = "UPDATE old_scheme SET remaining = remaining - 1 WHERE ring = ?1 AND scheme = (SELECT MIN(scheme) \
                FROM old_scheme WHERE ring = ?1 AND remaining > 0 AND substr(scheme, 1, length(?2)) = ?2)";
    sql.execute(lost, arguments![&key.0, before_salt]).await.map(drop)
}

/// Lets the shares follow the counts. `moved` only grows, and the share of an old scheme only falls, as accounts move on and lose their old hashes for good. Only
/// when an import has ended are the shares of old schemes set `afresh`.
pub(super) async fn follow(sql: &mut Sql, afresh: bool) -> Result<(), StoreError> {
    let (mut all, mut is_changed) = (0, afresh);
    let sought =
        "SELECT p.ring, p.accounts, p.moved FROM population p JOIN ring r ON r.id = p.ring ORDER BY r.created, r.id";
    for row in sql.query(sought, &[]).await? {
        let (key, accounts, moved) = (row.array::<16>(0)?, row.count(1)?, row.count(2)?);
        all += accounts;
        // Without accounts there is nothing to follow: all of none have moved.
        let share = if all == 0 { WHOLE } else { part(accounts.into(), all.into()) };
        if share > moved {
            let raise = "UPDATE population SET moved = ?1 WHERE ring = ?2";
            sql.execute(raise, arguments![share as i64, &key]).await?;
            is_changed = true;
        }
    }
    let schemes = sql.query("SELECT scheme, ring, counted, remaining, share FROM old_scheme", &[]).await?;
    let counted = schemes.iter().map(|row| row.count(2)).sum::<Result<u64, _>>()?;
    for row in &schemes {
        let (here, remaining, share) = (row.count(2)?, row.count(3)?, row.count(4)?);
        // A name is given the scheme with probability here / counted, and remaining / all are to have it.
        let fresh = part(u128::from(remaining) * u128::from(counted), u128::from(all) * u128::from(here));
        if fresh < share || afresh && fresh != share {
            let set = "UPDATE old_scheme SET share = ?1 WHERE scheme = ?2 AND ring = ?3";
            sql.execute(set, arguments![fresh as i64, row.text(0)?.as_str(), row.blob(1)?]).await?;
            is_changed = true;
        }
    }
    if is_changed { changed(sql).await } else { Ok(()) }
}

/// `part` of `all` in [`WHOLE`], rounded up: where one account is, a name without one may be.
fn part(part: u128, all: u128) -> u64 {
    match all {
        0 => 0,
        _ => (part * u128::from(WHOLE)).div_ceil(all).min(WHOLE.into()) as u64,
    }
}

fn scheme(row: &Row) -> Result<SchemeShare, StoreError> {
    let read = |error| StoreError::Corrupt(format!("a scheme of old password hashes: {error}"));
    Ok(SchemeShare {
        template: row.text(0)?.parse().map_err(read)?,
        key: KeyId(row.array(1)?),
        imported: row.count(2)?,
        share: row.count(3)?,
    })
}
