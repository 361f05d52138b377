//! The commands, one module each.

mod arms;
mod doctor;
mod explain;
mod list;
mod onion;
mod opaque;
mod report;
mod rerun;
mod run;
mod self_test;
mod smoke;
mod tour;
mod worker;

use crate::Failure;
use crate::cli::{Arguments, Command};
use crate::output::{Talk, print};
use clap::CommandFactory;

pub(crate) fn execute(arguments: Arguments) -> Result<(), Failure> {
    let talk = Talk { quiet: arguments.quiet, verbose: arguments.verbose };
    match arguments.command {
        None => tour::execute(talk),
        Some(Command::Run(run)) => run::execute(run, talk),
        Some(Command::Report(report)) => report::execute(report, talk),
        Some(Command::Rerun(rerun)) => rerun::execute(rerun, talk),
        Some(Command::List { what, format }) => list::execute(what, format),
        Some(Command::Explain { name }) => explain::execute(&name),
        Some(Command::Doctor(doctor)) => doctor::execute(doctor, talk),
        Some(Command::Onion(command)) => onion::execute(command, talk),
        Some(Command::Opaque(command)) => opaque::execute(command),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "candor", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Some(Command::Man) => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
            print(&String::from_utf8_lossy(&page))
        }
        Some(Command::Worker) => worker::execute(),
    }
}
