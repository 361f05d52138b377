//! All commands and flags. Help, completions and the man page are generated from these definitions.

mod circuit;
#[cfg(test)]
mod documented;
mod files;
mod import;
mod login;
mod onion;
mod opaque;
mod sweep;

pub(crate) use circuit::{CircuitArguments, CircuitCommand, FaultsArguments};
pub(crate) use files::{
    ConvertArguments, DecryptArguments, EncryptArguments, FileKeyCommand, HashArguments, KeyForm, MacArguments,
    MakeArguments, SignArguments, SignatureChoices,
};
pub(crate) use import::{ImportArguments, Tool as ImportTool};
pub(crate) use login::{
    AuditCommand, BackupArguments, FileLayout, KeyCommand, LoginCommand, MigrateArguments, NamedArguments,
    OneArguments, ServeArguments, Settings, StoreArguments, TokenCommand, UserCommand,
};
pub(crate) use onion::{
    Cells, DirectoryArguments, DirectoryFlags, FetchArguments, MonitorArguments, OnionCommand, ProxyArguments,
    RelayArguments, RoleArguments, SoakArguments, TargetArguments, UpArguments,
};
pub(crate) use opaque::{DemoArguments, DemoSuite, OpaqueCommand};
pub(crate) use sweep::{Collected, Shards, SweepCommand};

use candor_lab::plan::MOST_PROCESSES;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What `--claims` stands for without a path. A directory of that name is `./built-in`.
pub(crate) const BUILT_IN: &str = "built-in";

/// What `--version` prints: the commit, its state and the compiler, as run files have them.
const LONG_VERSION: &str = env!("CANDOR_LONG_VERSION");

/// Measures cryptography honestly: our implementations beside the ones people use today, on this machine, in one run.
///
/// Without a command, candor says what this machine can measure, runs a tour of about a minute and says what to try next.
#[derive(Debug, Parser)]
#[command(name = "candor", version, long_version = LONG_VERSION, propagate_version = true)]
#[command(after_help = "Exit status: 0 success, 1 the condition asked for does not hold, 2 error, 3 a verdict was \
                        required and the evidence supports none.\nEnvironment: CANDOR_CPU sets the default tier (candor \
                        list tiers), CANDOR_PEERS adds directories to search for shared libraries, NO_COLOR turns \
                        colours off.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Print only errors to stderr: no progress, no remarks
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Print refusals to stderr as they happen
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure tasks, print a table and save the run as a sealed file
    ///
    /// A task has a name like kem/ml-kem-768/encaps. Part of a name selects every task that contains it (kem, ml-kem-768,
    /// encaps), a family its sets (kem/hqc, mceliece/decode), and `all` one of each kind: variants of other tasks (sizes, parameter sets, topologies) and what takes
    /// long (keys of RSA and McEliece, Argon2id of 256 MiB, calls of about a second) are named, whole programs from their beginning (file/). `candor list tasks all` lists what it selects.
    /// With --smoke, `all` is every task but those programs.
    /// The key of a publication (kctsb-001) selects every task that does its work, and adds its rows to the output. Without TASKS, candor runs the tour.
    #[command(
        after_help = "Examples:\n  candor run kem/ml-kem-768\n  candor run hash/sha256/1m --peer openssl --format \
                            json\n  candor run all --smoke\n  candor run kctsb-001\n  candor run kem --against ../before/target/release/candor"
    )]
    Run(RunArguments),
    /// Print saved runs as text, Markdown, CSV, JSON, a web page or LaTeX, and draw figures
    ///
    /// LaTeX with -o writes the paper kit: the tables, which include the figures that --figures pdf draws, a document that shows them, and ARTIFACT.md, which
    /// says how to derive them again and how to measure again.
    #[command(
        after_help = "Examples:\n  candor report candor-runs/*.jsonl --format md -o reports\n  candor report RUN --format html --figures svg,pdf --claims -o reports\n  candor report RUN --format tex --figures pdf -o paper\n  candor report RUN --answer kctsb-001 --format md"
    )]
    Report(ReportArguments),
    /// Seal what another benchmark tool printed, to be shown beside runs
    ///
    /// Reads `openssl speed -mr` and its tables, `bssl speed`, `speed_kem` and `speed_sig` of liboqs, the folder of results of criterion and the messages of cargo-criterion, hyperfine's and
    /// Google Benchmark's JSON, C tor's `bench`, lines of SUPERCOP's file `data`, and CSV with the columns name, value and unit. Such figures have that tool's clock and loops: they stand beside
    /// rows that do the same work, and get no ratio and no verdict. A file with an impossible value is refused with its line; a coarse clock and values that are the same again and again
    /// are reported.
    #[command(
        after_help = "Examples:\n  openssl speed -mr -seconds 3 sha256 2>&1 | candor import - --cpu here\n  candor import speed_kem.txt --cpu \"Apple M4\"\n  candor \
                      import table.csv --task sign=ec/p256/sign\n  candor report candor-runs/*.jsonl"
    )]
    Import(ImportArguments),
    /// Set saved runs side by side: builds on one machine, or several machines
    ///
    /// What stands side by side are ratios, each of two subjects in the same rounds of one run; times of two runs are never divided by each other. A row
    /// reproduces, flips (faster here, slower there), differs (a difference here, none of 2 % there) or can't be told. Runs of one machine share a column
    /// unless two of them measured the same task; the later build is the one that was measured later. What became of candor from one build to another is
    /// said where a run paired them (`candor run --against`), or where another library stands unchanged in both runs.
    #[command(
        after_help = "Exit status: 0 nothing that --fail-on names was found; 1 it was found; 2 error; 3 it was not found, and not everything could be told, or \
                      --require-verdict is given and something can't be told.\n\nExamples:\n  candor compare before.jsonl after.jsonl --fail-on slower\n  candor \
                      compare zen4.jsonl zen5.jsonl --figures svg\n  candor compare laptop-*.jsonl server-*.jsonl --claims ecliptix-003 --format html -o reports"
    )]
    Compare(CompareArguments),
    /// Repeat a saved run on this machine and say which verdicts hold
    ///
    /// Shows both runs as `candor compare` does. Exits with status 1 if a verdict flips: faster there and slower here, or the other way round.
    #[command(after_help = "Example:\n  candor rerun runs/2026-11-24-zen4-f107e2.jsonl")]
    Rerun(RerunArguments),
    /// Check the signature of a file; or that saved runs are whole, follow from their seeds, and who signed them
    ///
    /// With --signature, FILE is any file, --key a public key in PEM or DER, and a signature that does not match is status 1.
    ///
    /// Without it, files are runs.
    /// Checks the seal and the name of each run; that every process of the plan is there, with the inputs and orders that follow from the seed; and
    /// the signature in RUN.sig, if there is one. Times themselves can't be derived: that nobody made them up, only a signature by somebody you trust
    /// says. Exits with status 1 if --key is given and a run is not signed by one of its keys.
    #[command(
        after_help = "Examples:\n  candor verify letter.txt --signature letter.sig --key their.pub\n  curl https://github.com/USER.keys > their-keys\n  candor verify runs/*.jsonl --key their-keys"
    )]
    Verify(VerifyArguments),
    /// Build circuits over modelled links, satellites among them, in virtual time
    ///
    /// TOPOLOGY is a name that `candor list topologies` knows, or a TOML file. Times are simulated: the delays, rates and losses of the topology, a model of TCP, and
    /// the state machines that candor's clients and relays run. Topologies with satellites that move, such as leo-pass and leo-shell, have circuits spread over
    /// the time for which they are followed; --pass shows them one after another. Nothing is sent, unless --tun or --both asks for it: then relays, target and client are
    /// processes in network namespaces of this machine, and the same links carry their packets between TUN devices. Nothing of that is left when candor ends, even if it is
    /// killed.
    #[command(
        after_help = "Examples:\n  candor circuit leo-bent-pipe\n  candor circuit sagin-01 --set paper --cold\n  candor circuit my.toml \
                      --handshake ntor --handshake hybrid-768 --circuits 1000\n  candor circuit leo-shell --pass --handshake hybrid-768\n  candor \
                      circuit leo-pass --pass --elements my.tle --from 2026-11-26T18:00:00Z\n  candor circuit sagin-01 sagin-02 --both --lossless \
                      --handshake hybrid-768\n  candor circuit faults --scenarios 10000"
    )]
    Circuit(CircuitArguments),
    /// Measure or simulate in shards, on many machines, which can be killed at any time
    #[command(subcommand)]
    Sweep(SweepCommand),
    /// List tasks, peers, topologies or tiers
    ///
    /// Tasks marked `by name` are those that `candor run all` leaves out.
    #[command(
        after_help = "Examples:\n  candor list tasks kem/hqc ml-kem-768\n  candor list peers openssl\n  candor list topologies leo"
    )]
    List {
        /// What to list
        #[arg(value_enum)]
        what: Listed,
        /// Only tasks that these words select, as `candor run` takes them, or peers, topologies and tiers whose names contain one of them
        words: Vec<String>,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
    /// Explain a task or a lint: what is timed, or what went wrong
    Explain {
        /// Name of a task or lint; part of a task's name is enough if only one has it
        name: String,
    },
    /// Check how quiet this machine is, its clock and its tiers; with --arms, whether the fastest code runs here; with --self-test,
    /// how reliable the lab is
    #[command(
        after_help = "Examples:\n  candor doctor\n  candor doctor --arms\n  candor doctor --arms candor-runs/RUN.jsonl"
    )]
    Doctor(DoctorArguments),
    /// Print digests of files, or check lists of them
    ///
    /// Lines are those of `sha256sum`; --check reads them, and tagged lines of coreutils and OpenSSL. Exits with status 1 if a file does not have its digest, or can't be
    /// read.
    #[command(
        after_help = "Examples:\n  candor hash *.iso > SHA256SUMS\n  candor hash --check SHA256SUMS\n  candor hash -a sm3 --tag file"
    )]
    Hash(HashArguments),
    /// Print codes that authenticate files under a secret key, or check one
    #[command(after_help = "Examples:\n  candor mac --key secret file\n  candor mac --key secret file --verify 8f3c…")]
    Mac(MacArguments),
    /// Make, show and convert keys, in the formats of OpenSSL, and agree on a secret
    #[command(subcommand)]
    Key(FileKeyCommand),
    /// Sign a file: ECDSA and SM2 in DER, Ed25519, or RSA
    ///
    /// ECDSA, SM2 and RSA read files of any length; Ed25519 needs the file in memory, at most 1 GiB. `candor verify --signature` checks signatures, and so does OpenSSL.
    #[command(
        after_help = "Example:\n  candor sign letter.txt --key key.pem -o letter.sig\n  candor verify letter.txt --signature letter.sig --key key.pub"
    )]
    Sign(SignArguments),
    /// Encrypt a file to a public key or with a password
    ///
    /// Keys of ML-KEM, X25519, the curves, SM2 and RSA, and passwords (Argon2id), make a container of authenticated chunks, crates/suite/docs/container.md, in
    /// constant memory. With --no-container, RSA and SM2 make one bare ciphertext, which OpenSSL reads.
    #[command(
        after_help = "Examples:\n  candor encrypt letter.txt --to their.pub -o letter.candor\n  tar c folder | candor encrypt --password-file password -o folder.candor"
    )]
    Encrypt(EncryptArguments),
    /// Decrypt a file
    ///
    /// The file of --output is there only once everything is authentic. On standard output each chunk appears as soon as it is authentic: if the file was cut short or
    /// changed further on, candor says so at the end and exits with status 2, and what was written must not be used.
    #[command(after_help = "Example:\n  candor decrypt letter.candor --key key.pem -o letter.txt")]
    Decrypt(DecryptArguments),
    /// Run relays, and fetch pages or run a proxy through circuits of them
    #[command(subcommand)]
    Onion(OnionCommand),
    /// Run the login server
    #[command(subcommand)]
    Login(LoginCommand),
    /// Show password logins message by message
    #[command(subcommand)]
    Opaque(OpaqueCommand),
    /// Print a completion script; those of bash, zsh and fish know the names of tasks
    #[command(after_help = "Example:\n  candor completions bash > ~/.local/share/bash-completion/completions/candor")]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the man page of candor or of a command, or write those of all commands
    #[command(
        after_help = "Examples:\n  candor man onion relay | man -l -\n  candor man --all ~/.local/share/man/man1"
    )]
    Man {
        /// The command, word by word: onion relay
        command: Vec<String>,
        /// Write every page into this directory
        #[arg(long, value_name = "DIRECTORY", conflicts_with = "command")]
        all: Option<PathBuf>,
    },
    /// Serve one request of a run (candor starts this itself)
    #[command(hide = true)]
    Worker {
        /// A program that is a subject as well
        #[arg(long)]
        peer_program: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listed {
    /// What can be measured
    Tasks,
    /// Other libraries, and whether they are installed
    Peers,
    /// Links that `candor circuit` knows, each with a picture
    Topologies,
    /// CPU tiers, and which of them this CPU can run
    Tiers,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for the terminal
    #[default]
    Text,
    /// Markdown
    Md,
    /// One row per line, nothing rounded
    Csv,
    /// One JSON object per run
    Json,
    /// One self-contained web page with figures
    Html,
    /// Tables for a paper, in LaTeX with package booktabs
    Tex,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    /// For the web and for editing
    Svg,
    /// For slides and reviews
    Png,
    /// For papers
    Pdf,
}

impl Picture {
    /// How the names of its files end.
    pub(crate) fn ending(&self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }
}

#[derive(Debug, Default, Args)]
pub(crate) struct RunArguments {
    /// Tasks to measure, or parts of their names
    pub(crate) tasks: Vec<String>,
    /// Take about two seconds per task: the same method with fewer rounds, and as many processes as verdicts need if each task loses one
    #[arg(long, conflicts_with_all = ["budget", "smoke"])]
    pub(crate) quick: bool,
    /// Seconds per task, all its processes together [default: 6]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) budget: Option<f64>,
    /// Processes per task [default: half as many again as the number of comparisons requires; with --quick, as many as required if one is lost]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_PROCESSES as i64))]
    pub(crate) processes: Option<u32>,
    /// Measure only the baseline and subjects whose names begin with NAME; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) peer: Vec<String>,
    /// Measure this program beside the others: one that speaks candor's protocol over its standard input and output (crates/lab/docs/programs.md). Its rows are called
    /// program-NAME; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with = "against")]
    pub(crate) peer_program: Vec<PathBuf>,
    /// Compare with this subject instead of each task's own baseline; `candor explain TASK` lists the names
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Measure the tasks' baselines by this build and by that of another candor, in the same rounds; may be repeated. Each row names its build's commit.
    /// `candor compare RUN` says what became faster or slower
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["peer", "smoke"])]
    pub(crate) against: Vec<PathBuf>,
    /// Seed for inputs and orders, to repeat the plan of a run
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Directory for the run file [default: candor-runs]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) runs: Option<PathBuf>,
    /// Sign the run with this SSH key, or with the agent's if it is a public key; the signature goes to RUN.sig (needs ssh-keygen)
    #[arg(long, value_name = "KEY", conflicts_with = "smoke")]
    pub(crate) sign: Option<PathBuf>,
    /// Exit with status 3 if any row reads "can't tell"
    #[arg(long)]
    pub(crate) require_verdict: bool,
    /// Check that every subject works: one round each, no verdicts, nothing saved
    #[arg(long)]
    pub(crate) smoke: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Run files
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Write each report to a file in this directory, named after its run, instead of to stdout
    #[arg(long, short, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Also draw figures in these formats, into the directory of --output or the current one
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) figures: Vec<Picture>,
    /// Show published numbers beside the rows: those that candor knows, or those of a file or directory; may be repeated
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = BUILT_IN)]
    pub(crate) claims: Vec<PathBuf>,
    /// Print a publication's rows instead, each beside ours, the peers that it asks for and the best of the others: the key of one that candor knows,
    /// such as kctsb-001, or a file of claims
    #[arg(long, value_name = "PUBLICATION", conflicts_with_all = ["claims", "figures", "output"])]
    pub(crate) answer: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Run files; those of one machine are put in the order of their dates
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Write to comparison.txt, .md, .csv, .json, .html or .tex in this directory instead of to stdout
    #[arg(long, short, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Also draw the slope chart in these formats, into the directory of --output or the current one
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) figures: Vec<Picture>,
    /// Show published numbers beside the columns: those of a key such as ecliptix-003, those of a file or directory, or with `built-in` all that candor knows;
    /// may be repeated
    #[arg(long, value_name = "KEY|PATH")]
    pub(crate) claims: Vec<PathBuf>,
    /// Exit with status 1 if a task is slower by a later build, if a build fails at one, or if a verdict flips; with 3 if that can't be told
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) fail_on: Vec<FailOn>,
    /// Exit with status 3 if anything reads "can't tell"
    #[arg(long)]
    pub(crate) require_verdict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A task's baseline is slower by a later build than by an earlier one on the same machine
    Slower,
    /// A build refuses a task, answers otherwise than the other, loses a process, or does other work
    Broken,
    /// A verdict is faster in one column and slower in another
    Flips,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Run files; with --signature the file that was signed, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) runs: Vec<PathBuf>,
    /// Require a signature by one of the SSH public keys in this file, one a line (needs ssh-keygen); with --signature the signer's key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The signature of a file, as `candor sign` and OpenSSL write it
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) signature: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choices: SignatureChoices,
}

#[derive(Debug, Args)]
pub(crate) struct RerunArguments {
    /// The run file
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// A program that the run measured, here; may be repeated. The rows of a program that is not given stay alone
    #[arg(long, value_name = "PATH")]
    pub(crate) peer_program: Vec<PathBuf>,
    /// Directory for the new run file [default: candor-runs]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) runs: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Look at each routine's arms for about ten seconds in all and show where the one that runs by default takes over 3 % longer than
    /// another. With RUN, show what these runs say instead
    #[arg(long, value_name = "RUN", num_args = 0.., conflicts_with = "self_test")]
    pub(crate) arms: Option<Vec<PathBuf>>,
    /// Measure the lab itself, on a kernel, a hash, Argon2id and circuits: how often it claims a difference that does not exist,
    /// how often it finds one of 1.5 %, and how much code layout matters. Later runs of this build count the effect of layout
    /// into their floor. Ten trials of each kind take a quarter of an hour
    #[arg(long)]
    pub(crate) self_test: bool,
    /// Number of trials of each kind
    #[arg(long, value_name = "N", default_value_t = 10, requires = "self_test", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) trials: u32,
    /// Directory of run files [default: candor-runs]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) runs: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0.01 to 86400".into()),
    }
}
