//! Sockets: who may connect, for how long, and how it ends.
//!
//! | what a stranger does | what stops it |
//! |---|---|
//! | connects and sends nothing, or little by little | [`Limits::head`]; an idle connection yields its place |
//! | connects from one network many times | [`Limits::connections_per_network`] |
//! | connects from many networks | [`Limits::connections`]: the largest network yields, and the last quarter is for networks that have few |
//! | sends a long head or body, or sends it slowly | 16 KiB of head, [`Limits::body_bytes`], [`Limits::body`]; until all of it has come, the connection yields its place as an idle one does |
//! | does that through a proxy | each network's requests are counted as its connections would be |
//! | connects again and again | one connection is accepted, and then all others have their turn |
//! | begins many TLS handshakes at once | one is computed at a time, and requests go on in between |
//! | asks for anything faster than [`GuessLimits::request`], asks on when its guesses are turned away, or guesses from many networks at once | [`turns`](crate::turns): others go first |
//! | takes no answer | [`Limits::write`] |

mod address;
mod connection;
mod files;
mod seats;
mod tls;

#[cfg(doc)]
use crate::config::Limits;
use crate::config::{Config, ConfigError};
use crate::http::{self, Pages, Service, Unusable};
use crate::log::{Event, Log};
use crate::master::{MasterKey, MasterKeyError};
use crate::store::{Store, StoreError};
#[cfg(doc)]
use crate::throttle::GuessLimits;
use crate::throttle::Places;
use crate::time::Clock;
use crate::turns::Turns;
use connection::Serving;
use seats::{Entered, Seats};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout_at};

/// Connections at [`Config::metrics_listen`] at a time.
const METRICS: usize = 64;

/// A running server. Dropping it stops it at once; [`Self::shutdown`] lets requests finish.
pub struct Server {
    address: SocketAddr,
    tls: bool,
    service: Arc<Service>,
    stop: watch::Sender<Stop>,
    accept: JoinHandle<usize>,
    metrics: Option<Metrics>,
    upkeep: JoinHandle<()>,
}

/// What answers at an address of its own, and where that is.
struct Metrics {
    address: SocketAddr,
    accept: JoinHandle<usize>,
}

/// What the server's tasks are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    /// Finish until then.
    By(Instant),
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its settings can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its master key can't be read or made.
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// Its database can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its certificate or its key can't be used.
    #[error("TLS: {}: {why}", file.display())]
    Tls {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Its pages can't be served.
    #[error("pages: {}: {why}", path.display())]
    Pages {
        /// The folder, or what is wrong in it.
        path: PathBuf,
        /// What was expected, and what was found.
        why: String,
    },
    /// There is a master key for a database that is not there.
    #[error(
        "{} is there, and its database {database} is not; restore the database, or remove the key to begin without accounts",
        key.display()
    )]
    NoDatabase {
        /// The key's file.
        key: PathBuf,
        /// The database.
        database: String,
    },
    /// The folder of its state can't be made.
    #[error("{}: {why}", path.display())]
    State {
        /// The folder.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// Its address can't be listened on.
    #[error("can't listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        why: String,
    },
}

impl Server {
    /// Opens the database, makes what is missing (folder, master key, database, first key), and listens. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(config: Config, log: Log) -> Result<Self, StartError> {
        Self::start_with_clock(config, log, Clock::default()).await
    }

    /// The same with another clock, for tests.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_with_clock(config: Config, log: Log, clock: Clock) -> Result<Self, StartError> {
        config.check()?;
        let tls = tls::read(&config)?;
        let pages = config.pages.as_deref().map(Pages::read).transpose();
        let pages = pages.map_err(|Unusable { path, why }| StartError::Pages { path, why })?;
        files::private_folder(&config.state)?;
        let master = master_key(&config).await?;
        let store = Store::open(&config.database_url(), &master).await?;
        let service = Service::new(config, store, &master, log, clock).await?;

        let (listener, address) = bind(service.config.listen).await?;
        let apart = match service.config.metrics_listen {
            Some(listen) => Some(bind(listen).await?),
            None => None,
        };
        files::raise_limit();

        let (stop, stopped) = watch::channel(Stop::No);
        let limits = service.config.limits;
        let serving = |router, tls| Serving {
            router,
            service: Arc::clone(&service),
            tls,
            handshakes: Turns::new(),
            forwarded: Places::new(limits.connections, limits.connections_per_network),
            turns: Turns::new(),
            stop: stopped.clone(),
        };
        let metrics = apart.map(|(listener, address)| {
            let seats = Seats::new(METRICS, METRICS);
            let serving = serving(http::metrics_router(&service), None);
            Metrics { address, accept: tokio::spawn(accept(listener, seats, serving.into(), stopped.clone())) }
        });
        let seats = Seats::new(limits.connections, limits.connections_per_network);
        let is_tls = tls.is_some();
        let serving = serving(http::router(&service, pages), tls);
        let accept = tokio::spawn(accept(listener, seats, serving.into(), stopped.clone()));
        let upkeep = tokio::spawn(http::upkeep(Arc::clone(&service)));
        service.log.tell(&Event::Ready { address, tls: is_tls });
        Ok(Self { address, tls: is_tls, service, stop, accept, metrics, upkeep })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it answers `/metrics`, if that is an address of its own.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|metrics| metrics.address)
    }

    /// Its URL, by address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.address)
    }

    /// Its database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.service.store
    }

    /// Takes no more connections, lets requests finish for as long as [`Limits::shutdown`] says, and ends.
    pub async fn shutdown(mut self) {
        let log = self.service.log.clone();
        log.tell(&Event::Stopping);
        self.service.stop();
        self.stop.send_replace(Stop::By(Instant::now() + self.service.config.limits.shutdown));
        let mut cut = (&mut self.accept).await.unwrap_or(0);
        if let Some(metrics) = &mut self.metrics {
            cut += (&mut metrics.accept).await.unwrap_or(0);
        }
        log.tell(&Event::Stopped { cut });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accept.abort();
        self.metrics.iter().for_each(|metrics| metrics.accept.abort());
        self.upkeep.abort();
    }
}

/// The deployment's master key; a fresh one if there is no database yet either.
async fn master_key(config: &Config) -> Result<MasterKey, StartError> {
    let file = config.master_key_file();
    // Asked before the file is looked for: another instance that starts now makes its key before its database.
    let is_used = Store::exists(&config.database_url()).await?;
    if is_used && !file.exists() {
        return Err(MasterKeyError::Missing(file.display().to_string()).into());
    }
    // A key that the operator has put elsewhere, or that several instances share, may be older than the database.
    let database = config.database_url();
    if !is_used && config.master_key.is_none() && database.starts_with("sqlite:") && file.exists() {
        return Err(StartError::NoDatabase { key: file, database });
    }
    Ok(MasterKey::load_or_create(&file)?)
}

async fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |error: std::io::Error| StartError::Listen { address: listen, why: error.to_string() };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Accepts connections until it is told to stop; says how many were cut off then.
async fn accept(
    listener: TcpListener,
    seats: Arc<Seats>,
    serving: Arc<Serving>,
    mut stop: watch::Receiver<Stop>,
) -> usize {
    let service = Arc::clone(&serving.service);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.changed() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        // What has ended keeps its memory until it is taken out.
        while connections.try_join_next().is_some() {}
        // Requests go on between two connections, those included that have come since the last one: a crowd that connects holds up each of them for one connection.
        yield_now().await;
        let (tcp, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                service.log.tell(&Event::Accept { why: error.to_string() });
                // Most likely there are too many open files; connections that end make room.
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let entered = match address::is_proxy(peer.ip(), &service.config.proxies) {
            true => seats.enter_proxy(),
            false => seats.enter(peer.ip()),
        };
        match entered {
            Some((seat, entered)) => {
                if entered == Entered::Evicted {
                    service.metrics.evicted.inc();
                }
                connections.spawn(connection::serve(Arc::clone(&serving), tcp, peer.ip(), seat));
            }
            None => drop(service.metrics.refused.inc()),
        }
    }
    drop(listener);
    let Stop::By(end) = *stop.borrow() else { return 0 };
    while !connections.is_empty() {
        if timeout_at(end, connections.join_next()).await.is_err() {
            break;
        }
    }
    let cut = connections.len();
    connections.shutdown().await;
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_crowd_that_connects_leaves_others_their_turn() {
        const CROWD: usize = 100;
        let folder = tempfile::tempdir().unwrap();
        let config =
            Config { listen: ([127, 0, 0, 1], 0).into(), state: folder.path().to_owned(), ..Config::default() };
        let server = Server::start(config, Log::default()).await.unwrap();
        // The server runs on this thread, so it accepts none of them before all have connected.
        let crowd: Vec<_> = (0..CROWD).map(|_| std::net::TcpStream::connect(server.address).unwrap()).collect();
        let (mut before, mut rounds) = (0, 0);
        while before < CROWD {
            yield_now().await;
            let now = usize::try_from(server.service.metrics.connections.get()).unwrap();
            assert!(now - before <= 2, "{} were accepted at once", now - before);
            (before, rounds) = (now, rounds + 1);
            assert!(rounds < 100_000, "{now} were accepted");
        }
        drop(crowd);
    }
}
