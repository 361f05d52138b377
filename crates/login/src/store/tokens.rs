//! What can be used once: registration tokens, recovery codes, logins; and counts of guesses.

use super::Store;
use super::audit::{Actor, Event};
use super::error::{Conflict, StoreError};
use super::sql::{Sql, arguments};
use crate::ids::{AccountId, TokenHash};
use crate::time::UnixTime;
use candor_opaque::CredentialHash;
use std::collections::BTreeSet;

/// A registration token that has not been used. The token itself is known to whoever was given it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrationToken {
    /// Its hash.
    pub token: TokenHash,
    /// What the operator calls it.
    pub label: String,
    /// When it was made.
    pub created: UnixTime,
    /// When it expires.
    pub ends: UnixTime,
}

/// What [`Store::prune`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Sessions that had ended.
    pub sessions: u64,
    /// Identifiers of logins whose sealed states have expired.
    pub logins: u64,
    /// Registration tokens that had expired.
    pub registration_tokens: u64,
}

impl Store {
    /// Adds a token that permits one registration.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_registration_token(
        &self,
        token: TokenHash,
        label: String,
        ends: UnixTime,
        actor: Actor,
        now: UnixTime,
    ) -> Result<(), StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                sql.execute(
                    "INSERT INTO registration_token (token, label, created, ends) VALUES (?1, ?2, ?3, ?4)",
                    arguments![&token.0, label.as_str(), now, ends],
                )
                .await?;
                audit.append(sql, &Event::new(actor, "token-added", "").with(label), now).await
            })
        })
        .await
    }

    /// Registration tokens that have been neither used nor pruned, the oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn registration_tokens(&self) -> Result<Vec<RegistrationToken>, StoreError> {
        self.read(|sql| {
            Box::pin(async move {
                let rows = sql
                    .query("SELECT token, label, created, ends FROM registration_token ORDER BY created, token", &[])
                    .await?;
                rows.iter()
                    .map(|row| {
                        Ok(RegistrationToken {
                            token: TokenHash(row.array(0)?),
                            label: row.text(1)?,
                            created: row.time(2)?,
                            ends: row.time(3)?,
                        })
                    })
                    .collect()
            })
        })
        .await
    }

    /// Whether a registration token would be taken now. It is not used up.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_registration_token(&self, token: TokenHash, now: UnixTime) -> Result<bool, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT created FROM registration_token WHERE token = ?1 AND ends > ?2";
                Ok(sql.first(sought, arguments![&token.0, now]).await?.is_some())
            })
        })
        .await
    }

    /// Uses up the identifier of a login whose end has failed, so that its sealed state can't be tried again. Returns whether nobody had used
    /// it before. A login that succeeds goes to [`Self::log_in`] instead, which does this as well.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn spend_login(&self, login: [u8; 32], ends: UnixTime) -> Result<bool, StoreError> {
        self.write(move |sql| Box::pin(async move { spend_login(sql, &login, ends).await })).await
    }

    /// Whether the identifier of a login was used up.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_login_spent(&self, login: [u8; 32]) -> Result<bool, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                Ok(sql.first("SELECT ends FROM spent_login WHERE id = ?1", arguments![&login]).await?.is_some())
            })
        })
        .await
    }

    /// Ends a login that succeeded: uses up its identifier, and gives the account new recovery codes in place of the old ones, if it still has the
    /// record that the client logged in with, all or nothing. Returns how many codes there are now.
    ///
    /// `login` is the login's identifier, and when its sealed state expires.
    ///
    /// # Errors
    /// As [`Self::log_in`].
    pub async fn replace_recovery_codes(
        &self,
        login: ([u8; 32], UnixTime),
        account: AccountId,
        credential: CredentialHash,
        codes: Vec<TokenHash>,
        now: UnixTime,
    ) -> Result<u64, StoreError> {
        let audit = self.audit.clone();
        self.write(move |sql| {
            Box::pin(async move {
                if !spend_login(sql, &login.0, login.1).await? {
                    return Err(Conflict::LoginUsed.into());
                }
                super::accounts::expect_credential(sql, account, &credential).await?;
                let codes: BTreeSet<[u8; 32]> = codes.iter().map(|code| code.0).collect();
                let number = codes.len() as u64;
                let there =
                    sql.query("SELECT code FROM recovery_code WHERE account = ?1", arguments![&account.0]).await?;
                let there: BTreeSet<[u8; 32]> = there.iter().map(|row| row.array(0)).collect::<Result<_, _>>()?;
                // Where nothing changes the log has nothing to say: its entries stay for good.
                if there == codes {
                    return Ok(number);
                }
                set_recovery_codes(sql, account, &codes.into_iter().map(TokenHash).collect::<Vec<_>>()).await?;
                let event = Event::new(Actor::Account(account), "recovery-codes-replaced", account)
                    .with(format_args!("codes: {number}"));
                audit.append(sql, &event, now).await?;
                Ok(number)
            })
        })
        .await
    }

    /// How many recovery codes an account has left.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn recovery_codes_left(&self, account: AccountId) -> Result<u64, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT COUNT(*) FROM recovery_code WHERE account = ?1";
                sql.first(sought, arguments![&account.0]).await?.map_or(Ok(0), |row| row.count(0))
            })
        })
        .await
    }

    /// Removes what has expired. Worth doing every few minutes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune(&self, now: UnixTime) -> Result<Pruned, StoreError> {
        self.write(move |sql| {
            Box::pin(async move {
                Ok(Pruned {
                    sessions: sql.execute("DELETE FROM session WHERE ends <= ?1", arguments![now]).await?,
                    logins: sql.execute("DELETE FROM spent_login WHERE ends <= ?1", arguments![now]).await?,
                    registration_tokens: sql
                        .execute("DELETE FROM registration_token WHERE ends <= ?1", arguments![now])
                        .await?,
                })
            })
        })
        .await
    }
}

/// Uses up a registration token; returns its label.
pub(super) async fn consume(sql: &mut Sql, token: &TokenHash, now: UnixTime) -> Result<Option<String>, StoreError> {
    let used = "DELETE FROM registration_token WHERE token = ?1 AND ends > ?2 RETURNING label";
    sql.first(used, arguments![&token.0, now]).await?.map(|row| row.text(0)).transpose()
}

/// Whether this is the first attempt to end a login.
pub(super) async fn spend_login(sql: &mut Sql, login: &[u8; 32], ends: UnixTime) -> Result<bool, StoreError> {
    let spent = "INSERT INTO spent_login (id, ends) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING";
    Ok(sql.execute(spent, arguments![login, ends]).await? == 1)
}

pub(super) async fn set_recovery_codes(
    sql: &mut Sql,
    account: AccountId,
    codes: &[TokenHash],
) -> Result<(), StoreError> {
    sql.execute("DELETE FROM recovery_code WHERE account = ?1", arguments![&account.0]).await?;
    for code in codes {
        let insert = "INSERT INTO recovery_code (account, code) VALUES (?1, ?2) ON CONFLICT (account, code) DO NOTHING";
        sql.execute(insert, arguments![&account.0, &code.0]).await?;
    }
    Ok(())
}

/// Uses up a recovery code; returns whether there was one.
pub(super) async fn use_recovery_code(sql: &mut Sql, account: AccountId, code: &TokenHash) -> Result<bool, StoreError> {
    let used = "DELETE FROM recovery_code WHERE account = ?1 AND code = ?2";
    Ok(sql.execute(used, arguments![&account.0, &code.0]).await? == 1)
}
