//! Accounts: names, records, registration.

use super::audit::{Actor, AuditKey, Event};
use super::error::{Conflict, StoreError};
use super::ring::KeyState;
use super::sessions::{self, NewSession};
use super::shares::{self, Found, Moves};
use super::sql::{Row, Sql, arguments};
use super::{Store, imports, tokens};
use crate::ids::{AccountId, KeyId, SessionId, TokenHash};
use crate::name::UserName;
use crate::time::UnixTime;
use candor_opaque::{CredentialHash, Record};

/// What is stored of an account.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Account {
    /// Names it for good.
    pub id: AccountId,
    /// Its name.
    pub name: UserName,
    /// OPAQUE's record.
    pub record: Record,
    /// The key of the ring that the record was made under.
    pub key: KeyId,
    /// How the client computes the old password hash that the record was made with; `None` once the account has registered afresh.
    pub old_hash: Option<String>,
    /// When it was made.
    pub created: UnixTime,
    /// When its record last changed.
    pub changed: UnixTime,
    /// Nobody can log in to it.
    pub disabled: bool,
    /// The number of the import that brought it; 0 if none did.
    pub import: u64,
}

/// A new account.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Its name.
    pub name: UserName,
    /// The record: [`Change::Insert`](candor_opaque::Change::Insert)'s.
    pub record: Record,
    /// The key of the ring that the record was made under.
    pub key: KeyId,
    /// The registration token that permits it, which is used up; `None` if registration is open.
    pub token: Option<TokenHash>,
    /// Its recovery codes.
    pub recovery_codes: Vec<TokenHash>,
}

/// A new record for an account that has just logged in.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// Whose.
    pub account: AccountId,
    /// The record that it replaces: [`Change::Replace`](candor_opaque::Change::Replace)'s.
    pub replaces: CredentialHash,
    /// The new one.
    pub record: Record,
    /// The key of the ring that it was made under.
    pub key: KeyId,
    /// The session that goes on; all others end.
    pub keep: Option<SessionId>,
    /// New recovery codes in place of the old ones; `None` keeps those.
    pub recovery_codes: Option<Vec<TokenHash>>,
}

/// The session that a sealed state opens, which is used up by that.
#[derive(Clone, Debug)]
pub struct Opens {
    /// Names the sealing. It is kept until it expires, so that nobody uses it again.
    pub state: [u8; 32],
    /// When it expires.
    pub state_ends: UnixTime,
    /// The session.
    pub session: NewSession,
}

/// A few words about an account, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccountSummary {
    /// Names it for good.
    pub id: AccountId,
    /// Its name.
    pub name: UserName,
    /// The key of the ring that its record was made under.
    pub key: KeyId,
    /// How its old hash is computed, if it still has one.
    pub old_hash: Option<String>,
    /// When it was made.
    pub created: UnixTime,
    /// When its record last changed.
    pub changed: UnixTime,
    /// Nobody can log in to it.
    pub disabled: bool,
}

impl Store {
    /// The account of this name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn account(&self, name: &UserName) -> Result<Option<Account>, StoreError> {
        self.look_up(name).await.map(|found| found.account)
    }

    /// The account with this identifier.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn account_by_id(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT id, name_key, name, record, ring, old_hash, created, changed, disabled, import \
                              FROM account WHERE id = ?1";
                sql.first(sought, arguments![&id.0]).await?.as_ref().map(account).transpose()
            })
        })
        .await
    }

    /// Makes an account: its row, its recovery codes, the use of its token and the entry in the audit log, all or nothing.
    ///
    /// # Errors
    /// [`Conflict::NameTaken`], [`Conflict::NoRegistrationToken`], [`Conflict::NoKey`]; [`StoreError`].
    pub async fn register(&self, new: NewAccount, now: UnixTime) -> Result<AccountId, StoreError> {
        let (audit, id) = (self.audit.clone(), AccountId::generate()?);
        self.write(move |sql| {
            Box::pin(async move {
                make(sql, &audit, id, &new, now).await?;
                Ok(id)
            })
        })
        .await
    }

    /// As [`Self::register`], and opens a session, all or nothing. The state is used up: sent again, it makes no account, even after the first one was
    /// deleted.
    ///
    /// # Errors
    /// [`Conflict::LoginUsed`] if the state was used before; as [`Self::register`].
    pub async fn register_and_open(
        &self,
        new: NewAccount,
        opens: Opens,
        now: UnixTime,
    ) -> Result<(AccountId, SessionId), StoreError> {
        let (audit, id) = (self.audit.clone(), AccountId::generate()?);
        self.write(move |sql| {
            Box::pin(async move {
                spend(sql, &opens).await?;
                make(sql, &audit, id, &new, now).await?;
                Ok((id, open(sql, &audit, id, &opens.session, now).await?))
            })
        })
        .await
    }

    /// Replaces the record of an account, ends its other sessions and forgets its old hash, all or nothing.
    ///
    /// # Errors
    /// [`Conflict::RecordChanged`] if the account registered again in the meantime; [`Conflict::NoAccount`], [`Conflict::Disabled`],
    /// [`Conflict::NoKey`]; [`StoreError`].
    pub async fn replace_record(&self, new: NewRecord, now: UnixTime) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| Box::pin(async move { replace(sql, &audit, &new, now).await })).await
    }

    /// As [`Self::replace_record`], and opens a session, all or nothing.
    ///
    /// # Errors
    /// [`Conflict::RecordChanged`] also if the state was used before; as [`Self::replace_record`].
    pub async fn replace_record_and_open(
        &self,
        new: NewRecord,
        opens: Opens,
        now: UnixTime,
    ) -> Result<SessionId, StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                // What was used before has changed the record: that is the first thing to be said.
                replace(sql, &audit, &new, now).await?;
                spend(sql, &opens).await?;
                open(sql, &audit, new.account, &opens.session, now).await
            })
        })
        .await
    }

    /// Ends a login that succeeded: uses up its identifier ([`ServerLogin::id`](candor_opaque::ServerLogin::id)) and opens a session, if the
    /// account still has the record that the client logged in with, all or nothing.
    ///
    /// `login_ends` is when the sealed state of the login expires: until then its identifier is kept.
    ///
    /// # Errors
    /// [`Conflict::LoginUsed`], [`Conflict::RecordChanged`], [`Conflict::NoAccount`], [`Conflict::Disabled`]; [`StoreError`].
    pub async fn log_in(
        &self,
        login: [u8; 32],
        login_ends: UnixTime,
        account: AccountId,
        credential: CredentialHash,
        session: NewSession,
        now: UnixTime,
    ) -> Result<SessionId, StoreError> {
        let audit = self.audit.clone();
        let opens = Opens { state: login, state_ends: login_ends, session };
        self.write(move |sql| {
            Box::pin(async move {
                spend(sql, &opens).await?;
                expect_credential(sql, account, &credential).await?;
                open(sql, &audit, account, &opens.session, now).await
            })
        })
        .await
    }

    /// Up to `limit` accounts whose names come after `after` in the order of their keys.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn accounts(&self, after: Option<String>, limit: u32) -> Result<Vec<AccountSummary>, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let rows = sql
                    .query(
                        "SELECT id, name_key, name, ring, old_hash, created, changed, disabled FROM account \
                         WHERE name_key > ?1 ORDER BY name_key LIMIT ?2",
                        arguments![after.as_deref().unwrap_or_default(), i64::from(limit)],
                    )
                    .await?;
                rows.iter().map(summary).collect()
            })
        })
        .await
    }

    /// Forbids or permits logins to an account. Forbidding ends its sessions.
    ///
    /// # Errors
    /// [`Conflict::NoAccount`]; [`StoreError`].
    pub async fn set_disabled(
        &self,
        account: AccountId,
        disabled: bool,
        actor: Actor,
        now: UnixTime,
    ) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                let changed = sql
                    .execute(
                        "UPDATE account SET disabled = ?1 WHERE id = ?2",
                        arguments![i64::from(disabled), &account.0],
                    )
                    .await?;
                if changed == 0 {
                    return Err(Conflict::NoAccount.into());
                }
                let event = if disabled {
                    let ended = sessions::end_others(sql, account, None).await?;
                    Event::new(actor, "disabled", account).with(format_args!("sessions ended: {ended}"))
                } else {
                    Event::new(actor, "enabled", account)
                };
                audit.append(sql, &event, now).await
            })
        })
        .await
    }

    /// Deletes an account with its sessions, devices and recovery codes. Its name is free again.
    ///
    /// # Errors
    /// [`Conflict::NoAccount`]; [`StoreError`].
    pub async fn delete_account(&self, account: AccountId, actor: Actor, now: UnixTime) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                let deleted = "DELETE FROM account WHERE id = ?1 RETURNING ring, old_hash, import";
                let row = sql.first(deleted, arguments![&account.0]).await?.ok_or(Conflict::NoAccount)?;
                let (key, old_hash) = (KeyId(row.array(0)?), row.text_or_null(1)?);
                let lost = old_hash.as_deref().map(|scheme| (scheme, key));
                if row.integer(2)? > shares::lock(sql).await? {
                    imports::forget(sql, lost).await?;
                } else {
                    shares::moved(sql, Moves { from: Some(key), to: None, lost }).await?;
                }
                audit.append(sql, &Event::new(actor, "deleted", account), now).await
            })
        })
        .await
    }
}

/// Whether the account can be logged in to and still has the record that a client logged in with. Its row stays locked.
pub(super) async fn expect_credential(
    sql: &mut Sql,
    account: AccountId,
    credential: &CredentialHash,
) -> Result<(), StoreError> {
    // An update, for the row's lock: nobody disables the account or changes its record in between.
    let there = sql
        .execute(
            "UPDATE account SET disabled = disabled WHERE id = ?1 AND credential = ?2 AND disabled = 0",
            arguments![&account.0, credential.as_bytes()],
        )
        .await?;
    match there {
        0 => Err(why_not(sql, account).await?.unwrap_or(Conflict::RecordChanged).into()),
        _ => Ok(()),
    }
}

/// Makes an account, with the use of its token.
async fn make(
    sql: &mut Sql,
    audit: &AuditKey,
    id: AccountId,
    new: &NewAccount,
    now: UnixTime,
) -> Result<(), StoreError> {
    let token = match &new.token {
        Some(token) => tokens::consume(sql, token, now).await?.ok_or(Conflict::NoRegistrationToken)?,
        None => String::new(),
    };
    insert(sql, id, new, None, now).await?;
    tokens::set_recovery_codes(sql, id, &new.recovery_codes).await?;
    shares::moved(sql, Moves { to: Some(new.key), ..Moves::default() }).await?;
    audit.append(sql, &Event::new(Actor::Stranger, "registered", id).with(token), now).await
}

/// Replaces a record.
async fn replace(sql: &mut Sql, audit: &AuditKey, new: &NewRecord, now: UnixTime) -> Result<(), StoreError> {
    expect_key(sql, new.key).await?;
    let credential = new.record.credential_hash();
    // As it is while the account has the credential that is replaced: if that is another by now, nothing is changed below.
    let sought = "SELECT ring, old_hash FROM account WHERE id = ?1";
    let before = sql.first(sought, arguments![&new.account.0]).await?.ok_or(Conflict::NoAccount)?;
    let (key, old_hash) = (KeyId(before.array(0)?), before.text_or_null(1)?);
    let changed = sql
        .execute(
            "UPDATE account SET record = ?1, credential = ?2, ring = ?3, old_hash = NULL, changed = ?4 \
             WHERE id = ?5 AND credential = ?6 AND disabled = 0",
            arguments![
                &new.record.to_bytes()[..],
                credential.as_bytes(),
                &new.key.0,
                now,
                &new.account.0,
                new.replaces.as_bytes(),
            ],
        )
        .await?;
    if changed == 0 {
        return Err(why_not(sql, new.account).await?.unwrap_or(Conflict::RecordChanged).into());
    }
    if let Some(codes) = &new.recovery_codes {
        tokens::set_recovery_codes(sql, new.account, codes).await?;
    }
    let ended = sessions::end_others(sql, new.account, new.keep).await?;
    let lost = old_hash.as_deref().map(|scheme| (scheme, key));
    if key != new.key || lost.is_some() {
        shares::moved(sql, Moves { from: Some(key), to: Some(new.key), lost }).await?;
    }
    let event = Event::new(Actor::Account(new.account), "record-replaced", new.account)
        .with(format_args!("sessions ended: {ended}"));
    audit.append(sql, &event, now).await
}

/// Uses up a sealed state.
async fn spend(sql: &mut Sql, opens: &Opens) -> Result<(), StoreError> {
    match tokens::spend_login(sql, &opens.state, opens.state_ends).await? {
        true => Ok(()),
        false => Err(Conflict::LoginUsed.into()),
    }
}

/// Opens a session of an account.
async fn open(
    sql: &mut Sql,
    audit: &AuditKey,
    account: AccountId,
    session: &NewSession,
    now: UnixTime,
) -> Result<SessionId, StoreError> {
    sessions::insert(sql, account, session, now).await?;
    audit.append(sql, &Event::new(Actor::Account(account), "logged-in", account).with(session.id), now).await?;
    Ok(session.id)
}

/// Inserts the row of an account, if its name is free and its key is in the ring and not retired. An import brings its old scheme, and has a number.
pub(super) async fn insert(
    sql: &mut Sql,
    id: AccountId,
    new: &NewAccount,
    import: Option<(&str, i64)>,
    now: UnixTime,
) -> Result<(), StoreError> {
    let (old_hash, import) = import.map_or((None, 0), |(scheme, number)| (Some(scheme), number));
    expect_key(sql, new.key).await?;
    let inserted = sql
        .execute(
            "INSERT INTO account (id, name_key, name, record, credential, ring, old_hash, created, changed, disabled, \
             import) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10) ON CONFLICT (name_key) DO NOTHING",
            arguments![
                &id.0,
                new.name.key(),
                new.name.shown(),
                &new.record.to_bytes()[..],
                new.record.credential_hash().as_bytes(),
                &new.key.0,
                old_hash,
                now,
                now,
                import,
            ],
        )
        .await?;
    if inserted == 0 { Err(Conflict::NameTaken.into()) } else { Ok(()) }
}

/// Expects that a key answers logins, and keeps it from being retired until the transaction ends.
async fn expect_key(sql: &mut Sql, key: KeyId) -> Result<(), StoreError> {
    let sought = match sql {
        // Nobody else writes meanwhile.
        Sql::Sqlite(_) => "SELECT state FROM ring WHERE id = ?1",
        Sql::Postgres(_) => "SELECT state FROM ring WHERE id = ?1 FOR SHARE",
    };
    match sql.first(sought, arguments![&key.0]).await? {
        Some(row) if KeyState::from_number(row.integer(0)?)? != KeyState::Retired => Ok(()),
        _ => Err(Conflict::NoKey.into()),
    }
}

/// Why an account can't be used; `None` if it can.
pub(super) async fn why_not(sql: &mut Sql, account: AccountId) -> Result<Option<Conflict>, StoreError> {
    Ok(match sql.first("SELECT disabled FROM account WHERE id = ?1", arguments![&account.0]).await? {
        None => Some(Conflict::NoAccount),
        Some(row) if row.flag(0)? => Some(Conflict::Disabled),
        Some(_) => None,
    })
}

/// The account with this key of a name, with the generation of what answers are made of.
pub(super) async fn look_up(sql: &mut Sql, key: &str) -> Result<Found, StoreError> {
    // The row of the name or, where there is none, the next one, or the first: finding and reading a row must cost the same whether there is an account
    // or not.
    let sought = "SELECT id, name_key, name, record, ring, old_hash, created, changed, disabled, import, \
                  (SELECT generation FROM shares) FROM account \
                  WHERE name_key = COALESCE((SELECT MIN(name_key) FROM account WHERE name_key >= ?1), \
                  (SELECT MIN(name_key) FROM account))";
    // Without any account there is nobody to be ahead of.
    let Some(row) = sql.first(sought, arguments![key]).await? else {
        return Ok(Found { account: None, generation: 0 });
    };
    let account = account(&row);
    let account = if row.is_text(1, key) { account.map(Some) } else { Ok(None) };
    Ok(Found { account: account?, generation: row.count(10)? })
}

fn account(row: &Row) -> Result<Account, StoreError> {
    let record = Record::from_bytes(row.blob(3)?)
        .map_err(|error| StoreError::Corrupt(format!("the record of an account: {error}")))?;
    Ok(Account {
        id: AccountId(row.array(0)?),
        name: UserName::stored(row.text(2)?, row.text(1)?),
        record,
        key: KeyId(row.array(4)?),
        old_hash: row.text_or_null(5)?,
        created: row.time(6)?,
        changed: row.time(7)?,
        disabled: row.flag(8)?,
        import: row.count(9)?,
    })
}

fn summary(row: &Row) -> Result<AccountSummary, StoreError> {
    Ok(AccountSummary {
        id: AccountId(row.array(0)?),
        name: UserName::stored(row.text(2)?, row.text(1)?),
        key: KeyId(row.array(3)?),
        old_hash: row.text_or_null(4)?,
        created: row.time(5)?,
        changed: row.time(6)?,
        disabled: row.flag(7)?,
    })
}
