//! What can be used once: registration tokens, recovery codes, logins; and counts of guesses.

use super::Store;
use super::audit::{Actor, Event};
use super::error::{Conflict, StoreError};
use super::sql::{Sql, arguments};
use crate::ids::{AccountId, TokenHash};
use crate::time::{UNEVEN, UnixTime};
use candor_opaque::CredentialHash;
use std::collections::BTreeSet;

/// Expired rows that are removed under one commit, at most.
const AT_ONCE: u64 = 1000;

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

    /// Whether a registration token would be taken now. It is not used up. One from the [future](Self::session) is not taken yet.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_registration_token(&self, token: TokenHash, now: UnixTime) -> Result<bool, StoreError> {
        self.read(move |sql| {
            Box::pin(async move {
                let sought = "SELECT created FROM registration_token WHERE token = ?1 AND ends > ?2 AND created <= ?3";
                Ok(sql.first(sought, arguments![&token.0, now, now.plus(UNEVEN)]).await?.is_some())
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

    /// Removes what has expired, for good. [`Upkeep`](super::Upkeep) does so by a clock that is believed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune(&self, now: UnixTime) -> Result<Pruned, StoreError> {
        const SESSIONS: &str = "DELETE FROM session WHERE id IN (SELECT id FROM session WHERE ends <= ?1 LIMIT ?2)";
        const LOGINS: &str =
            "DELETE FROM spent_login WHERE id IN (SELECT id FROM spent_login WHERE ends <= ?1 LIMIT ?2)";
        const TOKENS: &str = "DELETE FROM registration_token WHERE token IN \
                              (SELECT token FROM registration_token WHERE ends <= ?1 LIMIT ?2)";
        Ok(Pruned {
            sessions: self.remove(SESSIONS, now).await?,
            logins: self.remove(LOGINS, now).await?,
            registration_tokens: self.remove(TOKENS, now).await?,
        })
    }

    /// Runs a statement that removes at most so many rows until there are no more, each time as a change of its own, so that others have their turn in between: strangers
    /// can leave very many.
    async fn remove(&self, statement: &'static str, now: UnixTime) -> Result<u64, StoreError> {
        let mut all = 0;
        loop {
            let some = self.write(move |sql| {
                Box::pin(async move { sql.execute(statement, arguments![now, AT_ONCE as i64]).await })
            });
            let removed = some.await?;
            all += removed;
            if removed < AT_ONCE {
                return Ok(all);
            }
        }
    }
}

/// Uses up a registration token; returns its label.
pub(super) async fn consume(sql: &mut Sql, token: &TokenHash, now: UnixTime) -> Result<Option<String>, StoreError> {
    let used = "DELETE FROM registration_token WHERE token = ?1 AND ends > ?2 AND created <= ?3 RETURNING label";
    sql.first(used, arguments![&token.0, now, now.plus(UNEVEN)]).await?.map(|row| row.text(0)).transpose()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MasterKey;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn what_has_expired_is_removed_a_part_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("login.db").display());
        let store = Store::open(&url, &MasterKey::from_bytes([7; 32])).await.unwrap();
        let mut spending = JoinSet::<bool>::new();
        for number in 0..2500_u64 {
            // As many as may wait.
            if spending.len() >= 512 {
                assert!(spending.join_next().await.unwrap().unwrap());
            }
            let (store, mut login) = (store.clone(), [0; 32]);
            login[..8].copy_from_slice(&number.to_be_bytes());
            let ends = UnixTime(if number < 2400 { 10 } else { 11 });
            spending.spawn(async move { store.spend_login(login, ends).await.unwrap() });
        }
        spending.join_all().await;
        store.traced();
        assert_eq!(store.prune(UnixTime(10)).await.unwrap(), Pruned { logins: 2400, ..Pruned::default() });
        let removed = store.traced().into_iter().filter(|(sql, _)| sql.contains("FROM spent_login"));
        assert_eq!(removed.map(|(_, rows)| rows).collect::<Vec<_>>(), [1000, 1000, 400]);
        assert_eq!(store.prune(UnixTime(11)).await.unwrap().logins, 100);
    }
}
