//! What the server says when it does not do what it was asked: RFC 9457.
//!
//! Nothing here depends on whether an account exists, except [`Problem::NameTaken`], which only the holder of a registration token can see.

use crate::store::{Conflict, StoreError};
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;
use std::time::Duration;

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The body is not what this request needs.
    Malformed(String),
    /// The body is too long.
    TooLarge,
    /// The body is not JSON by its content type.
    NotJson,
    /// The request did not come in time.
    TooSlow,
    /// Nothing has this path.
    NoSuchPath,
    /// The path does not take this method.
    NoSuchMethod,
    /// A sealed state was not sealed by this deployment for this use and this name.
    StateInvalid,
    /// A sealed state has expired.
    StateExpired,
    /// A login was finished before, or somebody tried to.
    StateUsed,
    /// The login failed: wrong password, unknown name, disabled account, changed message. Nobody is told which.
    LoginFailed,
    /// No session, or one that has ended or expired.
    NoSession,
    /// The refresh token was used before: the session has ended.
    RefreshReused,
    /// The session may not do this.
    Scope,
    /// The registration token is unknown, used or expired.
    RegistrationToken,
    /// Another account has the name.
    NameTaken,
    /// The account registered again in the meantime.
    RecordChanged,
    /// There is no such session among the account's.
    NoSuchSession,
    /// There is no such device among the account's.
    NoSuchDevice,
    /// Too many guesses came from this address or its network, or the account's owner has done too much lately.
    Throttled(Duration),
    /// The server has more to do than it can; the request was not begun.
    Busy,
    /// The database does not answer, or has no space. Nothing was changed.
    Unavailable,
    /// A mistake of the server, or a damaged database.
    Internal,
}

impl Problem {
    /// Its status, the last part of its type, and its title.
    #[must_use]
    pub fn kind(&self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::Malformed(_) => (S::BAD_REQUEST, "malformed", "request is malformed"),
            Self::TooLarge => (S::PAYLOAD_TOO_LARGE, "too-large", "request is too large"),
            Self::NotJson => (S::UNSUPPORTED_MEDIA_TYPE, "not-json", "expected content type application/json"),
            Self::TooSlow => (S::REQUEST_TIMEOUT, "too-slow", "request did not arrive in time"),
            Self::NoSuchPath => (S::NOT_FOUND, "no-such-path", "no such path"),
            Self::NoSuchMethod => (S::METHOD_NOT_ALLOWED, "no-such-method", "path does not take this method"),
            Self::StateInvalid => (S::BAD_REQUEST, "state-invalid", "state was not issued for this use; start again"),
            Self::StateExpired => (S::BAD_REQUEST, "state-expired", "state has expired; start again"),
            Self::StateUsed => (S::CONFLICT, "state-used", "state was used before; start again"),
            Self::LoginFailed => (S::UNAUTHORIZED, "login-failed", "login failed"),
            Self::NoSession => (S::UNAUTHORIZED, "no-session", "no session, or it has ended; log in"),
            Self::RefreshReused => {
                (S::UNAUTHORIZED, "refresh-reused", "refresh token was used before; the session has ended, log in")
            }
            Self::Scope => (S::FORBIDDEN, "scope", "session may not do this"),
            Self::RegistrationToken => {
                (S::FORBIDDEN, "registration-token", "registration token is unknown, used or expired")
            }
            Self::NameTaken => (S::CONFLICT, "name-taken", "name is taken"),
            Self::RecordChanged => {
                (S::CONFLICT, "record-changed", "password has changed in the meantime; log in again")
            }
            Self::NoSuchSession => (S::NOT_FOUND, "no-such-session", "no such session"),
            Self::NoSuchDevice => (S::NOT_FOUND, "no-such-device", "no such device"),
            Self::Throttled(_) => (S::TOO_MANY_REQUESTS, "throttled", "too many attempts; wait"),
            Self::Busy => (S::SERVICE_UNAVAILABLE, "busy", "server is busy; try again"),
            Self::Unavailable => (S::SERVICE_UNAVAILABLE, "unavailable", "database is not available; try again"),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "internal error"),
        }
    }

    /// Seconds after which to try again, where that may help.
    fn retry_after(&self) -> Option<u64> {
        match self {
            // Up, so that whoever waits that long is not turned away again.
            Self::Throttled(wait) => Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)),
            Self::Busy => Some(1),
            Self::Unavailable => Some(5),
            _ => None,
        }
    }
}

/// What each status of a problem means, in general.
pub(crate) const PROBLEM_STATUSES: [(u16, &str); 12] = [
    (400, "request or state is malformed, or the state has expired"),
    (401, "login failed, or there is no session"),
    (403, "session or registration token does not permit this"),
    (404, "no such thing"),
    (408, "request did not arrive in time"),
    (409, "does not fit what is stored, or was used before"),
    (413, "request is too large"),
    (415, "request is not JSON"),
    (429, "too many attempts"),
    (405, "path does not take this method"),
    (500, "mistake of the server"),
    (503, "database is not available, or server is busy"),
];

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let (status, kind, title) = self.kind();
        let mut body = json!({ "type": format!("urn:candor:login:{kind}"), "title": title, "status": status.as_u16() });
        if let Self::Malformed(detail) = &self {
            body["detail"] = detail.as_str().into();
        }
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if matches!(self, Self::NoSession) {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The kind, for metrics and the log.
        response.extensions_mut().insert(Kind(kind));
        response
    }
}

/// The last part of a problem's type, left on its response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind(pub(crate) &'static str);

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) | StoreError::Tls(_) | StoreError::Full => Self::Unavailable,
            StoreError::Conflict(conflict) => conflict.into(),
            _ => Self::Internal,
        }
    }
}

impl From<Conflict> for Problem {
    fn from(conflict: Conflict) -> Self {
        match conflict {
            Conflict::NameTaken => Self::NameTaken,
            Conflict::NoRegistrationToken => Self::RegistrationToken,
            Conflict::RecordChanged => Self::RecordChanged,
            Conflict::LoginUsed => Self::StateUsed,
            // Of what comes from requests, only a sealed state names a key, and that has been retired since.
            Conflict::NoKey => Self::StateInvalid,
            Conflict::NoSession => Self::NoSession,
            Conflict::RefreshReused => Self::RefreshReused,
            Conflict::NoDevice => Self::NoSuchDevice,
            Conflict::NoAccount | Conflict::Disabled | Conflict::NoRecoveryCode => Self::LoginFailed,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_problem_is_what_rfc_9457_says() {
        let response = Problem::Malformed("`ke1` is 3 bytes long; expected 1280".to_owned()).into_response();
        assert_eq!(response.status(), 400);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
        let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["type"], "urn:candor:login:malformed");
        assert_eq!(body["status"], 400);
        assert_eq!(body["detail"], "`ke1` is 3 bytes long; expected 1280");
    }

    #[test]
    fn who_has_to_wait_is_told_how_long() {
        let after = |problem: Problem| problem.into_response().headers().get(header::RETRY_AFTER).cloned();
        assert_eq!(after(Problem::Throttled(Duration::from_millis(1001))).unwrap(), "2");
        assert_eq!(after(Problem::Throttled(Duration::from_secs(3))).unwrap(), "3");
        assert!(after(Problem::LoginFailed).is_none());
    }

    #[test]
    fn no_account_a_disabled_one_and_a_wrong_password_look_alike() {
        for conflict in [Conflict::NoAccount, Conflict::Disabled, Conflict::NoRecoveryCode] {
            assert_eq!(Problem::from(StoreError::from(conflict)), Problem::LoginFailed);
        }
    }
}
