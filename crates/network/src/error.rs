//! What can go wrong in this crate.

use candor_onion::circuit::Failure;
use candor_onion::handshake::UnknownHandshake;
use candor_onion::relay::message::EndReason;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Why something could not be set up, reached or kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file can't be read or written.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// A relay's key file is not one, or others can read it.
    #[error("key file {}: {why}", path.display())]
    KeyFile {
        /// The key file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// A relay list is not one.
    #[error("relay list, line {line}: {why}")]
    RelayList {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A relay list has no path to a target.
    #[error("no path: {0}")]
    Path(String),
    /// A rule of an exit policy is not one.
    #[error(
        "exit policy: `{rule}`: {why}; rules look like 192.0.2.0/24:80-90, [2001:db8::1]:443, example.org:443 or *:443"
    )]
    Policy {
        /// The rule as it was given.
        rule: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not a network of addresses.
    #[error("network `{text}`: {why}; networks look like 192.0.2.0/24 or 2001:db8::/48")]
    Prefix {
        /// The text as it was given.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No such handshake, or the relay does not offer it.
    #[error("{0}")]
    Handshake(String),
    /// An address can't be listened on.
    #[error("can't listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        why: String,
    },
    /// A neighbour can't be reached by TCP.
    #[error("can't connect to {address}: {why}")]
    Connect {
        /// The neighbour's address.
        address: SocketAddr,
        /// The system's words.
        why: String,
    },
    /// The TLS connection to a neighbour failed.
    #[error("TLS with {address}: {why}")]
    Tls {
        /// The neighbour's address.
        address: SocketAddr,
        /// What rustls or the system says.
        why: String,
    },
    /// The link handshake with a neighbour failed.
    #[error("link with {address}: {source}")]
    Link {
        /// The neighbour's address.
        address: SocketAddr,
        /// What went wrong in the handshake.
        source: candor_onion::Error,
    },
    /// Something took too long.
    #[error("{what} took more than {} s", after.as_secs_f32())]
    Timeout {
        /// What was being done.
        what: String,
        /// How long was waited.
        after: Duration,
    },
    /// A circuit could not be built, or it ended.
    #[error("{failure}{}", relay.as_ref().map(|relay| format!(" (relay {relay})")).unwrap_or_default())]
    Circuit {
        /// Which hop, and what happened.
        failure: Failure,
        /// The relay at that hop, as the list names it.
        relay: Option<String>,
    },
    /// A circuit's first link could not be made.
    #[error("hop 1: {source} (relay {relay})")]
    FirstHop {
        /// The relay, as the list names it.
        relay: String,
        /// Why the link could not be made.
        source: Box<Error>,
    },
    /// The exit did not open a stream, or ended it.
    #[error("stream to {target}: hop {hop}: {reason} (relay {relay})")]
    Stream {
        /// The exit, as the list names it.
        relay: String,
        /// Which hop of the circuit it is, counted from 1.
        hop: usize,
        /// Where it was to go.
        target: String,
        /// The exit's reason.
        reason: EndReason,
    },
    /// A circuit has as many streams as it may, or had as many as there are numbers for. Those that it has go on; a new one needs another circuit.
    #[error("circuit has as many streams as it may")]
    TooManyStreams,
    /// The last hop did not agree to an in-circuit upgrade when it was added.
    #[error(
        "hop {hop} does not agree to an in-circuit upgrade; expected a relay of ours that runs with --upgrade (relay {relay})"
    )]
    NoUpgrade {
        /// Which hop of the circuit it is, counted from 1.
        hop: usize,
        /// The relay, as the list names it.
        relay: String,
    },
    /// A circuit is stuck: a hop, or the way to it, no longer answers, and no relay has ended the circuit.
    #[error("hop {hop}: no answer within {} s; it or the link to it is stuck (relay {relay})", after.as_secs_f32())]
    Silent {
        /// The first hop that does not answer, counted from 1.
        hop: usize,
        /// The relay at that hop, as the list names it.
        relay: String,
        /// How long was waited for its answer.
        after: Duration,
    },
    /// A circuit is stuck, and nobody knows where: no hop answers, though something comes over the link to the first, and its answer may wait behind that.
    #[error("hop 1: no answer within {} s, though its link is alive; that is slow, or the relay is stuck (relay {relay})", after.as_secs_f32())]
    Late {
        /// The first relay, as the list names it.
        relay: String,
        /// How long was waited for its answer.
        after: Duration,
        /// Cells of other circuits have come meanwhile, from behind the first relay: so it is at work, and the line may be slow.
        others_came: bool,
    },
    /// A URL that we can't fetch.
    #[error("{url}: {why}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A web server's answer is not HTTP, or not a page.
    #[error("{url}: the server's answer {why}")]
    Http {
        /// The URL that was fetched.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Metrics are not in Prometheus's text format.
    #[error("metrics, line {line}: {why}")]
    Metrics {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The process, or the system, has as many files open as it may.
    #[error("too many open files; raise the limit (ulimit -n)")]
    NoFiles,
    /// The relay can't describe itself to a directory.
    #[error("can't make the relay's descriptor: {0}")]
    Descriptor(candor_onion::Error),
    /// A directory's address is not one, or the authorities can't be trusted as they were given.
    #[error("directory `{text}`: {why}")]
    DirectoryAddress {
        /// The address as it was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A directory does not answer, or its answer can't be used.
    #[error("directory {url}: {why}")]
    Directory {
        /// The directory.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// The consensus in a file can't be used.
    #[error("cached consensus {}: {why}", path.display())]
    CachedConsensus {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No directory has a consensus that can be used, and neither has the cache.
    #[error("no usable consensus: {why}")]
    NoConsensus {
        /// What was tried, and what went wrong each time.
        why: String,
    },
    /// The last consensus that could be had has ended, and nothing is built by it any more.
    #[error(
        "the newest consensus ended {ago} s ago, and no directory has given a newer one; see the log, and this machine's clock"
    )]
    ConsensusEnded {
        /// Seconds since its end.
        ago: u64,
    },
    /// A part of ours, or the operating system, is out of order.
    #[error("{0}")]
    Internal(String),
}

impl From<UnknownHandshake> for Error {
    fn from(unknown: UnknownHandshake) -> Self {
        Self::Handshake(unknown.to_string())
    }
}

impl Error {
    pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::File { path: path.to_owned(), why: error.to_string() }
    }
}
