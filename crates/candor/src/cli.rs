//! The one definition of commands and flags: help, completions and the man page come from it.

mod onion;
mod opaque;

pub(crate) use onion::{Cells, FetchArguments, OnionCommand, RelayArguments, TargetArguments};
pub(crate) use opaque::{DemoArguments, DemoSuite, OpaqueCommand};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Cryptography measured honestly: every claim side by side with what people use today, on this machine, in one run.
///
/// Without a command, says what this machine can measure, measures a tour of about a minute, and says what to type next.
#[derive(Debug, Parser)]
#[command(name = "candor", version, propagate_version = true, disable_help_subcommand = true)]
#[command(after_help = "Exit status: 0 done, 1 the asked-for condition failed, 2 error, 3 can't tell under \
                        --require-verdict.\nEnvironment: CANDOR_CPU sets the default tier (candor list tiers), CANDOR_PEERS \
                        adds directories to search for shared libraries, NO_COLOR is obeyed.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// No progress and no remarks on stderr, only errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// More remarks on stderr: refusals and lost processes as they happen
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure tasks and print the table; the run is saved as a sealed file
    ///
    /// A TASK is a path such as kem/ml-kem-768/encaps; a prefix takes everything below it, and `all` takes everything.
    /// Without one, the tour is measured.
    #[command(
        after_help = "Examples:\n  candor run kem/ml-kem-768\n  candor run hash/sha256/1m --peer openssl --format \
                            json\n  candor run all --smoke"
    )]
    Run(RunArguments),
    /// Print saved runs in one of several forms
    #[command(
        after_help = "Example:\n  candor report candor-runs/*.jsonl --format md -o reports\n  candor report RUN --format html --figures svg,pdf --claims -o reports"
    )]
    Report(ReportArguments),
    /// Measure a saved run's plan again on this machine: which verdicts hold?
    ///
    /// Exits with status 1 if a verdict is reversed: faster there and slower here, or the other way round.
    #[command(after_help = "Example:\n  candor rerun runs/2026-11-21-zen5-3f9c1a.jsonl")]
    Rerun(RerunArguments),
    /// List tasks, peers or tiers
    List {
        /// What to list
        #[arg(value_enum)]
        what: Listed,
        /// How to print it
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
    /// Explain a task or a lint
    Explain {
        /// A task's or a lint's name
        name: String,
    },
    /// Check this machine: how quiet it is, its clock, its tiers, and by --self-test what the lab can see on it
    Doctor(DoctorArguments),
    /// Run relays, and fetch pages through circuits of them
    #[command(subcommand)]
    Onion(OnionCommand),
    /// Show password logins message by message
    #[command(subcommand)]
    Opaque(OpaqueCommand),
    /// Print a completion script
    #[command(after_help = "Example:\n  candor completions bash > ~/.local/share/bash-completion/completions/candor")]
    Completions {
        /// For which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the man page
    Man,
    /// Serve one request of a run; started by candor itself
    #[command(hide = true)]
    Worker,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listed {
    /// What can be measured
    Tasks,
    /// Other libraries, and whether they are here
    Peers,
    /// CPU tiers, and which this CPU runs
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
    /// A table for the terminal
    #[default]
    Text,
    /// Markdown
    Md,
    /// A row per line, nothing rounded
    Csv,
    /// One object per run
    Json,
    /// One self-contained page with figures
    Html,
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

#[derive(Debug, Default, Args)]
pub(crate) struct RunArguments {
    /// Tasks, or prefixes of tasks
    pub(crate) tasks: Vec<String>,
    /// About two seconds a task: the same method with fewer rounds
    #[arg(long, conflicts_with_all = ["budget", "smoke"])]
    pub(crate) quick: bool,
    /// Seconds for each task, over all its processes
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) budget: Option<f64>,
    /// Processes for each task, instead of half as many again as the comparisons need
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) processes: Option<u32>,
    /// Measure only these beside the baseline: beginnings of subjects' names
    #[arg(long, value_name = "NAME")]
    pub(crate) peer: Vec<String>,
    /// Compare everyone with this subject instead of each task's own baseline: its whole name, as `candor explain` lists it
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// The seed of inputs and orders, to repeat a run's plan
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Where the run file goes [default: candor-runs]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) runs: Option<PathBuf>,
    /// Exit with status 3 if any row reads "can't tell"
    #[arg(long)]
    pub(crate) require_verdict: bool,
    /// One round of everything, no verdicts, nothing saved: does each subject work here?
    #[arg(long)]
    pub(crate) smoke: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Run files
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// The form
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Write each report into this directory, named after its run, instead of to stdout
    #[arg(long, short, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Draw figures too, in these forms, into the directory of --output [default: .]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) figures: Vec<Picture>,
    /// Set other people's published numbers beside the rows: files, or directories of them [default: claims]
    #[arg(long, value_name = "PATH", num_args = 0.., default_missing_value = "claims")]
    pub(crate) claims: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RerunArguments {
    /// The run file
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Where the new run file goes [default: candor-runs]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) runs: Option<PathBuf>,
    /// How to print the comparison
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Measure the lab itself: how often it claims a difference where there is none, how often it finds one of 1.5 %, and
    /// what code layout can do. The result becomes part of the floor of later runs
    #[arg(long)]
    pub(crate) self_test: bool,
    /// Trials of each kind
    #[arg(long, value_name = "N", default_value_t = 10, requires = "self_test", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) trials: u32,
    /// Where run files go [default: candor-runs]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) runs: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.01 to 86400".into()),
    }
}
