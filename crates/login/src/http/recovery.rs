//! Recovery codes: each opens one session, and that can only set a new password.
//!
//! The client makes the codes. What it sends of a code is derived from it, so the server never sees one, and the code can also be what the
//! application encrypts its data key with. `docs/export-key.md` says how.
//!
//! A session does not suffice to replace them: whoever has stolen an access token could plant a code of his own, which would open the account even
//! after its owner has changed the password. So a login's KE3 comes with the new codes.

use super::ClientAddress;
use super::login::{end, open};
use super::register::{CODE, CODES, REGISTRATION, REQUEST, RegisterStarted, UPLOAD, codes, seal, uploaded};
use super::service::Service;
use super::session::{Bearer, Full, Opening, SessionOpened};
use super::wire::{Answer, Exactly, Json, Label, Name, Sealed};
use crate::ids::{AccountId, Purpose, SessionId, TokenHash};
use crate::problem::Problem;
use crate::sessions::ACCESS;
use crate::state::Kind;
use crate::store::{Account, NewRecord, Scope, Session};
use axum::extract::State;
use axum::http::StatusCode;
use candor_opaque::{Change, DefaultSuite, Suite};
use getrandom::{SysRng, rand_core::UnwrapErr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Uses up a recovery code.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoveryOpen {
    name: Name,
    /// What was derived from the code.
    code: Exactly<CODE>,
}

/// A session that can only set a new password.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RecoveryOpened {
    /// Names the session.
    session: String,
    /// For the header `Authorization: Bearer …`.
    access_token: Exactly<ACCESS>,
    /// When the session ends, in seconds since 1970.
    ends: i64,
}

/// Begins a registration in place of the account's.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoveryStart {
    /// OPAQUE's registration request, for the new password.
    request: Exactly<REQUEST>,
}

/// Ends the registration. All sessions of the account end, and a new one is opened.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoveryFinish {
    /// From the answer to the request before.
    state: Sealed,
    /// OPAQUE's registration upload.
    upload: Exactly<UPLOAD>,
    /// What the server shall know of new recovery codes. The old ones stay, except the one that was used, if this is left out.
    #[serde(default)]
    #[schemars(length(max = CODES))]
    recovery_codes: Option<Vec<Exactly<CODE>>>,
    /// For the list of sessions.
    #[serde(default)]
    label: Label,
    /// Whether to make the device known.
    #[serde(default)]
    remember: bool,
}

/// Ends a login that `/v1/login/start` has begun, and sets new recovery codes in place of the old ones. No session is opened.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoveryCodes {
    name: Name,
    /// From the answer to the login's first request.
    state: Sealed,
    /// OPAQUE's third message of that login.
    ke3: Exactly<{ DefaultSuite::KE3 }>,
    /// What the server shall know of each.
    #[schemars(length(max = CODES))]
    codes: Vec<Exactly<CODE>>,
}

/// How many recovery codes are left.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CodesLeft {
    left: u64,
}

pub(super) async fn begin(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Json(body): Json<RecoveryOpen>,
) -> Result<Answer<RecoveryOpened>, Problem> {
    const ROUTE: &str = "/v1/recovery/session";
    service.arrive(from).await?;
    service.hold_back(from, &body.name, None).await?;
    let account = service.account(ROUTE, &body.name).await?;
    // A name without an account goes the same way, with an identifier that no account has.
    let id = account.map_or(AccountId([0; 16]), |account| account.id);
    let now = service.clock.now();
    let tokens = SessionId::generate().and_then(|session| service.tokens(session, Scope::Recovery));
    let tokens = tokens.map_err(|error| service.failed(ROUTE, error))?;
    let code = TokenHash::of(Purpose::Recovery, body.code.0.as_slice());
    let new = tokens.stored(Scope::Recovery, "recovery".to_owned(), None);
    let session = service.stored(ROUTE, service.store.recover(id, code, new, now).await)?;
    service.throttle.succeeded(from, body.name.key(), None);
    let opened = RecoveryOpened {
        session: session.to_string(),
        access_token: Exactly(tokens.access.clone()),
        ends: tokens.ends().0,
    };
    Ok(Answer(StatusCode::OK, opened))
}

pub(super) async fn start(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Bearer(session): Bearer,
    Json(body): Json<RecoveryStart>,
) -> Result<Answer<RegisterStarted>, Problem> {
    const ROUTE: &str = "/v1/recovery/start";
    let account = recovering(&service, ROUTE, &session).await?;
    service.own(account.id)?;
    let keys = service.ring.keys();
    let mut rng = UnwrapErr(SysRng);
    let answer = service.compute(from, || keys.server().register(&mut rng, body.request.0.as_slice())).await?;
    let answer = answer.map_err(|error| Problem::Malformed(format!("`request`: {error}")))?;
    // What it will replace goes before, so that an old one can't undo a later change.
    let replaces = account.record.credential_hash();
    let started = seal(&service, ROUTE, keys.seals(), Kind::Recovery, &account.id.0, &answer, replaces.as_bytes())?;
    Ok(Answer(StatusCode::OK, started))
}

pub(super) async fn finish(
    State(service): State<Arc<Service>>,
    Bearer(session): Bearer,
    Json(body): Json<RecoveryFinish>,
) -> Result<Answer<SessionOpened>, Problem> {
    const ROUTE: &str = "/v1/recovery/finish";
    let account = recovering(&service, ROUTE, &session).await?;
    service.own(account.id)?;
    let opened = open(&service, ROUTE, Kind::Recovery, &account.id.0, REGISTRATION, &body.state).await?;
    let split = opened.content.split_first_chunk::<32>();
    let (begun_for, registration) = split.ok_or_else(|| service.failed(ROUTE, "a sealed recovery is too short"))?;
    let Change::Insert(record) = uploaded(&service, ROUTE, registration, &body.upload)? else {
        return Err(service.failed(ROUTE, "a sealed recovery is of another kind"));
    };
    let replaces = account.record.credential_hash();
    if replaces.as_bytes() != begun_for {
        return Err(Problem::RecordChanged);
    }
    let recovery_codes = body.recovery_codes.as_deref().map(codes).transpose()?;
    let new = NewRecord { account: account.id, replaces, record, key: opened.key, keep: None, recovery_codes };
    let (opening, opens) = Opening::new(&service, ROUTE, &opened, body.label, body.remember)?;
    let session = service.store.replace_record_and_open(new, opens, service.clock.now()).await;
    service.stored(ROUTE, session)?;
    Ok(Answer(StatusCode::OK, opening.done(&service)))
}

/// The account of a session that a recovery code has opened.
async fn recovering(service: &Service, route: &'static str, session: &Session) -> Result<Account, Problem> {
    if session.scope != Scope::Recovery {
        return Err(Problem::Scope);
    }
    let account = service.store.account_by_id(session.account).await;
    service.stored(route, account)?.ok_or(Problem::NoSession)
}

pub(super) async fn left(
    State(service): State<Arc<Service>>,
    Full(session): Full,
) -> Result<Answer<CodesLeft>, Problem> {
    let left = service.store.recovery_codes_left(session.account).await;
    Ok(Answer(StatusCode::OK, CodesLeft { left: service.stored("/v1/recovery/codes", left)? }))
}

pub(super) async fn replace(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Json(body): Json<RecoveryCodes>,
) -> Result<Answer<CodesLeft>, Problem> {
    const ROUTE: &str = "/v1/recovery/codes";
    let codes = codes(&body.codes)?;
    let ended = end(&service, ROUTE, from, &body.name, &body.state, &body.ke3).await?;
    let account = ended.account.id;
    service.own(account)?;
    let (login, credential) = ((ended.opened.id, ended.opened.expires), *ended.session.credential());
    let left = service.store.replace_recovery_codes(login, account, credential, codes, service.clock.now()).await;
    let left = service.stored(ROUTE, left)?;
    // Only now: a login that is sent again was no success.
    service.throttle.succeeded(from, body.name.key(), None);
    Ok(Answer(StatusCode::OK, CodesLeft { left }))
}
