//! The HTTP interface. `openapi.json` describes it; it is made from the same table as the router.
//!
//! Every request and answer is JSON. An answer to a name without an account looks like one to a name with an account: same work, same sizes, same errors. Only somebody
//! who asks twice sees that something happened in between: OPAQUE's evaluated element changes when a name is registered, when its password is changed, and when
//! the account is deleted.

mod devices;
mod login;
mod openapi;
mod pages;
mod password;
#[cfg(test)]
mod probing;
mod recovery;
mod register;
mod routes;
mod service;
mod session;
mod system;
mod wire;

pub use openapi::openapi;
pub(crate) use pages::{Pages, Unusable};
pub(crate) use service::Service;

use crate::problem::{Kind, Problem};
use crate::store::Upkeep;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How often the key ring is read again. Until then it is read when a login start finds that it has changed.
const TURN: Duration = Duration::from_secs(60);
/// Turns after which what has expired is removed.
const HOUR: u32 = 60;

/// Where a request came from, as far as we believe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// Marks a request that a proxy has passed on whose word about the client is not taken. Its [`ClientAddress`] is the proxy's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedOn;

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().copied().ok_or(Problem::Internal)
    }
}

/// Marks a request that came to [`Config::metrics_listen`](crate::Config::metrics_listen).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForMetrics;

/// All routes, and the pages at paths that no route has.
pub(crate) fn router(service: &Arc<Service>, pages: Option<Pages>) -> Router {
    let mut router = Router::new();
    for route in routes::routes() {
        router = router.route(route.path, (route.handler)());
    }
    let router = match pages.map(Arc::new) {
        Some(pages) => router.fallback(move |request: Request| std::future::ready(pages.answer(&request))),
        None => router.fallback(no_such_path),
    };
    completed(router, service)
}

/// The route of the address that is for metrics alone.
pub(crate) fn metrics_router(service: &Arc<Service>) -> Router {
    let router = Router::new().route("/metrics", get(system::metrics)).fallback(no_such_path);
    completed(router, service).layer(Extension(ForMetrics))
}

/// With what all requests have in common.
fn completed(router: Router<Arc<Service>>, service: &Arc<Service>) -> Router {
    router
        .method_not_allowed_fallback(async || Problem::NoSuchMethod)
        .layer(from_fn_with_state(Arc::clone(service), observe))
        .with_state(Arc::clone(service))
}

async fn no_such_path() -> Problem {
    Problem::NoSuchPath
}

/// Counts a request, and adds what all answers have.
async fn observe(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("none", |path| routes::name_of(path.as_str()));
    let mut response = next.run(request).await;
    let route = response.extensions().get::<pages::IsPage>().map_or(route, |_| pages::ROUTE);
    let headers = response.headers_mut();
    // Only pages say otherwise.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let problem = response.extensions().get::<Kind>().map(|kind| kind.0);
    service.metrics.answered(method, route, response.status().as_u16(), problem, start.elapsed());
    response
}

/// The methods that there are; any other is one kind, or a client could make as many metrics as it likes.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Keeps the key ring fresh and removes what has expired, as long as the server runs.
pub(crate) async fn upkeep(service: Arc<Service>) {
    let mut removing = Upkeep::new(service.store.clone(), service.clock.clone());
    loop {
        for _ in 0..HOUR {
            sleep(TURN).await;
            service.reload().await;
        }
        service.prune(&mut removing).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_method_makes_no_metric_of_its_own() {
        assert_eq!(method_name(&Method::from_bytes(b"MADEUP").unwrap()), "other");
        assert_eq!(method_name(&Method::POST), "POST");
    }
}
