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
    /// JSON. It is an exit only where --exit permits it. At Ctrl-C it finishes what is in flight, and destroys the rest.
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
    /// those of --path. The page goes to stdout or --output. Exits with status 1 if the server's answer is no success.
    #[command(
        after_help = "Example, with the relays of `candor onion relay --help` and the server of `candor onion target --help`:\n  \
                            candor onion fetch http://127.0.0.1:8000/bytes/1000000 --relays relays.jsonl -o page"
    )]
    Fetch(FetchArguments),
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
    /// The address in the relay's entry, if others reach it by another one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) advertise: Option<SocketAddr>,
    /// A name for people
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Where the identity and the onion keys are kept; made if it is not there. Without it they are new at each start
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
    /// The relay list to keep the entry in; made if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) relays: Option<PathBuf>,
    /// Seconds that what is in flight gets at the end [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) patience: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArguments {
    /// What to fetch: `http://host:port/path`; the port may be left out
    pub(crate) url: String,
    /// The relay list: a relay's entry a line
    #[arg(long, value_name = "FILE")]
    pub(crate) relays: PathBuf,
    /// Where the page goes, instead of stdout; the file is replaced once the whole page is there
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cells {
    /// Counter Galois Onion
    #[default]
    Cgo,
    /// AES-128-CTR and SHA-1, for relays that know no other
    Tor1,
}

#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// Where to listen; port 0 takes any
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
}
