//! The flags of `candor onion`.

use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum OnionCommand {
    /// Run a relay until Ctrl-C
    ///
    /// When it is ready it puts its entry (its address, public keys and exit policy) into the list of --relays, or prints it as a line of
    /// JSON. Relays of that list carry everybody's circuits, so the limits for strangers don't apply to them; the list is read again every
    /// minute. It is an exit only where --exit permits it. On Ctrl-C it lets streams finish for a few seconds, then destroys all circuits.
    #[command(
        after_help = "Example: three relays on this machine, of which the last is an exit to this machine's port 8000\n  \
                            candor onion relay --name ada --relays relays.jsonl &\n  \
                            candor onion relay --name bob --relays relays.jsonl &\n  \
                            candor onion relay --name cyd --relays relays.jsonl --exit 127.0.0.1:8000 &"
    )]
    Relay(RelayArguments),
    /// Fetch a page through a circuit
    ///
    /// The circuit goes through relays of the list that are chosen at random, the last of them an exit to where the URL points, or through
    /// those of --path. The page goes to stdout or --output. Exits with status 1 unless the server's answer is a success.
    #[command(
        after_help = "Example, with the relays of `candor onion relay --help` and the server of `candor onion target --help`:\n  \
                            candor onion fetch http://127.0.0.1:8000/bytes/1000000 --relays relays.jsonl -o page"
    )]
    Fetch(FetchArguments),
    /// Run a proxy until Ctrl-C: SOCKS and HTTP CONNECT, through circuits
    ///
    /// When it is ready it prints one line of JSON with its addresses; each takes SOCKS 5, 4 and 4a, and HTTP CONNECT. Circuits begin at a guard,
    /// which --state keeps for months, and end at an exit that permits the port; names are looked up there. Streams with different user names
    /// or passwords never share a circuit. The log names no target.
    ///
    /// This is a research network: candor promises no anonymity. Onion services (.onion) are refused.
    #[command(
        after_help = "Example, with the relays of `candor onion relay --help` and the server of `candor onion target --help`:\n  \
                            candor onion proxy --relays relays.jsonl --test-network --ports 8000 &\n  \
                            curl --socks5-hostname 127.0.0.1:9050 http://127.0.0.1:8000/bytes/1000000 -o page\n  \
                            curl --proxytunnel -x 127.0.0.1:9050 http://127.0.0.1:8000/bytes/1000000 -o page"
    )]
    Proxy(ProxyArguments),
    /// Run a web server whose answers can be checked, for tests: GET /bytes/N, POST /digest
    ///
    /// When it is ready it prints one line of JSON with its address.
    #[command(after_help = "Example:\n  candor onion target --listen 127.0.0.1:8000 &")]
    Target(TargetArguments),
}

/// Also the keys of a relay's configuration file.
#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RelayArguments {
    /// A TOML file with any of these flags by their names; flags win over it
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen; port 0 takes any [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Address to put into the entry, if others reach the relay at a different one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) advertise: Option<SocketAddr>,
    /// A name for people
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// File that keeps the identity and the onion keys; created if it does not exist. Without it they are new at each start
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Where streams may go, such as '*:443,192.0.2.0/24:80-90'; `*` is any public address, `private` any other [default: nowhere]
    #[arg(long, value_name = "RULES")]
    pub(crate) exit: Option<String>,
    /// The handshakes to offer [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) handshakes: Vec<String>,
    /// Threads that answer handshakes [default: one for every two CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) handshake_threads: Option<u16>,
    /// Handshakes that may wait before more are refused [default: 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) handshake_queue: Option<u32>,
    /// Write the entry into this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) entry: Option<PathBuf>,
    /// Relay list to keep the entry in, and whose relays are no strangers; created if it does not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) relays: Option<PathBuf>,
    /// Networks without limits per network, such as '192.0.2.0/24' [default: loopback if the relay listens there, otherwise none]
    #[arg(long, value_name = "NETWORK", value_delimiter = ',')]
    pub(crate) test_networks: Option<Vec<String>>,
    /// Maximum number of links, in and out [default: 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) links: Option<u32>,
    /// Maximum number of links with strangers of one /24 (IPv6: /48) [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) links_per_network: Option<u32>,
    /// Maximum number of circuits [default: 65536]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) circuits: Option<u32>,
    /// Maximum number of circuits of strangers of one /24 (IPv6: /48) [default: 2048]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) circuits_per_network: Option<u32>,
    /// Maximum number of open connections of the exit [default: 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) streams: Option<u32>,
    /// Maximum number of cells in all queues; 200000 take 106 MB [default: 200000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) cells: Option<u32>,
    /// Seconds that streams may take to finish after Ctrl-C [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) patience: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArguments {
    /// What to fetch: `http://host:port/path`; the port may be left out
    pub(crate) url: String,
    /// The relay list: one relay's entry per line
    #[arg(long, value_name = "FILE")]
    pub(crate) relays: PathBuf,
    /// Write the page to this file instead of stdout; the file is replaced only when the page is complete
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The relays to go through, by name or by the beginning of their identity
    #[arg(long, value_name = "RELAY", value_delimiter = ',')]
    pub(crate) path: Vec<String>,
    /// How many relays of the list to go through
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "path", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) hops: u8,
    /// Seconds to wait for the list to have enough relays
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait: u16,
    /// Seconds that the server may take to begin its answer, and then to send more
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) patience: u16,
    /// The handshake with each relay
    #[arg(long, value_name = "NAME", default_value = "hybrid-768")]
    pub(crate) handshake: String,
    /// The cryptography of relay cells
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cells: Cells,
}

#[derive(Debug, Args)]
pub(crate) struct ProxyArguments {
    /// Where to listen; port 0 takes any. Streams of different addresses share no circuit
    #[arg(long, value_name = "ADDRESS:PORT", value_delimiter = ',', default_value = "127.0.0.1:9050")]
    pub(crate) listen: Vec<SocketAddr>,
    /// The relay list: one relay's entry per line; read again every minute
    #[arg(long, value_name = "FILE")]
    pub(crate) relays: PathBuf,
    /// File that keeps the guards; created if it does not exist. Without it they are new at each start
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Let relays of a path share a /16 (IPv6: /32), where all are on one machine or in one laboratory
    #[arg(long)]
    pub(crate) test_network: bool,
    /// Ports to build circuits for before anyone asks for them
    #[arg(long, value_name = "PORT", value_delimiter = ',', default_value = "80,443", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) ports: Vec<u16>,
    /// Unused circuits to have ready for each port of the last hour
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=16))]
    pub(crate) spare: u8,
    /// Minutes for which a circuit takes new streams
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) reuse: u16,
    /// How many relays to go through
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) hops: u8,
    /// Maximum number of circuits
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub(crate) circuits: u32,
    /// Maximum number of connections of clients
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) connections: u32,
    /// Maximum number of connections of clients at one address
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) connections_per_address: u32,
    /// The handshake with each relay
    #[arg(long, value_name = "NAME", default_value = "hybrid-768")]
    pub(crate) handshake: String,
    /// The cryptography of relay cells
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cells: Cells,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cells {
    /// Counter Galois Onion
    #[default]
    Cgo,
    /// AES-128-CTR and SHA-1, for relays that don't know CGO
    Tor1,
}

#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// Where to listen; port 0 takes any
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
}
