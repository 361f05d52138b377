//! Why the store did not do what it was asked.

use crate::ids::NoRandomness;

/// What went wrong in the store. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database is busy or can't be reached. Nothing was changed that was not acknowledged; trying again may help.
    #[error("database is not available: {0}; try again")]
    Unavailable(String),
    /// No space is left for the database.
    #[error("no space left for the database; free some and try again")]
    Full,
    /// The change does not fit what is stored; nothing was changed.
    #[error("{0}")]
    Conflict(Conflict),
    /// What is stored can't be right.
    #[error("database is damaged: {0}; restore a backup")]
    Corrupt(String),
    /// The database belongs to another master key.
    #[error("this master key is not the one that the database was made with; find the right one")]
    MasterKey,
    /// The URL names no database.
    #[error("{0}; expected sqlite:PATH or postgres://USER@HOST/DATABASE")]
    Url(String),
    /// The database has a schema that this program does not know.
    #[error("database has schema {found}; this program knows {known}: use the newer program, or restore a backup")]
    Schema {
        /// The version found.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The database can't be spoken to by TLS: its certificate is not trusted or has another name, or it has no TLS.
    #[error("TLS to the database: {0}")]
    Tls(String),
    /// This kind of database can't do it this way.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Anything else that the database says: a mistake in this crate or in the set-up.
    #[error("database: {0}")]
    Other(String),
}

/// How a change does not fit what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// Another account has the name.
    #[error("name is taken")]
    NameTaken,
    /// The registration token is unknown, used or expired.
    #[error("registration token is unknown, used or expired")]
    NoRegistrationToken,
    /// The account registered again in the meantime.
    #[error("the account's record has changed in the meantime; log in again")]
    RecordChanged,
    /// There is no such account.
    #[error("no such account")]
    NoAccount,
    /// The account is disabled.
    #[error("account is disabled")]
    Disabled,
    /// The login was finished before, or somebody tried to.
    #[error("login was used before")]
    LoginUsed,
    /// There is no such session, or it has ended.
    #[error("no such session")]
    NoSession,
    /// A refresh token was used a second time. Either use was a thief's, so the session has ended.
    #[error("refresh token was used before; the session has ended")]
    RefreshReused,
    /// There is no such recovery code, or it was used.
    #[error("recovery code is unknown or used")]
    NoRecoveryCode,
    /// The account has no such device.
    #[error("no such device")]
    NoDevice,
    /// There is no such key, or it is not in the state that the change needs.
    #[error("no such key, or not in a state that allows this")]
    NoKey,
    /// Accounts still use the key.
    #[error("accounts still use the key")]
    KeyInUse,
}

impl From<Conflict> for StoreError {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}

impl From<NoRandomness> for StoreError {
    fn from(error: NoRandomness) -> Self {
        Self::Other(error.to_string())
    }
}

impl StoreError {
    /// Whether trying again later may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Full)
    }

    /// The conflict, if it is one.
    #[must_use]
    pub fn conflict(&self) -> Option<Conflict> {
        if let Self::Conflict(conflict) = self { Some(*conflict) } else { None }
    }
}
