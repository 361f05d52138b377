//! Registrations of new accounts.

use super::ClientAddress;
use super::login::open;
use super::service::Service;
use super::session::{Opening, SessionOpened};
use super::wire::{Answer, Exactly, Json, Label, Name, Sealed};
use crate::config::Registration;
use crate::ids::{Purpose, TokenHash};
use crate::problem::Problem;
use crate::state::{Kind, SealingKey};
use crate::store::NewAccount;
use axum::extract::State;
use axum::http::StatusCode;
use candor_opaque::{Change, KsfParams, RegistrationAnswer, ServerRegistration};
use getrandom::{SysRng, rand_core::UnwrapErr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Seconds from the response to the upload. Key stretching on a slow phone takes a few of them.
pub(super) const REGISTRATION: i64 = 600;
/// Bytes of OPAQUE's registration request.
pub(super) const REQUEST: usize = 32;
/// Bytes of its response.
pub(super) const RESPONSE: usize = 64;
/// Bytes of its upload.
pub(super) const UPLOAD: usize = 192;
/// Bytes that stand for a recovery code.
pub(super) const CODE: usize = 32;
/// The most recovery codes of an account.
pub(super) const CODES: usize = 16;

/// Begins a registration.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegisterStart {
    name: Name,
    /// A registration token, unless anybody may register.
    #[serde(default)]
    token: Option<Token>,
    /// OPAQUE's registration request.
    request: Exactly<REQUEST>,
}

/// A registration token as it was handed out.
#[derive(Deserialize, JsonSchema)]
struct Token(#[schemars(length(max = 128))] String);

/// The server's half of a registration.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RegisterStarted {
    /// To be sent back with the upload, within ten minutes.
    pub(super) state: Sealed,
    /// OPAQUE's registration response.
    pub(super) response: Exactly<RESPONSE>,
    /// Key stretching parameters: function, memory in KiB, passes, lanes.
    pub(super) ksf: Exactly<{ KsfParams::LENGTH }>,
}

/// Ends a registration.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegisterFinish {
    name: Name,
    /// The registration token again; it is used up now.
    #[serde(default)]
    token: Option<Token>,
    /// From the answer to the first request.
    state: Sealed,
    /// OPAQUE's registration upload.
    upload: Exactly<UPLOAD>,
    /// What the server shall know of the account's recovery codes.
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
    Json(body): Json<RegisterStart>,
) -> Result<Answer<RegisterStarted>, Problem> {
    const ROUTE: &str = "/v1/register/start";
    // Trying tokens, and learning which names are taken where registration is open, is as slow as guessing.
    service.arrive(from).await?;
    let token = token(&service, body.token.as_ref())?;
    if let Some(token) = token {
        let there = service.store.has_registration_token(token, service.clock.now()).await;
        if !service.stored(ROUTE, there)? {
            return Err(Problem::RegistrationToken);
        }
        service.begin(token)?;
        service.throttle.succeeded_from(from);
    }
    let keys = service.ring.keys();
    let mut rng = UnwrapErr(SysRng);
    let answer = service.compute(from, || keys.server().register(&mut rng, body.request.0.as_slice())).await?;
    let answer = answer.map_err(|error| Problem::Malformed(format!("`request`: {error}")))?;
    let started = seal(&service, ROUTE, keys.seals(), Kind::Registration, &owner(&body.name, token), &answer, &[])?;
    Ok(Answer(StatusCode::OK, started))
}

pub(super) async fn finish(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Json(body): Json<RegisterFinish>,
) -> Result<Answer<SessionOpened>, Problem> {
    const ROUTE: &str = "/v1/register/finish";
    // Learning which names are taken is as slow as guessing, for whoever has a token too.
    service.arrive(from).await?;
    let token = token(&service, body.token.as_ref())?;
    let opened =
        open(&service, ROUTE, Kind::Registration, &owner(&body.name, token), REGISTRATION, &body.state).await?;
    let Change::Insert(record) = uploaded(&service, ROUTE, &opened.content, &body.upload)? else {
        return Err(service.failed(ROUTE, "a sealed registration is of another kind"));
    };
    let recovery_codes = codes(&body.recovery_codes)?;
    let new = NewAccount { name: (*body.name).clone(), record, key: opened.key, token, recovery_codes };
    let (opening, opens) = Opening::new(&service, ROUTE, &opened, body.label, body.remember)?;
    let made = service.store.register_and_open(new, opens, service.clock.now()).await;
    service.stored(ROUTE, made)?;
    service.metrics.registrations.inc();
    if token.is_some() {
        service.throttle.succeeded_from(from);
    }
    Ok(Answer(StatusCode::CREATED, opening.done(&service)))
}

/// The hash of the token that this deployment wants; `None` if it wants none.
fn token(service: &Service, token: Option<&Token>) -> Result<Option<TokenHash>, Problem> {
    match service.config.registration {
        Registration::Open => Ok(None),
        Registration::Closed => Err(Problem::RegistrationToken),
        Registration::Token => {
            let Token(text) = token.ok_or(Problem::RegistrationToken)?;
            Ok(Some(TokenHash::of(Purpose::Registration, text.as_bytes())))
        }
    }
}

/// To whom the state of a registration belongs: nobody goes on with another name or token.
fn owner(name: &Name, token: Option<TokenHash>) -> Vec<u8> {
    let token = token.map_or([0; 32], |token| token.0);
    [&token, name.key().as_bytes()].concat()
}

/// The answer to a registration request, with its state sealed, after `before`, under the key that has answered: the record will be that key's.
pub(super) fn seal(
    service: &Service,
    route: &'static str,
    key: &SealingKey,
    kind: Kind,
    owner: &[u8],
    answer: &RegistrationAnswer,
    before: &[u8],
) -> Result<RegisterStarted, Problem> {
    let expires = service.clock.now().plus(REGISTRATION);
    let content = Zeroizing::new([before, &answer.state.to_bytes()].concat());
    let sealed = key.seal(kind, owner, expires, &content);
    let state = Sealed(sealed.map_err(|error| service.failed(route, error))?);
    Ok(RegisterStarted { state, response: answer.response.into(), ksf: answer.ksf.to_bytes().into() })
}

/// The end of a registration whose sealed state had this content.
pub(super) fn uploaded(
    service: &Service,
    route: &'static str,
    content: &[u8],
    upload: &Exactly<UPLOAD>,
) -> Result<Change, Problem> {
    let registration = ServerRegistration::from_bytes(content).map_err(|error| service.failed(route, error))?;
    registration.finish(upload.0.as_slice()).map_err(|error| Problem::Malformed(format!("`upload`: {error}")))
}

/// What is stored of recovery codes.
pub(super) fn codes(codes: &[Exactly<CODE>]) -> Result<Vec<TokenHash>, Problem> {
    if codes.len() > CODES {
        return Err(Problem::Malformed(format!(
            "`recovery_codes` has {} entries; expected at most {CODES}",
            codes.len()
        )));
    }
    Ok(codes.iter().map(|code| TokenHash::of(Purpose::Recovery, code.0.as_slice())).collect())
}
