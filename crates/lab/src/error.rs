//! One error for the whole crate.

use std::path::PathBuf;

/// What can go wrong in the lab, said so that the user knows what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A run file could not be read as one.
    #[error("{path}, line {line}: {why}")]
    RunFile {
        /// Which file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong and what to do.
        why: String,
    },
    /// The file system said no.
    #[error("{doing} {path}: {source}")]
    Io {
        /// "can't write", "can't read".
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A worker process could not be started at all.
    #[error("can't start a worker process: {0}")]
    Start(String),
    /// A figure could not be written.
    #[error("can't draw figure {figure}: {why}")]
    Figure {
        /// The figure's name.
        figure: &'static str,
        /// What is wrong and what to do.
        why: String,
    },
    /// Nothing is left to measure.
    #[error("{0}")]
    Nothing(String),
}
