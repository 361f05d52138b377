//! The commands, one module each.

mod arms;
mod circuit;
mod claims;
mod compare;
mod doctor;
mod explain;
mod files;
mod import;
mod list;
mod login;
mod manual;
mod onion;
mod opaque;
mod parent;
mod report;
mod rerun;
mod run;
mod self_test;
mod smoke;
mod sweep;
mod tour;
mod verify;
mod worker;

use crate::Failure;
use crate::cli::{Arguments, Command};
use crate::output::Talk;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) fn execute(arguments: Arguments) -> Result<(), Failure> {
    let talk = Talk { quiet: arguments.quiet, verbose: arguments.verbose };
    match arguments.command {
        None => tour::execute(talk),
        Some(Command::Run(run)) => run::execute(run, talk),
        Some(Command::Report(report)) => report::execute(report, talk),
        Some(Command::Import(arguments)) => import::execute(&arguments, talk),
        Some(Command::Compare(arguments)) => compare::execute(&arguments, talk),
        Some(Command::Rerun(rerun)) => rerun::execute(rerun, talk),
        Some(Command::Verify(verify)) => verify::execute(&verify, talk),
        Some(Command::Circuit(arguments)) => circuit::execute(&arguments, talk),
        Some(Command::Sweep(command)) => sweep::execute(&command, talk),
        Some(Command::List { what, words, format }) => list::execute(what, &words, format),
        Some(Command::Explain { name }) => explain::execute(&name),
        Some(Command::Doctor(doctor)) => doctor::execute(doctor, talk),
        Some(Command::Hash(arguments)) => files::hash::execute(&arguments, talk),
        Some(Command::Mac(arguments)) => files::mac::execute(&arguments, talk),
        Some(Command::Key(command)) => files::key::execute(&command, talk),
        Some(Command::Sign(arguments)) => files::sign::execute(&arguments, talk),
        Some(Command::Encrypt(arguments)) => files::encrypt::encrypt(&arguments, talk),
        Some(Command::Decrypt(arguments)) => files::encrypt::decrypt(&arguments, talk),
        Some(Command::Onion(command)) => onion::execute(command, talk),
        Some(Command::Login(command)) => login::execute(command, talk),
        Some(Command::Opaque(command)) => opaque::execute(command),
        Some(Command::Completions { shell }) => manual::completions(shell),
        Some(Command::Man { all: Some(directory), .. }) => manual::write_all(&directory, talk),
        Some(Command::Man { command, all: None }) => manual::page(&command),
        Some(Command::Worker { peer_program }) => worker::execute(&peer_program),
    }
}

fn runtime() -> Result<Runtime, Failure> {
    Runtime::new().map_err(|error| Failure::Error(format!("can't start threads: {error}")))
}

/// Waits for Ctrl-C or SIGTERM.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn new() -> Result<Self, Failure> {
        let take = |kind| {
            signal(kind)
                .map_err(|error| Failure::Error(format!("can't install a handler for Ctrl-C and SIGTERM: {error}")))
        };
        Ok(Self { interrupt: take(SignalKind::interrupt())?, terminate: take(SignalKind::terminate())? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
