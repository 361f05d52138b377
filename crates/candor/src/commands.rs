//! One module a command.

mod doctor;
mod explain;
mod list;
mod onion;
mod report;
mod rerun;
mod run;
mod smoke;
mod tour;
mod worker;

use crate::Failure;
use crate::cli::{Arguments, Command};
use candor_lab::Task;
use candor_lab::runfile::Tool;
use candor_lab::session::Spawn;
use clap::CommandFactory;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C or SIGTERM: what has been measured by then is sealed.
static STOP: AtomicBool = AtomicBool::new(false);

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

/// How much to say on stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
}

impl Talk {
    fn say(self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }
}

/// Data to stdout. A reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Error(format!("can't write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Everything that a worker can be asked for: the tasks of the list, and those of the self-test.
fn all_tasks() -> Vec<Task> {
    with_self_test(candor_subjects::tasks())
}

/// `tasks`, and those of the self-test.
fn with_self_test(mut tasks: Vec<Task>) -> Vec<Task> {
    tasks.extend(candor_subjects::self_test::all().into_iter().map(|test| test.task));
    tasks
}

/// This very program as worker.
fn workers() -> Result<Spawn, Failure> {
    Ok(Spawn { program: std::env::current_exe()?, arguments: vec!["worker".into()] })
}

fn tool() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("CANDOR_COMMIT").map(str::to_owned),
        dirty: option_env!("CANDOR_DIRTY") == Some("true"),
        rustc: env!("CANDOR_RUSTC").into(),
        build: env!("CANDOR_BUILD").into(),
    }
}

/// The command line as typed, without the path of the program.
fn command_line() -> Vec<String> {
    std::iter::once("candor".to_owned()).chain(std::env::args().skip(1)).collect()
}

/// From now on Ctrl-C and SIGTERM stop a run in good order.
fn stop_in_good_order() -> Result<(), Failure> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Error(format!("can't take care of Ctrl-C: {error}")))
}
