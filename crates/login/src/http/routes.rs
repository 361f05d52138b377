//! The routes: one table, from which the router and the description are made.

use super::service::Service;
use super::{devices, login, password, recovery, register, session, system};
use axum::http::Method;
use axum::routing::{MethodRouter, delete, get, post, put};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::sync::Arc;

/// A route.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// What it does, in a line.
    pub(super) summary: &'static str,
    /// The session that it needs, if any.
    pub(super) session: Option<&'static str>,
    /// The schema of the request's body.
    pub(super) body: Option<SchemaOf>,
    /// The status of a success, and the schema of its body.
    pub(super) success: (u16, Option<SchemaOf>),
    /// The statuses of its problems, besides those that any request can meet.
    pub(super) problems: &'static [u16],
    pub(super) handler: fn() -> MethodRouter<Arc<Service>>,
}

/// Makes a schema.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn of<T: JsonSchema>() -> SchemaOf {
    |generator| generator.subschema_for::<T>()
}

/// The path of a route as a label.
pub(super) fn name_of(path: &str) -> &'static str {
    PATHS.iter().find(|known| **known == path).copied().unwrap_or("none")
}

/// Every path.
pub(super) const PATHS: &[&str] = &[
    "/v1/register/start",
    "/v1/register/finish",
    "/v1/login/start",
    "/v1/login/finish",
    "/v1/password/start",
    "/v1/password/finish",
    "/v1/session",
    "/v1/session/refresh",
    "/v1/sessions",
    "/v1/sessions/{session}",
    "/v1/devices",
    "/v1/devices/{device}",
    "/v1/recovery/session",
    "/v1/recovery/start",
    "/v1/recovery/finish",
    "/v1/recovery/codes",
    "/v1/config",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
];

impl Route {
    fn new(
        method: Method,
        path: &'static str,
        summary: &'static str,
        handler: fn() -> MethodRouter<Arc<Service>>,
    ) -> Self {
        Self { method, path, summary, session: None, body: None, success: (200, None), problems: &[], handler }
    }

    fn takes<T: JsonSchema>(self) -> Self {
        Self { body: Some(of::<T>()), ..self }
    }

    fn answers<T: JsonSchema>(self) -> Self {
        Self { success: (self.success.0, Some(of::<T>())), ..self }
    }

    fn status(self, status: u16) -> Self {
        Self { success: (status, self.success.1), ..self }
    }

    fn session(self, kind: &'static str) -> Self {
        Self { session: Some(kind), ..self }
    }

    fn problems(self, problems: &'static [u16]) -> Self {
        Self { problems, ..self }
    }
}

/// All of them, in the order of [`PATHS`].
pub(super) fn routes() -> Vec<Route> {
    let get_ = |path, summary, handler| Route::new(Method::GET, path, summary, handler);
    let post_ = |path, summary, handler| Route::new(Method::POST, path, summary, handler);
    let put_ = |path, summary, handler| Route::new(Method::PUT, path, summary, handler);
    let delete_ = |path, summary, handler| Route::new(Method::DELETE, path, summary, handler);
    vec![
        post_("/v1/register/start", "Begin the registration of a new account", || post(register::start))
            .takes::<register::RegisterStart>()
            .answers::<register::RegisterStarted>()
            .problems(&[403, 429]),
        post_("/v1/register/finish", "End the registration, and open a session", || post(register::finish))
            .takes::<register::RegisterFinish>()
            .answers::<session::SessionOpened>()
            .status(201)
            .problems(&[403, 409, 429]),
        post_("/v1/login/start", "Begin a login", || post(login::start))
            .takes::<login::LoginStart>()
            .answers::<login::LoginStarted>()
            .problems(&[409, 429]),
        post_("/v1/login/finish", "End the login, and open a session", || post(login::finish))
            .takes::<login::LoginFinish>()
            .answers::<session::SessionOpened>()
            .problems(&[401, 409, 429]),
        post_("/v1/password/start", "End a login, and begin to set a new password", || post(password::start))
            .takes::<password::PasswordStart>()
            .answers::<register::RegisterStarted>()
            .problems(&[401, 409, 429]),
        post_("/v1/password/finish", "Set the new password, end all sessions, and open one", || post(password::finish))
            .takes::<password::PasswordFinish>()
            .answers::<session::SessionOpened>()
            .problems(&[401, 409]),
        get_("/v1/session", "Look at this session", || get(session::show))
            .session("any")
            .answers::<session::SessionShown>(),
        delete_("/v1/session", "End this session", || delete(session::end)).session("any").status(204).problems(&[404]),
        post_("/v1/session/refresh", "Exchange the refresh token for new tokens, once", || post(session::refresh))
            .takes::<session::SessionRefresh>()
            .answers::<session::SessionOpened>()
            .problems(&[401, 429]),
        get_("/v1/sessions", "List the account's sessions", || get(session::list))
            .session("full")
            .answers::<session::Sessions>(),
        delete_("/v1/sessions", "End the account's other sessions", || delete(session::end_others))
            .session("full")
            .status(204),
        delete_("/v1/sessions/{session}", "End a session of the account", || delete(session::end_one))
            .session("full")
            .status(204)
            .problems(&[404]),
        get_("/v1/devices", "List the account's known devices", || get(devices::list))
            .session("full")
            .answers::<devices::Devices>(),
        delete_("/v1/devices/{device}", "Forget a known device", || delete(devices::forget))
            .session("full")
            .status(204)
            .problems(&[404]),
        post_(
            "/v1/recovery/session",
            "Use up a recovery code: opens a session that can only set a new password",
            || post(recovery::begin),
        )
        .takes::<recovery::RecoveryOpen>()
        .answers::<recovery::RecoveryOpened>()
        .problems(&[401, 429]),
        post_("/v1/recovery/start", "Begin to set a new password", || post(recovery::start))
            .session("recovery")
            .takes::<recovery::RecoveryStart>()
            .answers::<register::RegisterStarted>(),
        post_("/v1/recovery/finish", "Set the new password, end all sessions, and open one", || post(recovery::finish))
            .session("recovery")
            .takes::<recovery::RecoveryFinish>()
            .answers::<session::SessionOpened>()
            .problems(&[409]),
        get_("/v1/recovery/codes", "Count the recovery codes that are left", || get(recovery::left))
            .session("full")
            .answers::<recovery::CodesLeft>(),
        put_("/v1/recovery/codes", "End a login, and replace the recovery codes", || put(recovery::replace))
            .takes::<recovery::RecoveryCodes>()
            .answers::<recovery::CodesLeft>()
            .problems(&[401, 409, 429]),
        get_("/v1/config", "What a client must know", || get(system::config)).answers::<system::ConfigShown>(),
        get_("/healthz", "Whether the process answers", || get(system::alive)).answers::<system::Health>(),
        get_("/readyz", "Whether the database answers as well", || get(system::ready)).answers::<system::Health>(),
        get_("/metrics", "Counters in OpenMetrics' text format, for permitted networks", || get(system::metrics))
            .problems(&[404]),
        get_("/openapi.json", "This description", || get(system::description)),
    ]
}
