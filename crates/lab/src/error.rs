//! The errors of this crate.

use std::path::PathBuf;

/// What can go wrong in the lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file is not a valid run file.
    #[error("{path}, line {line}: {why}")]
    RunFile {
        /// The file.
        path: PathBuf,
        /// Line number, counted from 1.
        line: usize,
        /// What is wrong and what to do.
        why: String,
    },
    /// The output of another tool can't be imported.
    #[error("{path}, line {line}: {why}")]
    Import {
        /// The file.
        path: PathBuf,
        /// Line number, counted from 1.
        line: usize,
        /// What is wrong and what to do.
        why: String,
    },
    /// A file of published numbers is not valid.
    #[error("invalid claims: {0}")]
    Claims(String),
    /// A recipe of a sweep is not valid.
    #[error("invalid recipe of a sweep: {0}")]
    Recipe(String),
    /// A file of a sweep is not what it should be.
    #[error("{path}, line {line}: {why}")]
    Sweep {
        /// The file.
        path: PathBuf,
        /// Line number, counted from 1.
        line: usize,
        /// What is wrong and what to do.
        why: String,
    },
    /// A plan has no shard of this number.
    #[error("no shard {index}: the plan has {shards}, from 0 to {}", shards.saturating_sub(1))]
    NoShard {
        /// The number.
        index: u64,
        /// How many there are.
        shards: u64,
    },
    /// The operating system reported an error.
    #[error("{doing} {path}: {source}")]
    Io {
        /// What was attempted: "can't write", "can't read".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Runs have nothing to be compared by.
    #[error("nothing to compare: {0}")]
    NothingToCompare(String),
    /// A figure can't be written in the form asked for.
    #[error("can't draw figure {figure}: {why}")]
    Figure {
        /// The figure's name.
        figure: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// The operating system gave no randomness for the seed of a run.
    #[error("can't get a random seed from the operating system: {0}")]
    Seed(getrandom::Error),
    /// A worker process failed before it could say which subject was at fault.
    #[error("can't run a worker process: {0}")]
    Worker(String),
    /// Another build can't be paired with this one.
    #[error("can't pair with {path}: {why}")]
    Build {
        /// The program.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// No task has a subject that can be measured.
    #[error("nothing to measure: every task lacks its baseline\n{}", .0.join("\n"))]
    AllRefused(Vec<String>),
    /// Every worker process died before it had measured anything.
    #[error("every worker process died ({0}); no run file was written")]
    AllLost(String),
    /// The user stopped the run before anything was measured.
    #[error("stopped before anything was measured; no run file was written")]
    Stopped,
}
