//! A new password, from a login that has just succeeded.
//!
//! A session does not suffice: whoever has found an open device could take the account over. So the login's KE3 comes with the registration request.

use super::ClientAddress;
use super::login::{end, open};
use super::register::{CODE, CODES, REGISTRATION, REQUEST, RegisterStarted, UPLOAD, codes, seal, uploaded};
use super::service::Service;
use super::session::{Opening, SessionOpened};
use super::wire::{Answer, Exactly, Json, Label, Name, Sealed};
use crate::problem::Problem;
use crate::state::Kind;
use crate::store::NewRecord;
use axum::extract::State;
use axum::http::StatusCode;
use candor_opaque::{Change, DefaultSuite, Suite};
use getrandom::{SysRng, rand_core::UnwrapErr};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Ends a login that `/v1/login/start` has begun, and begins a registration in place of the account's.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordStart {
    name: Name,
    /// From the answer to the login's first request.
    state: Sealed,
    /// OPAQUE's third message of that login.
    ke3: Exactly<{ DefaultSuite::KE3 }>,
    /// OPAQUE's registration request, for the new password.
    request: Exactly<REQUEST>,
}

/// Ends the registration. All sessions of the account end, and a new one is opened.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordFinish {
    name: Name,
    /// From the answer to the request before.
    state: Sealed,
    /// OPAQUE's registration upload.
    upload: Exactly<UPLOAD>,
    /// What the server shall know of new recovery codes. The old ones are removed in any case.
    #[serde(default)]
    #[schemars(length(max = CODES))]
    recovery_codes: Vec<Exactly<CODE>>,
    /// For the list of sessions.
    #[serde(default)]
    label: Label,
    /// Whether to make the device known.
    #[serde(default)]
    remember: bool,
}

pub(super) async fn start(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Json(body): Json<PasswordStart>,
) -> Result<Answer<RegisterStarted>, Problem> {
    const ROUTE: &str = "/v1/password/start";
    let ended = end(&service, ROUTE, from, &body.name, &body.state, &body.ke3).await?;
    service.own(ended.account.id)?;
    let first = service.store.spend_login(ended.opened.id, ended.opened.expires).await;
    if !service.stored(ROUTE, first)? {
        return Err(Problem::StateUsed);
    }
    service.throttle.succeeded(from, body.name.key(), None);
    let keys = service.ring.keys();
    let mut rng = UnwrapErr(SysRng);
    let again = || keys.server().register_again(&mut rng, &ended.session, body.request.0.as_slice());
    let answer = service.compute(from, again).await?;
    let answer = answer.map_err(|error| Problem::Malformed(format!("`request`: {error}")))?;
    let started = seal(&service, ROUTE, keys.seals(), Kind::Change, body.name.key().as_bytes(), &answer, &[])?;
    Ok(Answer(StatusCode::OK, started))
}

pub(super) async fn finish(
    State(service): State<Arc<Service>>,
    Json(body): Json<PasswordFinish>,
) -> Result<Answer<SessionOpened>, Problem> {
    const ROUTE: &str = "/v1/password/finish";
    let opened = open(&service, ROUTE, Kind::Change, body.name.key().as_bytes(), REGISTRATION, &body.state).await?;
    let Change::Replace { replaces, record } = uploaded(&service, ROUTE, &opened.content, &body.upload)? else {
        return Err(service.failed(ROUTE, "a sealed change is of another kind"));
    };
    // Whoever knew the old password may have set the old codes.
    let recovery_codes = Some(codes(&body.recovery_codes)?);
    let account = service.account(ROUTE, &body.name).await?.ok_or(Problem::RecordChanged)?.id;
    let new = NewRecord { account, replaces, record, key: opened.key, keep: None, recovery_codes };
    let (opening, opens) = Opening::new(&service, ROUTE, &opened, body.label, body.remember)?;
    let session = service.store.replace_record_and_open(new, opens, service.clock.now()).await;
    service.stored(ROUTE, session)?;
    Ok(Answer(StatusCode::OK, opening.done(&service)))
}
