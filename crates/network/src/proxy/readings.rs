//! A proxy's numbers, for Prometheus, and its circuits.

use super::socks::Reply;
use super::{Proxy, ProxyMetrics, Shared};
use crate::Error;
use crate::metrics::{Exposition, Identity, MetricsServer, Readings};
use crate::web::{Document, Documents};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

/// The most circuits that are read, and the most relays of a path.
const MOST_CIRCUITS: usize = 1024;
const MOST_HOPS: usize = 8;

/// A circuit that is open, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitReading {
    /// Its number, counted from the start of the proxy.
    pub number: u64,
    /// The names of its relays, or the beginnings of their identities.
    pub path: Vec<String>,
    /// Seconds that the link to the guard took, which is near 0 where there was one, and then each hop.
    pub stages: Vec<f64>,
    /// Seconds since it was built.
    pub age: f64,
    /// Streams on it.
    pub streams: usize,
    /// Whether it has had a stream.
    pub used: bool,
}

impl CircuitReading {
    /// A proxy's circuits, from its JSON.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence about the proxy.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let circuits: Vec<Self> =
            serde_json::from_str(text).map_err(|error| format!("has circuits that can't be read: {error}"))?;
        let is_fit = |circuit: &Self| circuit.path.len() <= MOST_HOPS && circuit.stages.len() <= 1 + MOST_HOPS;
        match circuits.len() <= MOST_CIRCUITS && circuits.iter().all(is_fit) {
            true => Ok(circuits),
            false => {
                Err(format!("has too many circuits, or too long ones; expected {MOST_CIRCUITS} of {MOST_HOPS} relays"))
            }
        }
    }
}

impl Proxy {
    /// What writes its numbers of the moment; nothing once the proxy is gone.
    pub fn readings(&self) -> Readings {
        let shared = Arc::downgrade(&self.shared);
        Arc::new(move |out| {
            if let Some(shared) = shared.upgrade() {
                write(out, &shared.metrics());
            }
        })
    }

    /// Its circuits, the oldest first.
    pub fn circuits(&self) -> Vec<CircuitReading> {
        self.shared.pool.circuits()
    }

    /// Serves its numbers at `/metrics` of `listen`, and its circuits as JSON at `/circuits`. Those who read that learn which relays circuits go
    /// through.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub async fn serve_metrics(&self, listen: SocketAddr, name: String) -> Result<MetricsServer, Error> {
        let shared: Weak<Shared> = Arc::downgrade(&self.shared);
        let circuits: Documents = Arc::new(move |path| {
            let shared = shared.upgrade().filter(|_| path == "/circuits")?;
            Some(Document::json(&shared.pool.circuits()))
        });
        let identity = Identity { role: "proxy", name };
        MetricsServer::with_documents(listen, identity, self.readings(), circuits).await
    }
}

fn write(out: &mut Exposition, metrics: &ProxyMetrics) {
    for (name, help, value) in [
        ("candor_proxy_connections", "Connections of clients.", metrics.connections),
        ("candor_proxy_half_open", "Connections that have not yet said what they want.", metrics.half_open),
        ("candor_proxy_circuits", "Circuits that are open.", metrics.circuits),
        ("candor_proxy_streams", "Streams that are open.", metrics.streams),
    ] {
        out.gauge(name, help, &[], value as f64);
    }
    let name = "candor_proxy_circuits_total";
    let help = "Circuits that were built, and that could not be built.";
    out.counter(name, help, &[("outcome", "built")], metrics.circuits_built);
    out.counter(name, help, &[("outcome", "failed")], metrics.circuits_failed);
    let help = "Circuits whose last layer was upgraded.";
    out.counter("candor_proxy_upgraded_circuits_total", help, &[], metrics.upgrades);
    for reply in Reply::ALL {
        let labels = [("reply", &*format!("{reply:?}"))];
        out.counter("candor_proxy_replies_total", "Requests by their reply.", &labels, metrics.replied(reply));
    }
    out.counter("candor_proxy_retries_total", "Streams that were tried on another path.", &[], metrics.retries);
    let name = "candor_proxy_refused_total";
    let help = "Connections that found no place, gave way to newer ones, were too slow, or were no SOCKS and no HTTP.";
    out.counter(name, help, &[("what", "full")], metrics.turned_away);
    out.counter(name, help, &[("what", "displaced")], metrics.displaced);
    out.counter(name, help, &[("what", "late")], metrics.late);
    out.counter(name, help, &[("what", "garbage")], metrics.garbage);
    let name = "candor_proxy_bytes_total";
    out.counter(name, "Bytes from clients and to clients.", &[("way", "up")], metrics.bytes_up);
    out.counter(name, "Bytes from clients and to clients.", &[("way", "down")], metrics.bytes_down);
    let [hop1, hop2, hop3] = metrics.hops;
    let stages = [("link", metrics.link), ("hop1", hop1), ("hop2", hop2), ("hop3", hop3), ("stream", metrics.stream)];
    let stages = stages.map(|(name, stage)| ([("stage", name)], stage));
    for (labels, stage) in &stages {
        let help = "Seconds that the stages of circuits and the opening of streams took.";
        out.sum("candor_proxy_stage_seconds_sum", help, labels, stage.total);
    }
    for (labels, stage) in &stages {
        out.counter("candor_proxy_stage_seconds_count", "How many there were.", labels, stage.count);
    }
    for (labels, stage) in &stages {
        out.gauge("candor_proxy_stage_longest_seconds", "The longest.", labels, stage.longest.as_secs_f64());
    }
    for (labels, stage) in &stages {
        out.gauge("candor_proxy_stage_last_seconds", "The latest.", labels, stage.last.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn circuits_are_read_again_and_anything_else_is_refused(
            number in any::<u64>(), path in prop::collection::vec("\\PC{0,5}", 0..10), stages in prop::collection::vec((0..u32::MAX).prop_map(f64::from), 0..10),
            age in (0..u32::MAX).prop_map(f64::from), streams in any::<usize>(), used in any::<bool>(), noise in "\\PC{0,40}",
        ) {
            let circuit = CircuitReading { number, path, stages, age, streams, used };
            let text = serde_json::to_string(&[&circuit]).unwrap();
            prop_assert_eq!(CircuitReading::parse(&text).ok(), (circuit.path.len() <= 8 && circuit.stages.len() <= 9).then(|| vec![circuit]));
            prop_assert!(noise == "[]" || CircuitReading::parse(&noise).is_err());
        }
    }
}
