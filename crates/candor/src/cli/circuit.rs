//! The flags of `candor circuit`.

use super::{ListFormat, Picture};
use candor_links::orbit::Timestamp;
use candor_network::HandshakeType;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CircuitArguments {
    #[command(subcommand)]
    pub(crate) command: Option<CircuitCommand>,
    /// Name of a topology, or a TOML file
    #[arg(required = true)]
    pub(crate) topology: Option<String>,
    /// More topologies to compare
    #[arg(value_name = "MORE", requires = "both")]
    pub(crate) more: Vec<String>,
    /// Measure instead: real relays, a real client and the kernel's TCP, over TUN devices between network namespaces of this machine. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN
    #[arg(long, conflicts_with = "both")]
    pub(crate) tun: bool,
    /// Simulate and measure, and compare the times to circuit. Fetches no page
    #[arg(long, conflicts_with = "page")]
    pub(crate) both: bool,
    /// Leave out the topology's losses
    #[arg(long)]
    pub(crate) lossless: bool,
    /// Handshake to build circuits with; may be repeated [default: ntor, ntor-v3, hybrid-512, hybrid-768, hybrid-1024 and hybrid-768-auth]
    #[arg(long, value_name = "NAME")]
    pub(crate) handshake: Vec<HandshakeType>,
    /// Use the topology's other values of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    /// Begin without links: make each by TCP, TLS and the link handshake
    #[arg(long)]
    pub(crate) cold: bool,
    /// Circuits per handshake
    #[arg(long, value_name = "N", default_value_t = 200, conflicts_with = "pass", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) circuits: u32,
    /// Bytes of the page fetched through each circuit; 0 fetches none
    #[arg(long, value_name = "BYTES", default_value_t = 100_000, conflicts_with = "pass", value_parser = clap::value_parser!(u64).range(0..=1_000_000_000))]
    pub(crate) page: u64,
    /// Run file that says what handshakes cost, or `none` [default: of the runs in candor-runs, else in runs, the newest of those that know most of the handshakes]
    #[arg(long, value_name = "RUN")]
    pub(crate) costs: Option<PathBuf>,
    /// Seed of losses and drawn costs
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Compute X25519 and ML-KEM instead of scripted stand-ins: the same virtual times, after a longer wait
    #[arg(long, conflicts_with = "tun")]
    pub(crate) real: bool,
    /// Draw as well: how the times to circuit are distributed, and at which bandwidth larger messages cost more than larger computation; with --both, simulated beside measured distributions; with --pass, delay and time to circuit, and the satellites' ground tracks
    #[arg(long, value_name = "FORMATS", value_enum, value_delimiter = ',', conflicts_with = "tun")]
    pub(crate) figures: Vec<Picture>,
    /// Directory for figures [default: the current one]
    #[arg(short, long, value_name = "DIR", requires = "figures")]
    pub(crate) output: Option<PathBuf>,
    /// Follow the satellites: a circuit per handshake every so often, with the satellite that serves then, its elevation, delay and Doppler shift
    #[arg(long, conflicts_with_all = ["tun", "both"])]
    pub(crate) pass: bool,
    /// Seconds from one circuit of --pass to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 15, requires = "pass", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) every: u32,
    /// Carrier of the Doppler shifts of --pass, in GHz
    #[arg(long, value_name = "GHZ", default_value_t = 12.0, requires = "pass", value_parser = gigahertz)]
    pub(crate) carrier: f64,
    /// Satellites to follow instead of the topology's: a file with TLEs, or with OMMs as JSON, KVN or XML
    #[arg(long, value_name = "FILE")]
    pub(crate) elements: Option<PathBuf>,
    /// When to begin to follow satellites, in UTC [default: when the topology says; with --elements, when the first link opens after their epoch]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<Timestamp>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

fn gigahertz(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.001..=1000.0).contains(number));
    number.ok_or_else(|| "expected a number from 0.001 to 1000".to_owned())
}

impl CircuitArguments {
    /// The topology's name, which clap has seen to.
    pub(crate) fn topology(&self) -> &str {
        self.topology.as_deref().unwrap_or_default()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CircuitCommand {
    /// Let things go wrong: relays die, links are cut, hops send garbage, somebody floods, readers stop
    ///
    /// Each scenario follows from the seed and its number, and is carried out twice in virtual time: a client, three relays and a target, often a second client,
    /// with the state machines that candor's clients and relays run. One scenario in four has real cryptography throughout; the others have stand-ins for X25519 and ML-KEM. The
    /// table says what became of the client: everything arrived, or an error that names the hop. What must hold in every scenario is in crates/links/docs/faults.md. At the first
    /// scenario in which something of it does not, candor prints its last events and the command that replays it.
    #[command(
        after_help = "Exit status: 0 everything held; 1 something did not; 2 error.\n\nExamples:\n  candor circuit faults\n  candor circuit faults --scenarios 10000 --seed 7\n  candor \
                      circuit faults --seed 7 --from 4711 --scenarios 1 --trace"
    )]
    Faults(FaultsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FaultsArguments {
    /// How many scenarios
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) scenarios: u64,
    /// Seed of the scenarios
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of the first scenario
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,
    /// Print each scenario with its events, instead of the table
    #[arg(long, conflicts_with = "format")]
    pub(crate) trace: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}
