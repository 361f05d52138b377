//! Sessions: look, refresh, list, end.

use super::ClientAddress;
use super::service::Service;
use super::wire::{Answer, Exactly, Json, Label};
use crate::devices::{self, PROOF};
use crate::ids::{NoRandomness, Purpose, SessionId, TokenHash};
use crate::metrics::LoginState;
use crate::problem::Problem;
use crate::refresh::REFRESH;
use crate::sessions::{ACCESS, Tokens};
use crate::state::Opened;
use crate::store::{Actor, Conflict, Opens, Scope, Session};
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use base64ct::{Base64UrlUnpadded, Encoding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A session that has just been opened or refreshed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionOpened {
    /// Names the session.
    session: String,
    /// For the header `Authorization: Bearer …`.
    access_token: Exactly<ACCESS>,
    /// Gets the next pair of tokens, once.
    refresh_token: Exactly<REFRESH>,
    /// When the access token expires, in seconds since 1970.
    access_until: i64,
    /// When the session ends, in seconds since 1970.
    ends: i64,
    /// The proof of a device that has just become known, to be kept for later logins.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<Exactly<PROOF>>,
}

/// A session that is about to be opened by a sealed state.
pub(super) struct Opening {
    tokens: Tokens,
    /// The proof of the device that becomes known with it.
    device: Option<Exactly<PROOF>>,
}

impl Opening {
    /// A fresh one, and what the store needs for it. With `remember` the device becomes known.
    pub(super) fn new(
        service: &Service,
        route: &'static str,
        state: &Opened,
        label: Label,
        remember: bool,
    ) -> Result<(Self, Opens), Problem> {
        let made = || {
            let tokens = service.tokens(SessionId::generate()?, Scope::Full)?;
            Ok((tokens, remember.then(devices::fresh).transpose()?))
        };
        let (tokens, device) = made().map_err(|error: NoRandomness| service.failed(route, error))?;
        let (device, proof) = device.unzip();
        let session = tokens.stored(Scope::Full, label.0, device);
        let opens = Opens { state: state.id, state_ends: state.expires, session };
        Ok((Self { tokens, device: proof.map(Exactly) }, opens))
    }

    /// The store has opened it.
    pub(super) fn done(self, service: &Service) -> SessionOpened {
        service.metrics.login(LoginState::Succeeded);
        SessionOpened::new(&self.tokens, self.device)
    }
}

impl SessionOpened {
    fn new(tokens: &Tokens, device: Option<Exactly<PROOF>>) -> Self {
        Self {
            session: tokens.session.to_string(),
            access_token: Exactly(tokens.access.clone()),
            refresh_token: Exactly(tokens.refresh.clone()),
            access_until: tokens.access_until().0,
            ends: tokens.ends().0,
            device,
        }
    }
}

/// The session of a request, whatever it is good for.
pub(super) struct Bearer(pub(super) Session);

/// The session of a request that only a full session may make.
pub(super) struct Full(pub(super) Session);

impl FromRequestParts<Arc<Service>> for Bearer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Problem> {
        let token = token(&parts.headers).ok_or(Problem::NoSession)?;
        let ClientAddress(from) = ClientAddress::from_request_parts(parts, service).await?;
        let hash = TokenHash::of(Purpose::Access, token.as_slice());
        let session = service.stored("session", service.store.session(hash, service.clock.now()).await)?;
        match session {
            Some(session) => Ok(Self(session)),
            // One that has expired is no guess: clients refresh only when they are told to.
            None if service.stored("session", service.store.has_access_token(hash).await)? => Err(Problem::NoSession),
            None => Err(service.missed(from).await),
        }
    }
}

impl FromRequestParts<Arc<Service>> for Full {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Problem> {
        let Bearer(session) = Bearer::from_request_parts(parts, service).await?;
        if session.scope == Scope::Full { Ok(Self(session)) } else { Err(Problem::Scope) }
    }
}

fn token(headers: &HeaderMap) -> Option<Zeroizing<[u8; ACCESS]>> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, text) = value.split_at_checked(7)?;
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let mut token = Zeroizing::new([0; ACCESS]);
    let length = Base64UrlUnpadded::decode(text, token.as_mut_slice()).ok()?.len();
    (length == ACCESS).then_some(token)
}

/// A session.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionShown {
    /// Names the session.
    session: String,
    /// The account's name, as its owner wrote it.
    name: String,
    /// `full`, or `recovery` for one that can only set a new password.
    scope: &'static str,
    /// What its owner calls the device.
    label: String,
    /// When it was opened, in seconds since 1970.
    created: i64,
    /// When it was last used, give or take a minute.
    used: i64,
    /// When it ends.
    ends: i64,
    /// Whether it is the one that asks.
    current: bool,
}

impl SessionShown {
    fn new(session: Session, current: SessionId) -> Self {
        Self {
            session: session.id.to_string(),
            name: session.name.shown().to_owned(),
            scope: match session.scope {
                Scope::Full => "full",
                Scope::Recovery => "recovery",
            },
            current: session.id == current,
            label: session.label,
            created: session.created.0,
            used: session.used.0,
            ends: session.ends.0,
        }
    }
}

/// The sessions of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Sessions {
    /// The most recently used first.
    sessions: Vec<SessionShown>,
}

pub(super) async fn show(Bearer(session): Bearer) -> Answer<SessionShown> {
    let id = session.id;
    Answer(StatusCode::OK, SessionShown::new(session, id))
}

pub(super) async fn end(State(service): State<Arc<Service>>, Bearer(session): Bearer) -> Result<StatusCode, Problem> {
    revoke(&service, &session, session.id).await
}

/// Gets the next pair of tokens.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionRefresh {
    refresh_token: Exactly<REFRESH>,
}

pub(super) async fn refresh(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Json(body): Json<SessionRefresh>,
) -> Result<Answer<SessionOpened>, Problem> {
    const ROUTE: &str = "/v1/session/refresh";
    let now = service.clock.now();
    let Some(old) = service.refreshes.read(&body.refresh_token.0) else { return Err(service.missed(from).await) };
    match service.stored(ROUTE, service.store.is_current(old, now).await)? {
        // This deployment has issued it: it is no guess.
        None => return Err(Problem::NoSession),
        Some(true) => service.refresh(old.session())?,
        // It ends the session, whatever the rate.
        Some(false) => {}
    }
    let tokens = service.tokens(old.session(), Scope::Full).map_err(|error| service.failed(ROUTE, error))?;
    let session = service.store.refresh(old, tokens.refreshed(), now).await;
    if session.as_ref().is_err_and(|error| error.conflict() == Some(Conflict::Disabled)) {
        return Err(Problem::NoSession);
    }
    let session = service.stored(ROUTE, session)?;
    let mut opened = SessionOpened::new(&tokens, None);
    opened.access_until = session.access_until.0;
    opened.ends = session.ends.0;
    Ok(Answer(StatusCode::OK, opened))
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    Full(session): Full,
) -> Result<Answer<Sessions>, Problem> {
    let sessions = service.store.sessions(session.account, service.clock.now()).await;
    let sessions = service.stored("/v1/sessions", sessions)?;
    let sessions = sessions.into_iter().map(|other| SessionShown::new(other, session.id)).collect();
    Ok(Answer(StatusCode::OK, Sessions { sessions }))
}

pub(super) async fn end_others(
    State(service): State<Arc<Service>>,
    Full(session): Full,
) -> Result<StatusCode, Problem> {
    let actor = Actor::Account(session.account);
    let now = service.clock.now();
    let ended = service.store.revoke_sessions(session.account, Some(session.id), actor, now).await;
    service.stored("/v1/sessions", ended)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn end_one(
    State(service): State<Arc<Service>>,
    Full(session): Full,
    other: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Problem> {
    let Path(other) = other.map_err(|_| Problem::NoSuchSession)?;
    let other = other.parse().map_err(|_| Problem::NoSuchSession)?;
    revoke(&service, &session, other).await
}

async fn revoke(service: &Service, session: &Session, other: SessionId) -> Result<StatusCode, Problem> {
    let actor = Actor::Account(session.account);
    let revoked = service.store.revoke_session(session.account, other, actor, service.clock.now()).await;
    if revoked.as_ref().is_err_and(|error| error.conflict() == Some(Conflict::NoSession)) {
        return Err(Problem::NoSuchSession);
    }
    service.stored("/v1/sessions/{session}", revoked)?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_has_exactly_its_bytes() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            token(&headers).map(|token| *token)
        };
        let text = Base64UrlUnpadded::encode_string(&[7; ACCESS]);
        assert_eq!(read(&format!("Bearer {text}")), Some([7; ACCESS]));
        assert_eq!(read(&format!("bearer {text}")), Some([7; ACCESS]));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            &text,
            &format!("Basic {text}"),
            &format!("Bearer  {text}"),
            &format!("Bearer {text}A"),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
