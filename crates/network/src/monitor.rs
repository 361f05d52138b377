//! A page that shows a network live: which roles answer, the circuits with the times of their stages, cells a second, errors.
//!
//! The monitor reads each role's [metrics](crate::metrics) every second, and a proxy's circuits. It has nothing that they don't show to everybody
//! who can reach them: no client, no target. The page is plain HTML, CSS and JavaScript, and part of the program.
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, `/monitor.css`, `/monitor.js` | the page |
//! | `GET /state.json` | what it shows |
//! | `GET /metrics` | the monitor's own numbers: which roles answer |

mod roles;
mod scrape;
mod view;

pub use scrape::{MOST_ANSWER, Watched};

use crate::Error;
use crate::link::locked;
use crate::metrics::{Exposition, Identity, MetricsServer, Readings};
use crate::web::{Document, Documents};
use hyper::body::Bytes;
use roles::Roles;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// What a monitor is to watch.
#[derive(Clone, Debug)]
pub struct MonitorConfig {
    /// Where its page is.
    pub listen: SocketAddr,
    /// Its name, for the page.
    pub name: String,
    /// The roles.
    pub watched: Vec<Watched>,
    /// How often they are asked.
    pub every: Duration,
}

impl MonitorConfig {
    /// A monitor of these roles, with its page at `listen`, that asks every second.
    pub fn new(listen: SocketAddr, watched: Vec<Watched>) -> Self {
        Self { listen, name: "monitor".to_owned(), watched, every: Duration::from_secs(1) }
    }
}

/// A running monitor. Dropping it stops it.
#[derive(Debug)]
pub struct Monitor {
    server: MetricsServer,
    task: JoinHandle<()>,
}

impl Monitor {
    /// Starts on the current runtime.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub async fn start(config: MonitorConfig) -> Result<Self, Error> {
        let roles = Arc::new(Mutex::new(Roles::new(&config)));
        let shown = Arc::clone(&roles);
        let documents: Documents = Arc::new(move |path| document(&shown, path));
        let identity = Identity { role: "monitor", name: config.name.clone() };
        let server = MetricsServer::with_documents(config.listen, identity, readings(&roles), documents).await?;
        let task = tokio::spawn(watch(config.watched, config.every, roles));
        Ok(Self { server, task })
    }

    /// Where its page is.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The page's files, and what it shows.
fn document(roles: &Mutex<Roles>, path: &str) -> Option<Document> {
    let file = |kind, text: &'static str| Some(Document { kind, bytes: Bytes::from_static(text.as_bytes()) });
    match path {
        "/" => file("text/html; charset=utf-8", include_str!("monitor/page/monitor.html")),
        "/monitor.css" => file("text/css; charset=utf-8", include_str!("monitor/page/monitor.css")),
        "/monitor.js" => file("text/javascript; charset=utf-8", include_str!("monitor/page/monitor.js")),
        "/state.json" => Some(Document::json(&locked(roles).view())),
        _ => None,
    }
}

fn readings(roles: &Arc<Mutex<Roles>>) -> Readings {
    let roles = Arc::clone(roles);
    Arc::new(move |out: &mut Exposition| {
        for (name, answers) in locked(&roles).answering() {
            let labels = [("name", name)];
            out.gauge("candor_monitor_up", "1 if that role answers.", &labels, if answers { 1.0 } else { 0.0 });
        }
    })
}

/// Asks all roles, again and again.
async fn watch(watched: Vec<Watched>, every: Duration, roles: Arc<Mutex<Roles>>) {
    let mut turns = interval(every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        let answers = scrape::all(&watched, every).await;
        locked(&roles).learn(answers);
    }
}
