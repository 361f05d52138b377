//! Sessions of an account.

use crate::Error;
use crate::connection::Connection;
use crate::wire::{self, Bytes};
use hyper::Method;
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A session: what proves to the server, and to the application's own server, who is there.
pub struct Session {
    connection: Arc<Connection>,
    id: String,
    access: Bytes,
    refresh: Bytes,
    access_until: i64,
    ends: i64,
}

/// What the server says about a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Names the session.
    pub session: String,
    /// The account's name, as its owner wrote it.
    pub name: String,
    /// `full`, or `recovery` for one that can only set a new password.
    pub scope: String,
    /// What its owner calls the device.
    pub label: String,
    /// When it was opened, in seconds since 1970.
    pub created: i64,
    /// When it was last used, give or take a minute.
    pub used: i64,
    /// When it ends.
    pub ends: i64,
    /// Whether it is the one that asks.
    pub current: bool,
}

/// What a device proves itself with that has logged in before. Keep it where only this application reads it.
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceProof(pub(crate) Bytes);

impl DeviceProof {
    /// The bytes, to be stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0.0
    }

    /// The proof with these bytes, as they were stored.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(Bytes::of(bytes))
    }
}

impl fmt::Debug for DeviceProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceProof(..)")
    }
}

const NOTHING: Option<&()> = None;

impl Session {
    pub(crate) fn new(connection: Arc<Connection>, opened: wire::SessionOpened) -> (Self, Option<DeviceProof>) {
        let session = Self {
            connection,
            id: opened.session,
            access: opened.access_token,
            refresh: opened.refresh_token,
            access_until: opened.access_until,
            ends: opened.ends,
        };
        (session, opened.device.map(DeviceProof))
    }

    /// Names the session.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The access token, for the application's own server, which asks the login server whose it is: `Authorization: Bearer TOKEN`.
    #[must_use]
    pub fn access_token(&self) -> Zeroizing<String> {
        self.access.text()
    }

    /// When the access token expires, in seconds since 1970. [Refresh](Self::refresh) it before.
    #[must_use]
    pub fn access_until(&self) -> i64 {
        self.access_until
    }

    /// When the session ends, in seconds since 1970, however often it is refreshed.
    #[must_use]
    pub fn ends(&self) -> i64 {
        self.ends
    }

    /// Gets new tokens. The old ones are worth nothing afterwards; if the answer is lost on the way, the user logs in again.
    ///
    /// # Errors
    /// [`Error::NoSession`] if it has ended; [`Error`].
    pub async fn refresh(&mut self) -> Result<(), Error> {
        let body = wire::SessionRefresh { refresh_token: self.refresh.clone() };
        let opened: wire::SessionOpened =
            self.connection.call(Method::POST, "/v1/session/refresh", None, Some(&body)).await?;
        *self = Self::new(Arc::clone(&self.connection), opened).0;
        Ok(())
    }

    /// What the server says about this session.
    ///
    /// # Errors
    /// [`Error::NoSession`] if it has ended or the access token has expired; [`Error`].
    pub async fn show(&self) -> Result<SessionInfo, Error> {
        self.call(Method::GET, "/v1/session").await
    }

    /// All sessions of the account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn list(&self) -> Result<Vec<SessionInfo>, Error> {
        self.call(Method::GET, "/v1/sessions").await.map(|wire::Sessions { sessions }| sessions)
    }

    /// Ends another session of the account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn end_other(&self, session: &str) -> Result<(), Error> {
        if !session.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(Error::NoSession);
        }
        self.call(Method::DELETE, &format!("/v1/sessions/{session}")).await
    }

    /// Ends all other sessions of the account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn end_others(&self) -> Result<(), Error> {
        self.call(Method::DELETE, "/v1/sessions").await
    }

    /// Ends this session.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn end(self) -> Result<(), Error> {
        self.call(Method::DELETE, "/v1/session").await
    }

    /// How many recovery codes are left.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn recovery_codes_left(&self) -> Result<u64, Error> {
        self.call(Method::GET, "/v1/recovery/codes").await.map(|wire::CodesLeft { left }| left)
    }

    async fn call<A: serde::de::DeserializeOwned>(&self, method: Method, path: &str) -> Result<A, Error> {
        self.connection.call(method, path, Some(&self.access), NOTHING).await
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}
