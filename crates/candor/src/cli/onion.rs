//! The flags of `candor onion`.

use super::ListFormat;
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(crate) enum OnionCommand {
    /// Run a whole test network on this machine: proxy, directory, guard, middle, exit, target and monitor
    ///
    /// Each is a process of its own. When pages can be fetched through the proxy it prints all addresses. Ctrl-C stops all of them; they also end
    /// when this process is killed. When one of them ends, the others are stopped. Nothing is kept: keys, guards and relays are new at each start.
    /// All relays are on this machine, so this is a network for tests, and hides nothing from anybody.
    #[command(after_help = "Example:\n  \
                            candor onion up &\n  \
                            curl --socks5-hostname 127.0.0.1:9050 http://127.0.0.1:8000/bytes/1000000 -o page\n  \
                            # and open http://127.0.0.1:9080/ in a browser\n\n\
                            All roles of one host of a network file:\n  \
                            candor onion up --network network.toml --host guard")]
    Up(UpArguments),
    /// Run one role of a network file until Ctrl-C
    ///
    /// The file says what each role of a network runs, on which host, with which flags; it is the same on every host. A role takes the flags of its
    /// command, and prints what the command prints. crates/network/docs/deployment.md shows a network of seven hosts, with a systemd unit.
    #[command(after_help = "Example:\n  candor onion role guard --network /etc/candor/network.toml")]
    Role(RoleArguments),
    /// Show a network live: a web page with its roles, circuits, cells per second and errors
    ///
    /// When it is ready it prints one line of JSON with its address. It asks each role for its metrics every second. Its own metrics are at /metrics.
    #[command(after_help = "Example:\n  \
                            candor onion relay --name ada --relays relays.jsonl --metrics 127.0.0.1:9101 &\n  \
                            candor onion monitor --watch ada=http://127.0.0.1:9101/metrics &\n  \
                            # and open http://127.0.0.1:9080/ in a browser")]
    Monitor(MonitorArguments),
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
    Relay(Box<RelayArguments>),
    /// Run a directory: an authority that says which relays there are
    ///
    /// When it is ready it prints one line of JSON with its address and fingerprint, which relays and clients want as --directory. Relays register
    /// there; clients fetch the consensus. Several authorities agree on one: start each with all of them as --authority. Their fingerprints come
    /// from --fingerprint. With --keys and --state it goes on after a restart where it was.
    #[command(after_help = "Example: a directory, three relays and a fetch on this machine\n  \
                            candor onion directory --listen 127.0.0.1:7000 --keys authority.keys &\n  \
                            D=http://127.0.0.1:7000/#...       # as it printed\n  \
                            candor onion relay --name ada --directory $D &\n  \
                            candor onion relay --name bob --directory $D &\n  \
                            candor onion relay --name cyd --directory $D --exit 127.0.0.1:8000 &\n  \
                            candor onion fetch http://127.0.0.1:8000/ --directory $D --wait 10")]
    Directory(DirectoryArguments),
    /// Fetch a page through a circuit
    ///
    /// The circuit goes through relays of the list, or of the directory's consensus, that are chosen at random, the last of them an exit to where the URL points, or through
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
    Proxy(Box<ProxyArguments>),
    /// Run a web server whose answers can be checked, for tests: GET /bytes/N, POST /digest
    ///
    /// When it is ready it prints one line of JSON with its address.
    #[command(after_help = "Example:\n  candor onion target --listen 127.0.0.1:8000 &")]
    Target(TargetArguments),
    /// Load a test network on this machine for a time: circuits and streams come and go, and every byte is checked
    ///
    /// Starts a guard, a middle, an exit and a target as processes of their own, and carries as many circuits and streams at once as it is told, which open and close by a seed.
    /// Says from time to time how things are. At the end, or on Ctrl-C, it prints a summary: circuits built, pages fetched, failures with their reasons and a bound at 95 %, bytes, and the
    /// memory of each relay. Exits with status 1 if anything failed, if there were never so many at once, if it was interrupted, or if, in five minutes or more, a relay's memory grew by over
    /// 5 % from the second third of the time to the last.
    #[command(
        after_help = "Examples:\n  candor onion soak --for 2m\n  candor onion soak --circuits 100 --streams 500 --for 30s --seed 7"
    )]
    Soak(SoakArguments),
    /// Build circuits and say how long each part took (`candor circuit --tun` starts this itself)
    #[command(hide = true)]
    Builder,
}

/// Also the keys of a relay's configuration file.
#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RelayArguments {
    /// A TOML file with any of these flags by their names; flags win over it
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) listening: ListenFlags,
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
    /// Experimental: agree to in-circuit upgrades, by which a client's layer with this relay gets post-quantum keys behind relays of C tor's
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// Capacity in kB/s to tell the directory; clients prefer relays that have more [default: 1000]
    #[arg(long, value_name = "KB/S", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) bandwidth: Option<u32>,
    /// Identities of relays that the same people run, in hexadecimal digits, or with --tor-authority `$` and their RSA identities; they must name this one too
    #[arg(long, value_name = "IDENTITY", value_delimiter = ',')]
    pub(crate) family: Vec<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) directories: DirectoryFlags,
    /// An authority of a private network of C tor's to be listed by, by the address of its DirPort and its v3ident; may come again
    #[arg(long, value_name = "ADDRESS:PORT/V3IDENT", conflicts_with_all = ["directory", "relays"])]
    pub(crate) tor_authority: Vec<String>,
    /// File that keeps the RSA identity that C tor's networks want; created if it does not exist. Without it that is new at each start
    #[arg(long, value_name = "FILE")]
    pub(crate) tor_keys: Option<PathBuf>,
    /// How to reach the people who run the relay, for C tor's authorities
    #[arg(long, value_name = "TEXT")]
    pub(crate) contact: Option<String>,
    /// Write the entry into this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) entry: Option<PathBuf>,
    /// Relay list to keep the entry in, and whose relays are no strangers; created if it does not exist
    #[arg(long, value_name = "FILE", conflicts_with = "directory")]
    pub(crate) relays: Option<PathBuf>,
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
    #[arg(long, value_name = "FILE", required_unless_present = "directory", conflicts_with = "directory")]
    pub(crate) relays: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) directories: DirectoryFlags,
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
    /// Experimental: give the layer of the last relay, which must run with --upgrade, new keys by an ML-KEM exchange inside the circuit. It protects that layer, not
    /// the route; without it, nothing is fetched
    #[arg(long)]
    pub(crate) upgrade: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProxyArguments {
    /// Where to listen; port 0 takes any. Streams of different addresses share no circuit
    #[arg(long, value_name = "ADDRESS:PORT", value_delimiter = ',', default_value = "127.0.0.1:9050")]
    pub(crate) listen: Vec<SocketAddr>,
    /// The relay list: one relay's entry per line; read again every minute
    #[arg(long, value_name = "FILE", required_unless_present_any = ["directory", "tor_authority"], conflicts_with = "directory")]
    pub(crate) relays: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) directories: DirectoryFlags,
    /// An authority of a private network of C tor's, by the address of its DirPort and its v3ident; may come again. More than half of them must have signed
    #[arg(long, value_name = "ADDRESS:PORT/V3IDENT", conflicts_with_all = ["directory", "relays"])]
    pub(crate) tor_authority: Vec<String>,
    /// Experimental: ask each exit for an in-circuit upgrade, which gives its layer post-quantum keys behind relays of C tor's; exits that have none are used all the same
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// Experimental: the same, and use no exit that has none
    #[arg(long)]
    pub(crate) only_upgraded: bool,
    /// Seconds to wait for enough relays
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait: u16,
    /// File that keeps the guards; created if it does not exist. Without it they are new at each start
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Let relays of a path share a /16 (IPv6: /32), where all are on one machine or in one laboratory
    #[arg(long)]
    pub(crate) test_network: bool,
    /// Relays to begin circuits at, by name or by the beginning of their identity, or with --tor-authority by their whole identity or `$` and their RSA identity [default: any]
    #[arg(long, value_name = "RELAY", value_delimiter = ',')]
    pub(crate) entries: Vec<String>,
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
    /// The handshake with each relay [default: hybrid-768, or ntor-v3 with --tor-authority]
    #[arg(long, value_name = "NAME")]
    pub(crate) handshake: Option<String>,
    /// The cryptography of relay cells
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cells: Cells,
    /// Where to serve metrics for Prometheus, at /metrics, and the circuits, at /circuits; port 0 takes any and prints it [default: nowhere]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Where a relay or a directory is reached.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct ListenFlags {
    /// Where to listen; port 0 takes any [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Address to tell others, if they reach it at a different one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) advertise: Option<SocketAddr>,
    /// Networks without limits per network, such as '192.0.2.0/24' [default: loopback if it listens there, otherwise none]
    #[arg(long, value_name = "NETWORK", value_delimiter = ',')]
    pub(crate) test_networks: Option<Vec<String>>,
    /// Where to serve metrics for Prometheus, at /metrics; port 0 takes any and prints it [default: nowhere]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

impl ListenFlags {
    /// These, and from a file what they leave open.
    pub(crate) fn or(self, file: Self) -> Self {
        Self {
            listen: self.listen.or(file.listen),
            advertise: self.advertise.or(file.advertise),
            test_networks: self.test_networks.or(file.test_networks),
            metrics: self.metrics.or(file.metrics),
        }
    }

    /// Where to listen.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listen.unwrap_or(([127, 0, 0, 1], 0).into())
    }
}

/// Where the consensus comes from.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct DirectoryFlags {
    /// A directory, `http://host:port#FINGERPRINT` as `candor onion directory` prints it; may come again. One without a fingerprint is a mirror
    #[arg(long, value_name = "URL")]
    pub(crate) directory: Vec<String>,
    /// How many of the directories with fingerprints must have signed [default: more than half]
    #[arg(long, value_name = "K", requires = "directory")]
    pub(crate) threshold: Option<u8>,
    /// File that keeps the consensus, for when no directory answers
    #[arg(long, value_name = "FILE", requires = "directory")]
    pub(crate) consensus: Option<PathBuf>,
}

impl DirectoryFlags {
    /// These, and from a file what they leave open.
    pub(crate) fn or(self, file: Self) -> Self {
        Self {
            directory: if self.directory.is_empty() { file.directory } else { self.directory },
            threshold: self.threshold.or(file.threshold),
            consensus: self.consensus.or(file.consensus),
        }
    }
}

/// Also the keys of a directory's configuration file.
#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DirectoryArguments {
    /// A TOML file with any of these flags by their names; flags win over it
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) listening: ListenFlags,
    /// File that keeps the authority's keys; created if it does not exist. Without it they are new at each start, and nobody knows them
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Folder that keeps the consensus and the registered relays; created if it does not exist
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// The other authorities, each `http://host:port#FINGERPRINT`; may come again, and may include this one
    #[arg(long = "authority", value_name = "URL")]
    #[serde(rename = "authority")]
    pub(crate) authorities: Vec<String>,
    /// How many authorities must sign a consensus [default: more than half]
    #[arg(long, value_name = "K")]
    pub(crate) threshold: Option<u8>,
    /// Seconds from one consensus to the next, the same for all authorities; it is valid for three times as long [default: 3600]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub(crate) interval: Option<u32>,
    /// Print the address and fingerprint that it will have, and exit
    #[arg(long)]
    #[serde(skip)]
    pub(crate) fingerprint: bool,
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
    /// Where to serve metrics for Prometheus, at /metrics; port 0 takes any and prints it [default: nowhere]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct SoakArguments {
    /// Circuits at once, of three hops each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = count(8000))]
    pub(crate) circuits: usize,
    /// Streams at once, on all circuits together
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count(100_000))]
    pub(crate) streams: usize,
    /// How long: seconds, or a number with s, m or h
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = time)]
    pub(crate) lasts: Duration,
    /// Where lives and lengths follow from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The handshake with each relay
    #[arg(long, value_name = "NAME", default_value = "hybrid-768")]
    pub(crate) handshake: String,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// A number from one to `most`.
fn count(most: usize) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| format!("expected a number from 1 to {most}"))
    }
}

/// Seconds, or a number with a unit.
fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(['s', 'm', 'h']).len());
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => 0,
    };
    let whole =
        number.parse::<u32>().ok().and_then(|number| number.checked_mul(seconds)).filter(|seconds| *seconds > 0);
    whole
        .map(|seconds| Duration::from_secs(seconds.into()))
        .ok_or_else(|| "expected a time such as 90s, 2m or 1h".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct MonitorArguments {
    /// Where the page is; port 0 takes any
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9080")]
    pub(crate) listen: SocketAddr,
    /// A role to watch: its name, and the URL of its metrics, as its --metrics prints it; may come again
    #[arg(long, value_name = "NAME=URL", required = true)]
    pub(crate) watch: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RoleArguments {
    /// The role's name in the file
    pub(crate) role: String,
    /// The network file, in TOML
    #[arg(long, value_name = "FILE")]
    pub(crate) network: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// Run the roles of this network file instead, as `candor onion role` does; each says by itself where it is
    #[arg(long, value_name = "FILE", conflicts_with_all = ["socks", "target", "monitor", "exit"])]
    pub(crate) network: Option<PathBuf>,
    /// Of that file, only the roles of this host
    #[arg(long, value_name = "HOST", requires = "network")]
    pub(crate) host: Option<String>,
    /// Where the proxy listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9050")]
    pub(crate) socks: SocketAddr,
    /// Where the target listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000")]
    pub(crate) target: SocketAddr,
    /// Where the monitor's page is
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9080")]
    pub(crate) monitor: SocketAddr,
    /// Where the exit may connect to besides the target, such as '*:80,*:443'
    #[arg(long, value_name = "RULES")]
    pub(crate) exit: Option<String>,
    /// Seconds that all roles together may take to be ready
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) wait: u16,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_or_without_a_unit() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("2m", 120), ("1h", 3600)] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in ["", "0", "0h", "h", "1d", "1hm", "-1s", "1.5h", "9999999h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
