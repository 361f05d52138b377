//! Sessions: opaque tokens, stored as hashes.

use super::audit::{Actor, Event};
use super::error::{Conflict, StoreError};
use super::sql::{Row, Sql, arguments};
use super::{NewDevice, Store, devices, tokens};
use crate::ids::{AccountId, SessionId, TokenHash};
use crate::name::UserName;
use crate::refresh::IssuedRefresh;
use crate::time::{UNEVEN, UnixTime};

/// The most sessions of an account, expired ones that are still there included; a new one ends the one that was used least recently.
const MOST: i64 = 64;
/// Seconds for which a session's last use is not written down again.
const USE_STEP: i64 = 60;

/// What a session is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Full,
    /// To register again, after a recovery code, and nothing else.
    Recovery,
}

impl Scope {
    fn number(self) -> i64 {
        match self {
            Self::Full => 1,
            Self::Recovery => 2,
        }
    }

    fn from_number(number: i64) -> Result<Self, StoreError> {
        [Self::Full, Self::Recovery]
            .into_iter()
            .find(|scope| scope.number() == number)
            .ok_or_else(|| StoreError::Corrupt(format!("a session has scope {number}")))
    }
}

/// A session to open.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Names it.
    pub id: SessionId,
    /// What it is good for.
    pub scope: Scope,
    /// The hash of its access token.
    pub access: TokenHash,
    /// When that token expires.
    pub access_until: UnixTime,
    /// The hash of its refresh token.
    pub refresh: TokenHash,
    /// When the session ends, however often it is refreshed.
    pub ends: UnixTime,
    /// What its owner calls the device.
    pub label: String,
    /// Makes the device known as well. A session from a recovery code has none.
    pub device: Option<NewDevice>,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// Names it.
    pub id: SessionId,
    /// Whose.
    pub account: AccountId,
    /// The account's name.
    pub name: UserName,
    /// What it is good for.
    pub scope: Scope,
    /// What its owner calls the device.
    pub label: String,
    /// When it was opened.
    pub created: UnixTime,
    /// When it was last used, give or take a minute.
    pub used: UnixTime,
    /// When its access token expires.
    pub access_until: UnixTime,
    /// When it ends.
    pub ends: UnixTime,
}

/// The tokens that replace a session's.
#[derive(Clone, Copy, Debug)]
pub struct Refresh {
    /// The hash of the new access token.
    pub access: TokenHash,
    /// When that expires.
    pub access_until: UnixTime,
    /// The hash of the new refresh token.
    pub refresh: TokenHash,
}

impl Store {
    /// The session that this access token opens, unless it has expired or its account is disabled.
    ///
    /// A session from the future was opened when the clock was wrong. Until ten minutes before that time comes it is not open here, nor for its refresh token; its owner
    /// sees it and can end it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn session(&self, access: TokenHash, now: UnixTime) -> Result<Option<Session>, StoreError> {
        let found = self
            .read(move |sql| {
                Box::pin(async move {
                    let row = sql
                        .first(
                            "SELECT s.id, s.account, a.name_key, a.name, s.scope, s.label, s.created, s.used, \
                             s.access_until, s.ends FROM session s JOIN account a ON a.id = s.account \
                             WHERE s.access = ?1 AND s.access_until > ?2 AND s.ends > ?2 AND s.created <= ?3 \
                             AND a.disabled = 0",
                            arguments![&access.0, now, now.plus(UNEVEN)],
                        )
                        .await?;
                    row.as_ref().map(session).transpose()
                })
            })
            .await?;
        if let Some(found) = &found
            && found.used.plus(USE_STEP) <= now
        {
            // Best effort: where nothing can be written, on a full disk for instance, sessions still open requests.
            let _ = self.mark_used(found.id, now).await;
        }
        Ok(found)
    }

    /// Whether a session has this access token, open or not.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_access_token(&self, access: TokenHash) -> Result<bool, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT id FROM session WHERE access = ?1";
                Ok(sql.first(sought, arguments![&access.0]).await?.is_some())
            })
        })
        .await
    }

    /// Whether a refresh token is the current one of its session; `None` if the session has ended, or is from the [future](Self::session).
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_current(&self, token: IssuedRefresh, now: UnixTime) -> Result<Option<bool>, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT refresh FROM session WHERE id = ?1 AND ends > ?2 AND created <= ?3";
                let found = sql.first(sought, arguments![&token.session().0, now, now.plus(UNEVEN)]).await?;
                found.map(|row| Ok(TokenHash(row.array(0)?) == token.hash())).transpose()
            })
        })
        .await
    }

    /// Exchanges the current refresh token of a session for new tokens. Any other token that was issued for the session was exchanged before and ends it: either its
    /// owner or somebody else has an old copy, and nobody knows who.
    ///
    /// # Errors
    /// [`Conflict::NoSession`], [`Conflict::RefreshReused`], [`Conflict::Disabled`]; [`StoreError`].
    pub async fn refresh(&self, old: IssuedRefresh, new: Refresh, now: UnixTime) -> Result<Session, StoreError> {
        let (audit, id, latest) = (self.audit.clone(), old.session(), now.plus(UNEVEN));
        let refreshed = self
            .write(move |sql| {
                Box::pin(async move {
                    let exchanged = sql
                        .first(
                            "UPDATE session SET access = ?1, access_until = ?2, refresh = ?3, used = ?4 \
                             WHERE id = ?5 AND refresh = ?6 AND ends > ?4 AND created <= ?7 RETURNING account",
                            arguments![
                                &new.access.0,
                                new.access_until,
                                &new.refresh.0,
                                now,
                                &id.0,
                                &old.hash().0,
                                latest,
                            ],
                        )
                        .await?;
                    let Some(row) = exchanged else {
                        let end = "DELETE FROM session WHERE id = ?1 AND ends > ?2 AND created <= ?3 RETURNING account";
                        let ended = sql.first(end, arguments![&id.0, now, latest]).await?.ok_or(Conflict::NoSession)?;
                        let event = Event::new(Actor::Stranger, "refresh-reused", AccountId(ended.array(0)?)).with(id);
                        audit.append(sql, &event, now).await?;
                        // No error: this change is to be kept.
                        return Ok(None);
                    };
                    if let Some(conflict) = super::accounts::why_not(sql, AccountId(row.array(0)?)).await? {
                        return Err(conflict.into());
                    }
                    by_id(sql, id).await
                })
            })
            .await?;
        refreshed.ok_or(Conflict::RefreshReused.into())
    }

    /// The open sessions of an account, the most recently used first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn sessions(&self, account: AccountId, now: UnixTime) -> Result<Vec<Session>, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let rows = sql
                    .query(
                        "SELECT s.id, s.account, a.name_key, a.name, s.scope, s.label, s.created, s.used, \
                         s.access_until, s.ends FROM session s JOIN account a ON a.id = s.account \
                         WHERE s.account = ?1 AND s.ends > ?2 ORDER BY s.used DESC, s.id",
                        arguments![&account.0, now],
                    )
                    .await?;
                rows.iter().map(session).collect()
            })
        })
        .await
    }

    /// Ends a session of an account.
    ///
    /// # Errors
    /// [`Conflict::NoSession`] if the account has no such session; [`StoreError`].
    pub async fn revoke_session(
        &self,
        account: AccountId,
        session: SessionId,
        actor: Actor,
        now: UnixTime,
    ) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                let ended = sql
                    .execute("DELETE FROM session WHERE id = ?1 AND account = ?2", arguments![&session.0, &account.0])
                    .await?;
                if ended == 0 {
                    return Err(Conflict::NoSession.into());
                }
                audit.append(sql, &Event::new(actor, "session-ended", account).with(session), now).await
            })
        })
        .await
    }

    /// Ends all sessions of an account but one; returns how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn revoke_sessions(
        &self,
        account: AccountId,
        keep: Option<SessionId>,
        actor: Actor,
        now: UnixTime,
    ) -> Result<u64, StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                let ended = end_others(sql, account, keep).await?;
                // Where nothing changes the log has nothing to say: its entries stay for good.
                if ended > 0 {
                    let event =
                        Event::new(actor, "sessions-ended", account).with(format_args!("sessions ended: {ended}"));
                    audit.append(sql, &event, now).await?;
                }
                Ok(ended)
            })
        })
        .await
    }

    /// Opens a session with a recovery code, which is used up, all or nothing.
    ///
    /// # Errors
    /// [`Conflict::NoRecoveryCode`], [`Conflict::Disabled`]; [`StoreError`].
    pub async fn recover(
        &self,
        account: AccountId,
        code: TokenHash,
        session: NewSession,
        now: UnixTime,
    ) -> Result<SessionId, StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                // The code first: a wrong one costs the same whether there is an account or not, and whether it is disabled.
                if !tokens::use_recovery_code(sql, account, &code).await? {
                    return Err(Conflict::NoRecoveryCode.into());
                }
                if let Some(conflict) = super::accounts::why_not(sql, account).await? {
                    return Err(conflict.into());
                }
                insert(sql, account, &session, now).await?;
                let event = Event::new(Actor::Account(account), "recovered", account).with(session.id);
                audit.append(sql, &event, now).await?;
                Ok(session.id)
            })
        })
        .await
    }

    async fn mark_used(&self, session: SessionId, now: UnixTime) -> Result<(), StoreError> {
        self.write(move |sql| {
            Box::pin(async move {
                sql.execute("UPDATE session SET used = ?1 WHERE id = ?2", arguments![now, &session.0]).await?;
                Ok(())
            })
        })
        .await
    }
}

/// Opens a session, and makes its device known; the oldest sessions beyond the most that an account may have end. Nothing is removed because of the time, which may be
/// wrong: that is up to [`Upkeep`](super::Upkeep).
pub(super) async fn insert(
    sql: &mut Sql,
    account: AccountId,
    new: &NewSession,
    now: UnixTime,
) -> Result<(), StoreError> {
    sql.execute(
        "DELETE FROM session WHERE account = ?1 AND id IN \
         (SELECT id FROM session WHERE account = ?1 ORDER BY used DESC, id LIMIT ?2 OFFSET ?3)",
        arguments![&account.0, i64::from(u32::MAX), MOST - 1],
    )
    .await?;
    sql.execute(
        "INSERT INTO session (id, account, access, refresh, scope, label, created, used, access_until, ends) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        arguments![
            &new.id.0,
            &account.0,
            &new.access.0,
            &new.refresh.0,
            new.scope.number(),
            new.label.as_str(),
            now,
            now,
            new.access_until,
            new.ends,
        ],
    )
    .await?;
    match &new.device {
        Some(device) => devices::insert(sql, account, device, &new.label, now).await,
        None => Ok(()),
    }
}

/// Ends all sessions of an account but one; returns how many.
pub(super) async fn end_others(sql: &mut Sql, account: AccountId, keep: Option<SessionId>) -> Result<u64, StoreError> {
    // No session has sixteen zeros as its identifier.
    let keep = keep.map_or([0; 16], |id| id.0);
    sql.execute("DELETE FROM session WHERE account = ?1 AND id <> ?2", arguments![&account.0, &keep]).await
}

async fn by_id(sql: &mut Sql, id: SessionId) -> Result<Option<Session>, StoreError> {
    let row = sql
        .first(
            "SELECT s.id, s.account, a.name_key, a.name, s.scope, s.label, s.created, s.used, s.access_until, s.ends \
             FROM session s JOIN account a ON a.id = s.account WHERE s.id = ?1",
            arguments![&id.0],
        )
        .await?;
    row.as_ref().map(session).transpose()
}

fn session(row: &Row) -> Result<Session, StoreError> {
    Ok(Session {
        id: SessionId(row.array(0)?),
        account: AccountId(row.array(1)?),
        name: UserName::stored(row.text(3)?, row.text(2)?),
        scope: Scope::from_number(row.integer(4)?)?,
        label: row.text(5)?,
        created: row.time(6)?,
        used: row.time(7)?,
        access_until: row.time(8)?,
        ends: row.time(9)?,
    })
}
