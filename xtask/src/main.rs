//! The workshop: everything that is done *to* candor rather than *by* it, as `cargo xtask COMMAND`.
//!
//! One file a command. Exit 0: all is well. 1: a check failed. 2: the command itself could not be understood or done.

mod bars;
mod check;
mod ct;
mod differential;
mod gate;
mod install;
mod mutants;
mod peers;
mod qemu;
mod stage;
mod structure;
mod tally;
mod tune;
mod vectors;
mod workspace;

use std::process::ExitCode;
use workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND

  check                 the inner loop, under a minute when warm: formatting, clippy, structure, the libraries' unit tests
                          cargo xtask check
  test                  the gate: everything that must hold before a change lands. On Debian as root it installs what it
                        needs. The last line is `N passed, N failed, N skipped`; the lines above it say what was skipped and why
                          cargo xtask test
  structure             the house: which crate may use which, where `unsafe` may stand, file sizes and names, a reason beside
                        each dependency, docs at the head of each crate
                          cargo xtask structure
  vectors               the test vectors: each has its source, its licence and the checksum that is written beside it
                          cargo xtask vectors
  ct [FILTER]           the release binary under valgrind with secrets poisoned; FILTER is a part of a case's name
                          cargo xtask ct ml-kem
  mutants [WORD]        makes each small mistake of xtask/mutants.toml in a copy of the tree; its test must fail. WORD is a part of
                        a mistake's description or file
                          cargo xtask mutants reduce.rs
  qemu                  the kernels of binary polynomials on emulated AArch64 and RISC-V processors; on Debian as root it installs
                        the emulators, the cross compilers and a second Rust
                          cargo xtask qemu
  bars [--issue N] [RUN.jsonl…]
                        each bar of bars.toml beside what was found: met, missed, can't tell, not measured.
                        Without a file it reads runs/*.jsonl; a .json file is taken as the output of `candor report`
                          cargo xtask bars --issue 7 candor-runs/2026-11-21-zen3-3f9c1a.jsonl
  peers NAME…           other people's programs that no package manager has ready, built into target/peers: gf2x (gf2x tuned on
                        this machine, and NTL on it: libraries that subjects load), liboqs and openssl-4 (others), tor (C tor's bench
                        program, whose figures candor report sets beside a run)
                          cargo xtask peers gf2x
  differential gf2 [OPTION…]
                        binary polynomials and fields on every arm of this CPU against gf2x and NTL (peers gf2x), bit for bit, with the
                        number of comparisons; `--seed N`, `--random N`
                          cargo xtask differential gf2
  tune gf2 [OPTION…]    which scheme multiplies binary polynomials of which length best on this machine (some minutes); `-o FILE` for
                        the table, `--tier NAME` for another arm than the best, `--most WORDS`. candor loads
                        ~/.config/candor/gf2-ARM.plan
                          cargo xtask tune gf2 -o ~/.config/candor/gf2-avx512.plan
  help                  this text

Exit status: 0 all is well, 1 a check failed, 2 the command could not be understood or done.
";

/// Why a command could not be done at all (as against: it was done, and a check failed).
pub(crate) type Failure = String;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::from(2)
        }
    }
}

/// `Ok(true)` when all is well, `Ok(false)` when a check failed, an error when the command could not be done.
fn dispatch(words: &[String]) -> Result<bool, Failure> {
    let (command, rest) = match words.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", words),
    };
    if matches!(command, "help" | "-h" | "--help") || rest.iter().any(|word| word == "-h" || word == "--help") {
        print!("{HELP}");
        return Ok(true);
    }
    match command {
        "check" => no_more(command, rest).and_then(|()| check::run()),
        "test" => no_more(command, rest).and_then(|()| gate::run()),
        "structure" => no_more(command, rest).and_then(|()| structure::run()),
        "vectors" => no_more(command, rest).and_then(|()| check_vectors()),
        "ct" => check_constant_time(rest),
        "mutants" => match rest {
            [] => mutants::run(None),
            [word, more @ ..] => no_more(command, more).and_then(|()| mutants::run(Some(word))),
        },
        "qemu" => no_more(command, rest).and_then(|()| qemu::run(&Workspace::here()?)).map(|tally| tally.failed == 0),
        "bars" => bars::run(rest),
        "peers" => peers::run(rest),
        "differential" => differential::run(rest),
        "tune" => tune::run(rest),
        other => Err(format!("there is no command `{other}`; `cargo xtask help` lists them")),
    }
}

fn check_vectors() -> Result<bool, Failure> {
    match vectors::check(&Workspace::here()?.root) {
        Ok(count) => println!("vectors: {count} files, each with its source, its licence and the right checksum"),
        Err(why) => {
            println!("{why}");
            return Ok(false);
        }
    }
    Ok(true)
}

fn check_constant_time(rest: &[String]) -> Result<bool, Failure> {
    let (filter, more) = match rest.split_first() {
        Some((filter, more)) => (Some(filter.as_str()), more),
        None => (None, rest),
    };
    if let Some(option) = filter.filter(|filter| filter.starts_with('-')) {
        return Err(format!("`ct` has no option `{option}`; it takes a part of a case's name"));
    }
    no_more("ct", more)?;
    Ok(ct::run(&Workspace::here()?.root, filter)?.failed == 0)
}

fn no_more(command: &str, rest: &[String]) -> Result<(), Failure> {
    match rest.first() {
        None => Ok(()),
        Some(word) => Err(format!("`{command}` takes no more words, but `{word}` was given; see `cargo xtask help`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn an_unknown_command_is_named_and_help_is_pointed_to() {
        let why = dispatch(&words("tset")).unwrap_err();
        assert!(why.contains("`tset`") && why.contains("help"), "{why}");
    }

    #[test]
    fn a_superfluous_argument_is_refused() {
        assert!(dispatch(&words("structure now")).unwrap_err().contains("`now`"));
    }

    #[test]
    fn help_has_an_example_of_each_command() {
        let commands =
            ["check", "test", "structure", "vectors", "ct", "mutants", "qemu", "bars", "peers", "differential", "tune"];
        for command in commands {
            assert!(HELP.contains(&format!("cargo xtask {command}")), "no example of {command}");
        }
    }
}
