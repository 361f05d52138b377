//! Names and addresses by DNS, as a client of the servers that the system names: hickory-resolver on tokio's sockets and timers.
//!
//! A question is a future. It holds no thread, and when it is dropped its sockets are closed.
//!
//! `/etc/hosts` comes first, then the servers of `/etc/resolv.conf`, up to three of them, or the one on this machine if it names none. Nothing else of
//! the system's is asked: neither `nsswitch.conf` nor `resolv.conf`'s options and search domains, which are not for clients' names. C tor's
//! resolver, evdns, does likewise. No answer is kept, so nobody learns from an exit what others have asked it; that is for the server to do.
//!
//! A server has [`PATIENCE`], in which it is sent the question up to three times; then it is asked again or another is, [`ROUNDS`] times in all.
//! Answers are datagrams of up to 1,232 bytes. If one says that there is more, up to 65,535 bytes come over TCP, for [`MOST_LARGE`] look-ups
//! at a time; the others wait.

use super::NotFound;
use crate::clock::instant;
use crate::files;
use crate::link::locked;
use candor_onion::relay::message::Resolved;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::{Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::{Hosts, TokioResolver};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Semaphore;

/// How long a server has for one question.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a question is asked, of one server or of several.
const ROUNDS: usize = 3;
/// As many servers as the system's own resolver asks (`MAXNS` in resolv.conf(5)).
const MOST_SERVERS: usize = 3;
/// Look-ups at a time whose answers come over TCP, and take up to a megabyte when read.
const MOST_LARGE: usize = 4;
/// Sockets of one look-up: two questions, each of which is sent up to three times, from ports of their own.
pub(super) const SOCKETS: usize = 6;
/// Bytes of a file that is read: whoever asks for an address's name has all names of `/etc/hosts` looked through.
const MOST_TEXT: usize = 1 << 20;
/// How long it takes until a change of the two files is seen.
const FRESH: Duration = Duration::from_secs(10);

pub(super) struct Resolver {
    resolv_conf: PathBuf,
    hosts: PathBuf,
    port: u16,
    known: Mutex<Option<Arc<Known>>>,
    large: Semaphore,
}

/// What the two files said.
struct Known {
    hosts: Hosts,
    datagrams: TokioResolver,
    tcp: TokioResolver,
    /// When the files were changed before they were read.
    changed: [Option<SystemTime>; 2],
    looked_at: Mutex<Instant>,
}

impl Resolver {
    pub(super) fn of_the_system() -> Self {
        Self::new("/etc/resolv.conf", "/etc/hosts", 53)
    }

    fn new(resolv_conf: impl Into<PathBuf>, hosts: impl Into<PathBuf>, port: u16) -> Self {
        let (resolv_conf, hosts) = (resolv_conf.into(), hosts.into());
        Self { resolv_conf, hosts, port, known: Mutex::default(), large: Semaphore::new(MOST_LARGE) }
    }

    /// The addresses of a name, IPv4 and IPv6 by turns, as many as RESOLVED can carry.
    pub(super) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NotFound> {
        let never = NotFound { transient: false };
        let labels = host.strip_suffix('.').unwrap_or(host).split('.').map(str::as_bytes);
        let name = Name::from_labels(labels).map_err(|_| never)?;
        let known = self.known()?;
        let ask = async |kind| {
            let found = self.ask(&known, &name, kind).await?;
            Ok(found.iter().filter_map(RData::ip_addr).take(Resolved::MOST).collect::<Vec<_>>())
        };
        let kinds = [RecordType::A, RecordType::AAAA];
        let found: [Result<Vec<IpAddr>, NotFound>; 2] = match kinds.map(|kind| known.listed(&name, kind)) {
            [None, None] => tokio::join!(ask(kinds[0]), ask(kinds[1])).into(),
            // A name that the file has is asked of nobody.
            listed => listed.map(|records| Ok(records.iter().flatten().filter_map(RData::ip_addr).collect())),
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

    /// The name of an address; of several, the first by the alphabet.
    pub(super) async fn name(&self, address: IpAddr) -> Result<String, NotFound> {
        let name = Name::from(address);
        let known = self.known()?;
        let found = match known.listed(&name, RecordType::PTR) {
            Some(found) => found,
            None => self.ask(&known, &name, RecordType::PTR).await?,
        };
        let names = found.iter().filter_map(|data| match data {
            RData::PTR(name) => Some(name.0.to_ascii()),
            _ => None,
        });
        let is_host = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let name = names.filter(is_host).min().ok_or(NotFound { transient: false })?;
        Ok(name.strip_suffix('.').unwrap_or(&name).to_owned())
    }

    async fn ask(&self, known: &Known, name: &Name, kind: RecordType) -> Result<Vec<RData>, NotFound> {
        let mut answer = known.datagrams.lookup(name.clone(), kind).await;
        if matches!(answer, Err(NetError::Truncated)) {
            // Never closed.
            let _place = self.large.acquire().await;
            answer = known.tcp.lookup(name.clone(), kind).await;
        }
        let answer = answer.map_err(|error| NotFound { transient: !is_denied(&error) })?;
        let records = answer.answers().iter().filter(|record| record.record_type() == kind);
        Ok(records.map(|record| record.data.clone()).collect())
    }

    fn known(&self) -> Result<Arc<Known>, NotFound> {
        let mut known = locked(&self.known);
        let files = [&self.resolv_conf, &self.hosts];
        let changed = || files.map(|file| fs::metadata(file).and_then(|metadata| metadata.modified()).ok());
        if let Some(known) = &*known {
            let mut looked_at = locked(&known.looked_at);
            let now = instant();
            if now.saturating_duration_since(*looked_at) < FRESH {
                return Ok(Arc::clone(known));
            }
            *looked_at = now;
            if known.changed == changed() {
                return Ok(Arc::clone(known));
            }
        }
        let changed = changed();
        let read = Known::read(&self.resolv_conf, &self.hosts, self.port, changed);
        let read = Arc::new(read.map_err(|_| NotFound { transient: true })?);
        *known = Some(Arc::clone(&read));
        Ok(read)
    }
}

impl Known {
    fn read(resolv_conf: &Path, hosts: &Path, port: u16, changed: [Option<SystemTime>; 2]) -> Result<Self, NetError> {
        // As with the system's resolver, a file that is not there says nothing, and neither does a line that can't be read.
        let text = |path| files::read_bounded(path, MOST_TEXT).unwrap_or_default();
        let (parsed, _) = resolv_conf::Config::parse_with_errors(&text(resolv_conf));
        let mut servers: Vec<IpAddr> = parsed.nameservers.iter().map(IpAddr::from).take(MOST_SERVERS).collect();
        if servers.is_empty() {
            servers.push(Ipv4Addr::LOCALHOST.into());
        }
        let mut listed = Hosts::default();
        // Whatever it has before what is no text.
        let _ = listed.read_hosts_conf(&text(hosts)[..]);
        Ok(Self {
            hosts: listed,
            datagrams: asking(&servers, port, ConnectionConfig::udp())?,
            tcp: asking(&servers, port, ConnectionConfig::tcp())?,
            changed,
            looked_at: Mutex::new(instant()),
        })
    }

    /// What `/etc/hosts` has of that kind.
    fn listed(&self, name: &Name, kind: RecordType) -> Option<Vec<RData>> {
        let found = self.hosts.lookup_static_host(&Query::query(name.clone(), kind))?;
        Some(found.answers().iter().map(|record| record.data.clone()).collect())
    }
}

fn asking(servers: &[IpAddr], port: u16, mut way: ConnectionConfig) -> Result<TokioResolver, NetError> {
    way.port = port;
    let servers = servers.iter().map(|server| NameServerConfig::new(*server, true, vec![way.clone()])).collect();
    let config = ResolverConfig::from_parts(None, Vec::new(), servers);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.timeout = PATIENCE;
    options.attempts = ROUNDS - 1;
    options.num_concurrent_reqs = 1;
    options.cache_size = 0;
    options.preserve_intermediates = false;
    builder.build()
}

/// Whether a server has said that there is no such name or record.
fn is_denied(error: &NetError) -> bool {
    let NetError::Dns(DnsError::NoRecordsFound(answer)) = error else { return false };
    matches!(answer.response_code, ResponseCode::NXDomain | ResponseCode::NoError)
}

#[cfg(test)]
mod tests;
