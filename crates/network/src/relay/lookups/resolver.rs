//! Names and addresses by DNS, as a client of the servers that the system names: hickory-resolver on tokio's sockets and timers.
//!
//! A question is a future. It holds no thread, and when it is dropped its sockets are closed.
//!
//! [`/etc/hosts`](hosts) comes first, then the servers of `/etc/resolv.conf`, up to three of them, or the one on this machine if it names none. Nothing
//! else of the system's is asked: neither `nsswitch.conf` nor `resolv.conf`'s options and search domains, which are not for clients' names. C tor's
//! resolver, evdns, does likewise. No answer is kept; that is for the server to do.
//!
//! Servers are asked in the file's order, always beginning with the first, as glibc does it: what becomes of one client's question says nothing to the next.
//! Each has [`PATIENCE`] for one datagram, and for each that follows if the name is another's alias. Whether there is a name or not, an answer is an answer. A server that can't say is not asked again for this question, one that
//! is silent is, after the others, until the question has been asked [`TRIES`] times. So hickory has one resolver for each server, and its own
//! choice of servers, its repetitions and its cache have nothing to do.
//!
//! Answers are datagrams of up to 1,232 bytes. If one says that there is more, the server has [`PATIENCE_FOR_LARGE`] for up to 65,535 bytes over TCP, on a connection
//! for this question, for which the look-up waits for its [turn](Turn).

mod hosts;

use super::{NotFound, Turn};
use crate::clock::instant;
use crate::files;
use crate::link::locked;
use candor_onion::relay::message::Resolved;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::udp::UdpClientStream;
use hickory_resolver::net::xfer::DnsExchange;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::{ConnectionProvider, PoolContext};
use hosts::Hosts;
use std::collections::VecDeque;
use std::fs;
use std::future::{Ready, ready};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a server has for one question.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it has for an answer over TCP.
const PATIENCE_FOR_LARGE: Duration = Duration::from_secs(3);
/// How often a question is asked, of one server or of several.
const TRIES: usize = 9;
/// As many servers as the system's own resolver asks (`MAXNS` in resolv.conf(5)).
const MOST_SERVERS: usize = 3;
/// Sockets of one look-up, which is up to two questions.
pub(super) const SOCKETS: usize = 2;
/// Bytes of a file that is read.
const MOST_TEXT: usize = 1 << 20;
/// How long it takes until a change of the two files is seen.
const FRESH: Duration = Duration::from_secs(10);
/// How long nobody tries to read them if nothing is known of them and they couldn't be read.
const UNREADABLE: Duration = Duration::from_secs(1);

pub(super) struct Resolver {
    resolv_conf: PathBuf,
    hosts: PathBuf,
    port: u16,
    known: Mutex<Option<Arc<Known>>>,
    /// When they couldn't be read and nothing was known.
    failed: Mutex<Option<Instant>>,
}

/// What the two files said.
struct Known {
    hosts: Hosts,
    servers: Vec<Server>,
    /// Which files they were, before they were read.
    version: [Version; 2],
    looked_at: Mutex<Instant>,
}

/// What tells a file from another at its place: device, inode, length, and the times of its last changes. A time alone doesn't: there are systems on which it is the same
/// for all, and a file that is cut and written within a tick has its time twice. `None` if there is none.
type Version = Option<[i128; 7]>;

struct Server {
    address: SocketAddr,
    by_datagram: hickory_resolver::Resolver<OneDatagram>,
}

impl Resolver {
    pub(super) fn of_the_system() -> Self {
        Self::new("/etc/resolv.conf", "/etc/hosts", 53)
    }

    fn new(resolv_conf: impl Into<PathBuf>, hosts: impl Into<PathBuf>, port: u16) -> Self {
        Self {
            resolv_conf: resolv_conf.into(),
            hosts: hosts.into(),
            port,
            known: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// The addresses of a name, IPv4 and IPv6 by turns, as many as RESOLVED can carry.
    pub(super) async fn addresses(&self, host: &str, turn: Turn<'_>) -> Result<Vec<IpAddr>, NotFound> {
        let host = host.strip_suffix('.').unwrap_or(host);
        let name = Name::from_labels(host.split('.').map(str::as_bytes)).map_err(|_| NotFound { transient: false })?;
        let known = self.known()?;
        let ask = async |kind| {
            let found = known.ask(&name, kind, turn).await?;
            Ok(found.iter().filter_map(RData::ip_addr).take(Resolved::MOST).collect::<Vec<_>>())
        };
        let found: [Result<Vec<IpAddr>, NotFound>; 2] = match known.hosts.addresses(host) {
            None => tokio::join!(ask(RecordType::A), ask(RecordType::AAAA)).into(),
            // A name that the file has is asked of nobody.
            Some(listed) => {
                let (four, six) = listed.iter().copied().partition(IpAddr::is_ipv4);
                [Ok(four), Ok(six)]
            }
        };
        let transient = found.iter().any(|found| found.as_ref().is_err_and(|error| error.transient));
        let mut families = found.map(|found| found.unwrap_or_default().into_iter());
        let mut addresses = Vec::new();
        loop {
            let before = addresses.len();
            addresses.extend(families.iter_mut().filter_map(Iterator::next));
            if addresses.len() == before || addresses.len() >= Resolved::MOST {
                break;
            }
        }
        if addresses.is_empty() { Err(NotFound { transient }) } else { Ok(addresses) }
    }

    /// The name of an address: the first of several in the file, or else the first by the alphabet of those that a server has.
    pub(super) async fn name(&self, address: IpAddr, turn: Turn<'_>) -> Result<String, NotFound> {
        let known = self.known()?;
        if let Some(listed) = known.hosts.name(address) {
            return Ok(listed.to_owned());
        }
        let found = known.ask(&Name::from(address), RecordType::PTR, turn).await?;
        let names = found.iter().filter_map(|data| match data {
            RData::PTR(name) => Some(name.0.to_ascii()),
            _ => None,
        });
        let name = names.filter(|name| is_host(name)).min().ok_or(NotFound { transient: false })?;
        Ok(name.strip_suffix('.').unwrap_or(&name).to_owned())
    }

    /// What the files say. They are looked at and read without the lock, by one look-up, while others go on with what was known before; and so does that
    /// one if they can't be read.
    fn known(&self) -> Result<Arc<Known>, NotFound> {
        let before = locked(&self.known).clone();
        if before.as_ref().is_some_and(|known| !known.is_due()) {
            return before.ok_or(NotFound { transient: true });
        }
        let is_too_early = |failed: Instant| instant().saturating_duration_since(failed) < UNREADABLE;
        if before.is_none() && locked(&self.failed).is_some_and(is_too_early) {
            return Err(NotFound { transient: true });
        }
        let version = [&self.resolv_conf, &self.hosts].map(|file| version(file));
        match before {
            Some(before) if before.version == version => Ok(before),
            before => match Known::read(&self.resolv_conf, &self.hosts, self.port, version) {
                Ok(read) => {
                    let read = Arc::new(read);
                    *locked(&self.known) = Some(Arc::clone(&read));
                    Ok(read)
                }
                Err(_) => {
                    *locked(&self.failed) = Some(instant());
                    before.ok_or(NotFound { transient: true })
                }
            },
        }
    }
}

impl Known {
    fn read(resolv_conf: &Path, hosts: &Path, port: u16, version: [Version; 2]) -> Result<Self, NetError> {
        let (parsed, _) = resolv_conf::Config::parse_with_errors(&read(resolv_conf)?);
        let mut servers: Vec<IpAddr> = parsed.nameservers.iter().map(IpAddr::from).take(MOST_SERVERS).collect();
        if servers.is_empty() {
            servers.push(Ipv4Addr::LOCALHOST.into());
        }
        let servers = servers.into_iter().map(|address| Server::new(SocketAddr::new(address, port)));
        let hosts = Hosts::parse(&String::from_utf8_lossy(&read(hosts)?));
        Ok(Self { hosts, servers: servers.collect::<Result<_, _>>()?, version, looked_at: Mutex::new(instant()) })
    }

    /// Whether the files are to be looked at: once in a while, for one who asks.
    fn is_due(&self) -> bool {
        let (mut looked_at, now) = (locked(&self.looked_at), instant());
        let is_due = now.saturating_duration_since(*looked_at) >= FRESH;
        if is_due {
            *looked_at = now;
        }
        is_due
    }

    /// The records of that kind. A name that has none is no error.
    async fn ask(&self, name: &Name, kind: RecordType, turn: Turn<'_>) -> Result<Vec<RData>, NotFound> {
        let mut servers: VecDeque<_> = self.servers.iter().collect();
        for _ in 0..TRIES {
            let Some(server) = servers.pop_front() else { break };
            match server.ask(name, kind, turn).await {
                Ok(found) => return Ok(found),
                Err(NetError::Dns(DnsError::NoRecordsFound(answer)))
                    if matches!(answer.response_code, ResponseCode::NXDomain | ResponseCode::NoError) =>
                {
                    return Ok(Vec::new());
                }
                Err(NetError::Timeout) => servers.push_back(server),
                Err(_) => {}
            }
        }
        Err(NotFound { transient: true })
    }
}

impl Server {
    fn new(address: SocketAddr) -> Result<Self, NetError> {
        let by_datagram =
            asking(address, ConnectionConfig::udp(), PATIENCE, OneDatagram(TokioRuntimeProvider::default()))?;
        Ok(Self { address, by_datagram })
    }

    async fn ask(&self, name: &Name, kind: RecordType, turn: Turn<'_>) -> Result<Vec<RData>, NetError> {
        let mut answer = self.by_datagram.lookup(name.clone(), kind).await;
        if matches!(answer, Err(NetError::Truncated)) {
            let _place = turn.come().await;
            // A connection of its own, which is closed with it.
            let provider = TokioRuntimeProvider::default();
            let by_tcp = asking(self.address, ConnectionConfig::tcp(), PATIENCE_FOR_LARGE, provider)?;
            answer = match timeout(PATIENCE_FOR_LARGE, by_tcp.lookup(name.clone(), kind)).await {
                // A server that has answered is not silent, so it isn't asked again.
                Err(_) | Ok(Err(NetError::Timeout)) => Err(NetError::Truncated),
                Ok(answer) => answer,
            };
        }
        let answer = answer?;
        let records = answer.answers().iter().filter(|record| record.record_type() == kind);
        Ok(records.map(|record| record.data.clone()).collect())
    }
}

/// hickory's resolver for one server, without what it does beyond a single question.
fn asking<P: ConnectionProvider>(
    server: SocketAddr,
    mut way: ConnectionConfig,
    patience: Duration,
    provider: P,
) -> Result<hickory_resolver::Resolver<P>, NetError> {
    way.port = server.port();
    let servers = vec![NameServerConfig::new(server.ip(), true, vec![way])];
    let config = ResolverConfig::from_parts(None, Vec::new(), servers);
    let mut builder = hickory_resolver::Resolver::builder_with_config(config, provider);
    let options = builder.options_mut();
    options.timeout = patience;
    options.attempts = 0;
    options.cache_size = 0;
    // It would read the system's file, whole, each time.
    options.use_hosts_file = ResolveHosts::Never;
    options.preserve_intermediates = false;
    builder.build()
}

/// Sends a question once. hickory's own provider sends it up to three times, at intervals by how the server fared with everybody's questions before.
#[derive(Clone)]
struct OneDatagram(TokioRuntimeProvider);

impl ConnectionProvider for OneDatagram {
    type Conn = DnsExchange<TokioRuntimeProvider>;
    type FutureConn = Ready<Result<Self::Conn, NetError>>;
    type RuntimeProvider = TokioRuntimeProvider;

    fn new_connection(
        &self,
        ip: IpAddr,
        config: &ConnectionConfig,
        context: &PoolContext,
    ) -> Result<Self::FutureConn, NetError> {
        let stream = UdpClientStream::builder(SocketAddr::new(ip, config.port), self.0.clone());
        Ok(ready(Ok(stream.with_timeout(Some(context.options.timeout)).with_max_retries(1).exchange())))
    }

    fn runtime_provider(&self) -> &TokioRuntimeProvider {
        &self.0
    }
}

fn version(path: &Path) -> Version {
    let file = fs::metadata(path).ok()?;
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()].map(i128::from);
    let [mtime, mtime_nsec, ctime, ctime_nsec] = times;
    Some([file.dev().into(), file.ino().into(), file.size().into(), mtime, mtime_nsec, ctime, ctime_nsec])
}

/// As with the system's resolver, a file that is not there says nothing; nor does one that is too long.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    match files::read_up_to(path, MOST_TEXT) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        text => Ok(text?.unwrap_or_default()),
    }
}

/// Whether a name may be told as a host's.
fn is_host(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests;
