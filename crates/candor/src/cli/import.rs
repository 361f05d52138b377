//! The flags of `candor import`.

use super::Format;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// What the tool printed; criterion's folder of results; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The tool, if the file does not show it
    #[arg(long, value_enum, value_name = "TOOL")]
    pub(crate) from: Option<Tool>,
    /// CPU of the machine on which the tool ran, `here` for this machine [default: unknown]
    #[arg(long, value_name = "NAME")]
    pub(crate) cpu: Option<String>,
    /// Name of the figures in reports, such as aws-lc-1.66.0+speed [default: what the tool says of the library]
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// The task that does the same work as a figure; may be repeated. Some are known
    #[arg(long, value_name = "FIGURE=TASK", value_parser = figure_and_task)]
    pub(crate) task: Vec<(String, String)>,
    /// Directory for the sealed file [default: candor-runs]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) runs: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// A tool whose output can be read.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Tool {
    /// `openssl speed -mr`
    OpensslMr,
    /// The tables of `openssl speed`
    Openssl,
    /// `bssl speed`, as text or JSON
    Bssl,
    /// `speed_kem` or `speed_sig`
    Liboqs,
    /// Messages of `cargo criterion`
    Criterion,
    /// `hyperfine --export-json`
    Hyperfine,
    /// `--benchmark_format=json`
    GoogleBenchmark,
    /// C tor's `bench`
    TorBench,
    /// The file `data`
    Supercop,
    /// Columns name, value and unit
    Csv,
}

fn figure_and_task(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((figure, task)) if !figure.is_empty() && !task.is_empty() => Ok((figure.to_owned(), task.to_owned())),
        _ => Err("expected a figure's name, = and the name of a task".into()),
    }
}
