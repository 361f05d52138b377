//! The command line of candor. `candor --help` is its documentation; the README has a tour.
//!
//! Data goes to stdout, talk to stderr. Exit status: 0 done, 1 the asked-for condition failed, 2 error, 3 can't tell
//! under `--require-verdict`.

mod choose;
mod cli;
mod commands;
mod config;
mod layout;
mod measure;
mod output;
mod progress;

use clap::Parser;
use std::process::ExitCode;

/// How a command ended, other than well.
pub(crate) enum Failure {
    /// The asked-for condition failed: exit 1.
    Condition(String),
    /// Something is wrong: exit 2.
    Error(String),
    /// The evidence does not carry a verdict and one was required: exit 3.
    CantTell(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(error.to_string())
    }
}

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    let prepared = candor_cpu_default().and_then(|()| candor_subjects::load_user_plans().map_err(Failure::Error));
    let outcome = match prepared {
        Ok(()) => commands::execute(arguments),
        Err(failure) => Err(failure),
    };
    let (status, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Condition(message)) => (1, message),
        Err(Failure::Error(message)) => (2, message),
        Err(Failure::CantTell(message)) => (3, message),
    };
    eprintln!("candor: {message}");
    ExitCode::from(status)
}

/// `CANDOR_CPU` sets the tier that objects take by default. A tier that this CPU can't run is an error, never a silent
/// fallback.
fn candor_cpu_default() -> Result<(), Failure> {
    match std::env::var("CANDOR_CPU") {
        Ok(name) => {
            let cpu =
                candor_cpu::Cpu::named(&name).map_err(|error| Failure::Error(format!("CANDOR_CPU={name}: {error}")))?;
            cpu.set_default();
            Ok(())
        }
        Err(std::env::VarError::NotPresent) => Ok(()),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::Error("CANDOR_CPU is not text".into())),
    }
}
