//! What a client, an operator and a balancer ask of the server itself.

use super::openapi::openapi;
use super::service::Service;
use super::wire::{Answer, Exactly};
use super::{ClientAddress, ForMetrics, PassedOn};
use crate::PARTIES;
use crate::config::Registration;
use crate::metrics;
use crate::problem::Problem;
use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use candor_opaque::{DefaultSuite, KsfParams, Suite};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::{Arc, LazyLock};

/// What a client must know.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ConfigShown {
    /// The suite of OPAQUE.
    suite: &'static str,
    /// The context of every login. There are no identities.
    context: &'static str,
    /// Key stretching parameters of new registrations: function, memory in KiB, passes, lanes.
    ksf: Exactly<{ KsfParams::LENGTH }>,
    /// Who may register: `token`, `open` or `closed`.
    registration: &'static str,
    /// Seconds from KE2 to KE3.
    login_seconds: i64,
    /// Seconds from the response to a registration request to the upload.
    registration_seconds: i64,
}

/// That the server is there.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    /// `alive` or `ready`.
    status: &'static str,
}

pub(super) async fn config(State(service): State<Arc<Service>>) -> Answer<ConfigShown> {
    let shown = ConfigShown {
        suite: DefaultSuite::NAME,
        context: str::from_utf8(PARTIES.context).unwrap_or_default(),
        ksf: service.ring.keys().server().ksf().to_bytes().into(),
        registration: match service.config.registration {
            Registration::Token => "token",
            Registration::Open => "open",
            Registration::Closed => "closed",
        },
        login_seconds: super::login::LOGIN,
        registration_seconds: super::register::REGISTRATION,
    };
    Answer(StatusCode::OK, shown)
}

/// The process answers.
pub(super) async fn alive() -> Answer<Health> {
    Answer(StatusCode::OK, Health { status: "alive" })
}

/// The database takes changes as well, and the server is not about to stop: a balancer may send requests.
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<Answer<Health>, Problem> {
    if service.is_stopping() || !service.is_writable().await {
        return Err(Problem::Unavailable);
    }
    Ok(Answer(StatusCode::OK, Health { status: "ready" }))
}

pub(super) async fn metrics(
    State(service): State<Arc<Service>>,
    ClientAddress(from): ClientAddress,
    stranger: Option<Extension<PassedOn>>,
    for_metrics: Option<Extension<ForMetrics>>,
) -> Result<impl IntoResponse, Problem> {
    let is_elsewhere = service.config.metrics_listen.is_some() && for_metrics.is_none();
    // A proxy that nobody told us of has an address of its own, perhaps of this machine; who asks it, we don't know.
    if is_elsewhere || stranger.is_some() || !service.config.metrics_from.iter().any(|net| net.contains(&from)) {
        return Err(Problem::NoSuchPath);
    }
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], service.metrics.text()))
}

pub(super) async fn description() -> impl IntoResponse {
    // Made once: making it takes long, and anybody may ask for it.
    static TEXT: LazyLock<String> = LazyLock::new(openapi);
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
}
