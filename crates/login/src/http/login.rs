//! Logins: KE1 and KE2 in the first pair of messages, KE3 in the second.

use super::ClientAddress;
use super::register::REGISTRATION;
use super::service::Service;
use super::session::{Opening, SessionOpened};
use super::wire::{Answer, Exactly, Json, Label, Name, Sealed};
use crate::PARTIES;
use crate::devices;
use crate::metrics::LoginState;
use crate::problem::Problem;
use crate::state::{self, Kind, Opened, Unsealable};
use crate::store::{Account, Opens};
use axum::extract::State;
use axum::http::StatusCode;
use candor_opaque::{DefaultSuite, KsfParams, ServerLogin, Session, Suite};
use getrandom::{SysRng, rand_core::UnwrapErr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;

/// Seconds from KE2 to KE3. Key stretching on a slow phone takes a few of them.
pub(super) const LOGIN: i64 = 60;

const KE1: usize = DefaultSuite::KE1;
const KE2: usize = DefaultSuite::KE2;
const KE3: usize = DefaultSuite::KE3;

/// Begins a login.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginStart {
    name: Name,
    /// OPAQUE's first message.
    ke1: Exactly<KE1>,
    /// The proof of a known device, from an earlier login. Such a login does not wait when others guess at the account.
    device: Option<Exactly<{ devices::PROOF }>>,
    /// The state of the answer that told `old_hash`, if KE1 was made with that hash. It serves once.
    old_hash: Option<Sealed>,
}

/// The server's half of a login.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LoginStarted {
    /// To be sent back with KE3, within a minute. If the answer tells an old hash and the request brought no state, to be sent back as `old_hash` of
    /// another request, within ten minutes.
    state: Sealed,
    /// OPAQUE's second message. No password opens it if the answer tells an old hash and the request brought no state.
    ke2: Exactly<KE2>,
    /// Key stretching parameters: function, memory in KiB, passes, lanes.
    ksf: Exactly<{ KsfParams::LENGTH }>,
    /// How to compute the old password hash that this account was taken over with; the hash is then the password of another login start. Not there if the
    /// password itself is.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_hash: Option<String>,
}

/// Ends a login.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginFinish {
    name: Name,
    /// From the answer to the first request.
    state: Sealed,
    /// OPAQUE's third message.
    ke3: Exactly<KE3>,
    /// The proof that the login began with, if it did with one.
    device: Option<Exactly<{ devices::PROOF }>>,
    /// For the list of sessions.
    #[serde(default)]
    label: Label,
    /// Whether to make the device known, if it is not.
    #[serde(default)]
    remember: bool,
}

pub(super) async fn start(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Json(body): Json<LoginStart>,
) -> Result<Answer<LoginStarted>, Problem> {
    const ROUTE: &str = "/v1/login/start";
    let told = match &body.old_hash {
        Some(state) => {
            let told = open(&service, ROUTE, Kind::OldHash, body.name.key().as_bytes(), REGISTRATION, state).await?;
            // Looked up first: writing is too dear for what anybody can send again and again.
            if service.stored(ROUTE, service.store.is_login_spent(told.id).await)?
                || !service.stored(ROUTE, service.store.spend_login(told.id, told.expires).await)?
            {
                return Err(service.replayed(from).await);
            }
            // What it came with opens for no password: it was no guess.
            service.throttle.succeeded_from(from);
            true
        }
        None => false,
    };
    service.arrive(from).await?;
    let mut found = service.stored(ROUTE, service.store.look_up(&body.name).await)?;
    let device =
        devices::known(&service.store, found.account.as_ref(), body.device.as_ref().map(|proof| &*proof.0)).await;
    let device = service.stored(ROUTE, device)?;
    if told {
        service.throttle.succeeded_at(body.name.key(), device);
    }
    if service.hold_back(from, &body.name, device).await? {
        // The account may have changed while the guess waited.
        found = service.stored(ROUTE, service.store.look_up(&body.name).await)?;
    }
    let keys = service.keys_for(ROUTE, &found).await?;
    let basis = service.stored(ROUTE, keys.opaque.basis(&body.name, found.account.as_ref()))?;
    // Who does not know of the old hash yet learns of it and nothing else. The answer is one for a name that nobody has.
    let tells = basis.old_hash.is_some() && !told;
    let (kind, lasts, record) =
        if tells { (Kind::OldHash, REGISTRATION, None) } else { (Kind::Login, LOGIN, basis.record) };
    let name = [basis.name.as_slice(), if tells { b"\0told" } else { b"" }].concat();
    let mut rng = UnwrapErr(SysRng);
    let respond = || basis.server.respond(&mut rng, body.ke1.0.as_slice(), &name, record, &PARTIES);
    let answer = service.compute(from, respond).await?.map_err(|error| match error {
        candor_opaque::Error::Record => service.failed(ROUTE, error),
        _ => Problem::Malformed(format!("`ke1`: {error}")),
    })?;
    let expires = service.clock.now().plus(lasts);
    let sealed = keys.seals().seal(kind, body.name.key().as_bytes(), expires, &*answer.state.to_bytes());
    let state = Sealed(sealed.map_err(|error| service.failed(ROUTE, error))?);
    let ke2: [u8; KE2] = answer.ke2.try_into().map_err(|_| service.failed(ROUTE, "KE2 has another length"))?;
    if !tells {
        service.metrics.login(LoginState::Begun);
    }
    Ok(Answer(
        StatusCode::OK,
        LoginStarted { state, ke2: ke2.into(), ksf: answer.ksf.to_bytes().into(), old_hash: basis.old_hash },
    ))
}

pub(super) async fn finish(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    Json(body): Json<LoginFinish>,
) -> Result<Answer<SessionOpened>, Problem> {
    const ROUTE: &str = "/v1/login/finish";
    let ended = end(&service, ROUTE, from, &body.name, &body.state, &body.ke3).await?;
    let known = devices::known(&service.store, Some(&ended.account), body.device.as_ref().map(|proof| &*proof.0)).await;
    let known = service.stored(ROUTE, known)?;
    let account = ended.account.id;
    service.own(account)?;
    let remember = body.remember && known.is_none();
    let (opening, Opens { state, state_ends, session }) =
        Opening::new(&service, ROUTE, &ended.opened, body.label, remember)?;
    let credential = *ended.session.credential();
    let session = service.store.log_in(state, state_ends, account, credential, session, service.clock.now()).await;
    service.stored(ROUTE, session)?;
    // Only now: a login that is sent again was no success.
    service.throttle.succeeded(from, body.name.key(), known);
    if let Some(device) = known {
        // Best effort: the session is open.
        let _ = service.stored(ROUTE, devices::used(&service.store, account, device, service.clock.now()).await);
    }
    Ok(Answer(StatusCode::OK, opening.done(&service)))
}

/// A login whose KE3 was right. Its state is not used up yet.
pub(super) struct Ended {
    pub(super) account: Account,
    pub(super) session: Session,
    pub(super) opened: Opened,
}

/// Ends a login. If KE3 is wrong, its state is used up.
pub(super) async fn end(
    service: &Service,
    route: &'static str,
    from: IpAddr,
    name: &Name,
    sealed: &Sealed,
    ke3: &Exactly<KE3>,
) -> Result<Ended, Problem> {
    let opened = open(service, route, Kind::Login, name.key().as_bytes(), LOGIN, sealed).await?;
    let login =
        ServerLogin::<DefaultSuite>::from_bytes(&opened.content).map_err(|error| service.failed(route, error))?;
    // Looked up first: computing and writing are too dear for what anybody can send again and again.
    if service.stored(route, service.store.is_login_spent(opened.id).await)? {
        return Err(service.replayed(from).await);
    }
    let account = service.account(route, name).await?;
    let record = account.as_ref().map(|account| &account.record);
    let finished = service.compute(from, || login.finish(ke3.0.as_slice(), record)).await?;
    match (finished, account) {
        (Ok(session), Some(account)) if !account.disabled => Ok(Ended { account, session, opened }),
        _ => {
            service.metrics.login(LoginState::Failed);
            let first = service.stored(route, service.store.spend_login(opened.id, opened.expires).await)?;
            Err(if first { Problem::LoginFailed } else { Problem::StateUsed })
        }
    }
}

/// Opens a sealed state, also one that another instance has sealed under a newer key.
pub(super) async fn open(
    service: &Service,
    route: &'static str,
    kind: Kind,
    owner: &[u8],
    longest: i64,
    sealed: &Sealed,
) -> Result<Opened, Problem> {
    let mut keys = service.ring.keys();
    if !state::names_a_key(&keys.sealing, &sealed.0) {
        keys = service.stored(route, service.ring.look_again(&service.store).await)?;
    }
    state::open(&keys.sealing, kind, owner, service.clock.now(), longest, &sealed.0).map_err(|error| match error {
        Unsealable::Forged => Problem::StateInvalid,
        Unsealable::Expired => Problem::StateExpired,
    })
}
