//! `candor man` and `candor completions`: what is made from the definitions of the command line.

use crate::cli::Arguments;
use crate::output::{Talk, print};
use crate::{Failure, choose, published};
use candor_lab::lint::LINTS;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use std::fs;
use std::path::Path;

/// Prints a completion script that knows the names of all tasks of this build.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    // clap wants names that live for ever, and this process is about to end.
    let tasks: Vec<&'static str> = candor_subjects::tasks().into_iter().map(|task| &*task.name.leak()).collect();
    let names: Vec<&'static str> = choose::with_prefixes(tasks.into_iter()).into_iter().collect();
    let explained: Vec<&'static str> = names.iter().copied().chain(LINTS.iter().map(|lint| lint.name)).collect();
    let names: Vec<&'static str> = names.into_iter().chain(published::keys()).collect();
    let complete = |argument: &'static str, names: &[&'static str]| {
        let values = PossibleValuesParser::new(names.to_vec());
        move |command: Command| command.mut_arg(argument, |argument| argument.value_parser(values))
    };
    let mut command = Arguments::command()
        .mut_subcommand("run", complete("tasks", &names))
        .mut_subcommand("explain", complete("name", &explained));
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "candor", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    // clap leaves arguments without a flag out of fish's script.
    if shell == clap_complete::Shell::Fish {
        for (command, names) in [("run", &names), ("explain", &explained)] {
            let names = names.join(" ");
            script +=
                &format!("complete -c candor -n \"__fish_candor_using_subcommand {command}\" -f -a \"{names}\"\n");
        }
    }
    print(&script)
}

/// Prints the page of the command that these words name.
pub(crate) fn page(words: &[String]) -> Result<(), Failure> {
    let mut command = built();
    for word in words {
        let found = command.find_subcommand(word).cloned();
        command = found.ok_or_else(|| {
            let names = command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
            Failure::Error(choose::unknown("command", word, names, "candor --help"))
        })?;
    }
    print(&String::from_utf8_lossy(&rendered(command)?))
}

/// Writes the pages of all commands: `candor.1`, `candor-onion-relay.1`.
pub(crate) fn write_all(directory: &Path, talk: Talk) -> Result<(), Failure> {
    let cannot = |path: &Path, error| Failure::Error(format!("can't write {}: {error}", path.display()));
    fs::create_dir_all(directory).map_err(|error| cannot(directory, error))?;
    let mut left = vec![built()];
    let mut written = 0;
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|command| !command.is_hide_set()).cloned());
        let path = directory.join(format!("{}.1", name(&command)));
        fs::write(&path, rendered(command)?).map_err(|error| cannot(&path, error))?;
        written += 1;
    }
    talk.say(&format!("wrote {written} pages to {}", directory.display()));
    Ok(())
}

/// The definitions without clap's own `help`, with the names that their pages have.
fn built() -> Command {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    command
}

/// `candor-onion-relay`, as git and cargo name their pages.
fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn rendered(command: Command) -> Result<Vec<u8>, Failure> {
    let title = name(&command);
    let mut page = Vec::new();
    // Not the name and version of the subcommand, which clap would put there.
    let source = concat!("candor ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command).title(title).source(source).render(&mut page)?;
    Ok(page)
}
