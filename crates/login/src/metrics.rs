//! What is counted, in the text format of Prometheus. No label comes from a client.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::time::Duration;

/// The counters of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    seconds: Family<Route, Histogram>,
    problems: Family<Problem, Counter>,
    logins: Family<Login, Counter>,
    throttled: Family<Throttled, Counter>,
    pub(crate) registrations: Counter,
    pub(crate) connections: Gauge,
    pub(crate) refused: Counter,
    pub(crate) evicted: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Problem {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Login {
    state: LoginState,
}

/// How far a login has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum LoginState {
    /// KE2 was sent.
    Begun,
    /// KE3 was right.
    Succeeded,
    /// KE3 was wrong.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Throttled {
    by: By,
}

/// Why a guess has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum By {
    /// Too many came from its address or network; it was turned away.
    Network,
    /// Too many came at its account; the answer was held back.
    Account,
    /// The account's owner did too much; the request was turned away.
    Owner,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("candor_login"),
            requests: Family::default(),
            // From a quarter of a millisecond to eight seconds.
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.00025, 2.0, 16))),
            problems: Family::default(),
            logins: Family::default(),
            throttled: Family::default(),
            registrations: Counter::default(),
            connections: Gauge::default(),
            refused: Counter::default(),
            evicted: Counter::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests by route and status", metrics.requests.clone());
        registry.register("request_seconds", "Time from a request's head to its answer", metrics.seconds.clone());
        registry.register("problems", "Requests that were not done, by problem", metrics.problems.clone());
        registry.register("logins", "Logins by how far they came", metrics.logins.clone());
        registry.register("throttled", "Guesses that had to wait", metrics.throttled.clone());
        registry.register("registrations", "Accounts that were made", metrics.registrations.clone());
        registry.register("connections", "Open connections", metrics.connections.clone());
        registry.register("connections_refused", "Connections that found no place", metrics.refused.clone());
        registry.register("connections_evicted", "Idle connections that made room for others", metrics.evicted.clone());
        metrics
    }

    /// A request was answered.
    pub(crate) fn answered(
        &self,
        method: &'static str,
        route: &'static str,
        status: u16,
        problem: Option<&'static str>,
        after: Duration,
    ) {
        self.requests.get_or_create(&Request { method, route, status }).inc();
        self.seconds.get_or_create(&Route { route }).observe(after.as_secs_f64());
        if let Some(kind) = problem {
            self.problems.get_or_create(&Problem { kind }).inc();
        }
    }

    pub(crate) fn login(&self, state: LoginState) {
        self.logins.get_or_create(&Login { state }).inc();
    }

    pub(crate) fn throttled(&self, by: By) {
        self.throttled.get_or_create(&Throttled { by }).inc();
    }

    /// All of them as text.
    pub(crate) fn text(&self) -> String {
        let mut page = String::new();
        match text::encode(&mut page, &self.registry) {
            Ok(()) => page,
            Err(_) => String::new(),
        }
    }
}

/// The content type of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_in_the_text() {
        let metrics = Metrics::new();
        metrics.answered("POST", "/v1/login/start", 429, Some("throttled"), Duration::from_millis(1));
        metrics.login(LoginState::Begun);
        metrics.throttled(By::Account);
        metrics.connections.inc();
        let text = metrics.text();
        for line in [
            "candor_login_requests_total{method=\"POST\",route=\"/v1/login/start\",status=\"429\"} 1",
            "candor_login_problems_total{kind=\"throttled\"} 1",
            "candor_login_logins_total{state=\"Begun\"} 1",
            "candor_login_throttled_total{by=\"Account\"} 1",
            "candor_login_connections 1",
            "candor_login_connections_refused_total 0",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
