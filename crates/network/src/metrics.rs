//! Numbers for Prometheus, in its text format (version 0.0.4): written, served, and read again by the [monitor](crate::monitor).
//!
//! A role writes its numbers into an [`Exposition`] whenever it is asked; [`MetricsServer`] serves them at `/metrics`. Names, targets and addresses of
//! clients are in none of them.

mod samples;

pub use samples::{MOST_SAMPLES, Sample, parse};

use crate::Error;
use crate::web::{Document, Documents, Web};
use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The type of the text, as HTTP names it.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Numbers, as they are written down.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    family: &'static str,
}

impl Exposition {
    /// A number that only grows.
    pub fn counter(&mut self, name: &'static str, help: &str, labels: &[(&str, &str)], value: u64) {
        self.sample("counter", name, help, labels, &value);
    }

    /// A number that goes up and down.
    pub fn gauge(&mut self, name: &'static str, help: &str, labels: &[(&str, &str)], value: f64) {
        self.sample("gauge", name, help, labels, &value);
    }

    /// A sum of times, in seconds.
    pub fn sum(&mut self, name: &'static str, help: &str, labels: &[(&str, &str)], total: Duration) {
        self.sample("counter", name, help, labels, &total.as_secs_f64());
    }

    /// Samples of one name must follow each other.
    fn sample(
        &mut self,
        kind: &str,
        name: &'static str,
        help: &str,
        labels: &[(&str, &str)],
        value: &dyn fmt::Display,
    ) {
        if self.family != name {
            self.family = name;
            let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        }
        samples::write(&mut self.text, name, labels, value);
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// What writes a role's numbers of the moment.
pub type Readings = Arc<dyn Fn(&mut Exposition) + Send + Sync>;

/// What a process is in the network.
#[derive(Clone, Debug)]
pub struct Identity {
    /// `relay`, `proxy`, `directory`, `target` or `monitor`.
    pub role: &'static str,
    /// A name for people.
    pub name: String,
}

/// A web server of a role's numbers. Dropping it stops it.
#[derive(Debug)]
pub struct MetricsServer(Web);

impl MetricsServer {
    /// Serves `readings` at `/metrics` of `listen`, on the current runtime; port 0 takes any.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub async fn start(listen: SocketAddr, identity: Identity, readings: Readings) -> Result<Self, Error> {
        Self::with_documents(listen, identity, readings, Arc::new(|_| None)).await
    }

    /// The same, with other documents beside them.
    pub(crate) async fn with_documents(
        listen: SocketAddr,
        identity: Identity,
        readings: Readings,
        others: Documents,
    ) -> Result<Self, Error> {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let documents: Documents = Arc::new(move |path| match path {
            "/metrics" => Some(text(&identity, started, &readings)),
            _ => others(path),
        });
        Ok(Self(Web::start(listen, documents).await?))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

fn text(identity: &Identity, started: Duration, readings: &Readings) -> Document {
    let mut out = Exposition::default();
    let labels = [("role", identity.role), ("name", &identity.name), ("version", env!("CARGO_PKG_VERSION"))];
    out.gauge("candor_info", "What this process is.", &labels, 1.0);
    let help = "When the process started, in seconds since 1970.";
    out.gauge("process_start_time_seconds", help, &[], started.as_secs_f64());
    if let Some(bytes) = resident() {
        out.gauge("process_resident_memory_bytes", "Memory that the process has in RAM.", &[], bytes as f64);
    }
    readings(&mut out);
    Document { kind: KIND, bytes: out.into_text().into() }
}

/// Bytes of this process in RAM, where the system says so in Linux's way.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(1024 * line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{self, Url};
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn a_roles_numbers_are_served_with_what_it_is() {
        let identity = Identity { role: "relay", name: "a \"b\" \\ c\nd".to_owned() };
        let readings: Readings = Arc::new(|out| {
            out.counter("candor_x_total", "Help.", &[("kind", "one")], 7);
            out.counter("candor_x_total", "Help.", &[("kind", "two")], u64::MAX);
            out.sum("candor_y_seconds_sum", "T.", &[], Duration::from_millis(1500));
        });
        let server = MetricsServer::start(([127, 0, 0, 1], 0).into(), identity, readings).await.unwrap();
        let url = Url::parse(&format!("http://{}/metrics", server.address())).unwrap();
        let mut text = Vec::new();
        let tcp = TcpStream::connect(server.address()).await.unwrap();
        let answer = http::get(tcp, &url, Duration::from_secs(10), |piece| {
            text.extend_from_slice(piece);
            Ok(())
        });
        assert_eq!(answer.await.unwrap().status, 200);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.matches("# TYPE candor_x_total counter\n").count(), 1, "{text}");
        let samples = parse(&text).unwrap();
        let values = |name: &str| {
            let named = samples.iter().filter(|sample| sample.name == name);
            named.map(|sample| sample.value).collect::<Vec<_>>()
        };
        assert_eq!(values("candor_x_total"), [7.0, u64::MAX as f64]);
        assert_eq!(values("candor_y_seconds_sum"), [1.5]);
        let info = samples.iter().find(|sample| sample.name == "candor_info").unwrap();
        assert_eq!((info.label("role"), info.label("name")), (Some("relay"), Some("a \"b\" \\ c\nd")));
        assert!(values("process_resident_memory_bytes").iter().all(|bytes| *bytes > 1e5));
    }
}
