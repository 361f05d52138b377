//! The command line of candor. `candor --help` documents it; the README gives a tour.
//!
//! Data goes to stdout, remarks to stderr. Exit status: 0 success, 1 the condition asked for does not hold, 2 error,
//! 3 a verdict was required and the evidence supports none.

mod choose;
mod cli;
mod commands;
mod config;
mod layout;
mod measure;
mod output;
mod progress;
mod published;
mod signature;

use clap::Parser;
use std::process::ExitCode;

/// Why a command did not succeed.
pub(crate) enum Failure {
    /// The condition asked for does not hold: exit 1.
    Condition(String),
    /// An error: exit 2.
    Error(String),
    /// A verdict was required and the evidence supports none: exit 3.
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
    // Mistakes read as clap's do; that something asked for does not hold is no mistake.
    let (status, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Condition(message)) => (1, format!("candor: {message}")),
        Err(Failure::Error(message)) => (2, format!("error: {message}")),
        Err(Failure::CantTell(message)) => (3, format!("candor: {message}")),
    };
    output::tell(&message);
    ExitCode::from(status)
}

/// Makes the tier named by `CANDOR_CPU` the default. A tier that this CPU can't run is an error; there is no silent fallback.
fn candor_cpu_default() -> Result<(), Failure> {
    match std::env::var("CANDOR_CPU") {
        Ok(name) => {
            let cpu =
                candor_cpu::Cpu::named(&name).map_err(|error| Failure::Error(format!("CANDOR_CPU={name}: {error}")))?;
            cpu.set_default();
            Ok(())
        }
        Err(std::env::VarError::NotPresent) => Ok(()),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::Error("CANDOR_CPU is not valid UTF-8".into())),
    }
}
