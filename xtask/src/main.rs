//! The workshop: everything that is done *to* candor rather than *by* it, as `cargo xtask COMMAND`.
//!
//! One file a command. Exit 0: all is well. 1: a check failed. 2: the command itself could not be understood or done.

mod bars;
mod book;
mod budget;
mod check;
mod columns;
mod ct;
mod deny;
mod differential;
mod emulate;
mod gate;
mod install;
mod msrv;
mod mutants;
mod peers;
mod portable;
mod published;
mod qemu;
mod residue;
mod results;
mod skyfield;
mod slurm;
mod stage;
mod structure;
mod tally;
mod tune;
mod unpacked;
mod vectors;
mod wasm;
mod workspace;

use std::process::ExitCode;
use workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND

  check [--since REV]   the inner loop: formatting, structure, clippy, and the tests of what changed since REV. Without --since that is the
                        uncommitted changes or, in a clean tree, the last commit. A minute or so when warm
                          cargo xtask check --since trunk
  test [STAGE]          the gate: everything that must hold before a change lands. On Debian as root it installs what it needs. The last
                        line is `N passed, N failed, N skipped`; the lines above it say what was skipped and why, and how long each
                        stage took. STAGE is part of a stage's name; other stages are left out
                          cargo xtask test smoke
  structure             which crate may use which, where `unsafe` may stand, file sizes and names, a reason beside each dependency, docs at
                        the head of each crate, no host names of package registries, no absolute paths of one machine, links that lead somewhere
                          cargo xtask structure
  deny                  licences, duplicate versions, banned packages and sources, by the rules of deny.toml; advisories too, if cargo-deny and a
                        copy of RustSec's database are on this machine
                          cargo xtask deny
  vectors               the test vectors: each has its source, its licence and its checksum beside it
                          cargo xtask vectors
  ct [--write | CASE]   runs the release binary under valgrind with secrets poisoned, and reads its kernels. CASE is part of a case's name;
                        --write brings the table of arms in SOUNDNESS.md up to date
                          cargo xtask ct ml-kem
  ct --timing [--seconds N] [--write | CASE]
                        times what valgrind can't run, on secrets of two kinds (dudect), N seconds a case, 20 if not said. On a quiet machine
                        only. --write puts the table into SOUNDNESS.md
                          cargo xtask ct --timing --write
  residue [FILTER]      looks for secrets on the stack and in freed memory after each operation, in the release build
                          cargo xtask residue layer/
  mutants [WORD…]       makes each small mistake listed in xtask/mutants.toml in a copy of the tree; its test must then fail, or not end: it is
                        stopped after a minute and ten times what it takes without the mistake. A WORD is part of a mistake's
                        description or file; of several, one is enough
                          cargo xtask mutants reduce.rs CGO:
  qemu [--tests]        runs the kernels for binary polynomials on emulated AArch64 and RISC-V processors. On Debian as root it installs the
                        emulators, the cross compilers and a second Rust. --tests runs the tests of primitives and opaque on AArch64 instead
                          cargo xtask qemu --tests
  emulate [TEST…]       runs tests on an emulated x86-64 processor with AVX-512 and GFNI, and proves each arm that valgrind can't run, with a
                        control without the instructions. TEST is CRATE/FILE or CRATE/FILE/PART-OF-A-NAME; all that have such arms if
                        there is none. On Debian as root it installs the emulator. A quarter of an hour or more
                          cargo xtask emulate primitives/sm4
  bars [--write | --issue N] [RUN.jsonl…]
                        sets each bar of bars.toml beside what was found: met, missed, can't tell, not measured. Without a file it reads
                        runs/*.jsonl; a .json file is taken as the output of `candor report`. --write puts the table into runs/README.md
                          cargo xtask bars --issue 7 candor-runs/2026-11-21-zen3-3f9c1a.jsonl
  results [--write]     what the runs of runs/ say of candor beside each peer, on each kind of CPU, as Markdown. --write puts it into docs/results.md and
                        draws the pictures of docs/pictures again
                          cargo xtask results --write
  book                  makes web pages of docs/ and of the repository's other documents, with mdBook
                          cargo xtask book
  build-budget [--check]
                        builds candor cold in release, with the dependencies that the login server and the monitor will bring, and compares
                        the time with the bar of six minutes. --check only looks whether the packages resolve
                          cargo xtask build-budget
  peers [--check] NAME… builds other people's programs that no package manager has ready into target/peers: gf2x (tuned on this machine, with
                        NTL on top of it), liboqs, openssl-4, tor (C tor's bench program) and others. `all` builds every one, and names at the
                        end those that can't be built. --check goes through the recipes without compiling: fetch, verify, unpack, configure
                          cargo xtask peers all
  differential gf2 [OPTION…]
                        compares binary polynomials and fields on every arm of this CPU with gf2x and NTL (see peers gf2x), bit for bit. The
                        gate runs it with Debian's packages at small sizes. Options: --stock, --seed N, --every N, --longest N, --random N
                          cargo xtask differential gf2
  tune arms [RUN.jsonl…]
                        writes into crates/cpu/arms.table which arm each routine takes on the CPU of these sealed runs. Without RUN it measures
                        all arms here first, some four minutes on a quiet machine, and puts the run into runs/. `--check` writes nothing: it
                        derives the rows again from the runs that they name
                          cargo xtask tune arms
  tune gf2 [OPTION…]    finds the fastest scheme for binary polynomials of each length on this machine; takes some minutes. -o FILE for the
                        table, --tier NAME for an arm other than the best, --most WORDS. candor loads ~/.config/candor/gf2-ARM.plan
                          cargo xtask tune gf2 -o ~/.config/candor/gf2-avx512.plan
  package               packs every published crate as a registry would get it, judges what is in it, and builds and runs the examples of
                        its README in a project that has only the packages
                          cargo xtask package
  docs [CRATE]          builds the documentation of each published crate with its default features, with all and with none, warnings denied
                          cargo xtask docs opaque
  portable [TARGET]     compiles cpu, primitives, gf2, onion and opaque for thumbv7em-none-eabi, wasm32-unknown-unknown and
                        aarch64-unknown-linux-gnu with warnings denied; rustup fetches the targets. The gate compiles the first
                          cargo xtask portable wasm32
  wasm                  compiles a registration and a login by OPAQUE's hybrid to WebAssembly and runs them in node. Then builds the npm package of
                        web/ in target/web/opaque, holds it to its size, and tests it in node and in Chromium, against the release build's server
                          cargo xtask wasm
  wasm bench            measures Argon2id beside hash-wasm, and a login without key stretching, in Chromium. On a quiet machine only
                          cargo xtask wasm bench
  slurm                 unpacks Debian's Slurm below target, starts a controller and two nodes on this machine, and runs a sweep as a job array; takes
                        a minute or two. Not in the gate
                          cargo xtask slurm
  publish --dry-run     the order in which the crates go out, once each is packed and fit. Publishing itself is left to a person
                          cargo xtask publish --dry-run
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
        "check" => check::run(rest),
        "test" => match rest {
            [] => gate::run(None),
            [word, more @ ..] => no_more(command, more).and_then(|()| gate::run(Some(word))),
        },
        "structure" => no_more(command, rest).and_then(|()| structure::run()),
        "vectors" => no_more(command, rest).and_then(|()| check_vectors()),
        "residue" => {
            let (filter, more) =
                rest.split_first().map_or((None, rest), |(filter, more)| (Some(filter.as_str()), more));
            no_more(command, more)?;
            Ok(residue::run(&Workspace::here()?, filter)?.failed == 0)
        }
        "ct" => ct::command(rest),
        "mutants" => mutants::run(rest),
        "qemu" => match rest {
            [word, more @ ..] if word == "--tests" => {
                no_more(command, more)?;
                Ok(qemu::product_tests::run(&Workspace::here()?).failed == 0)
            }
            _ => no_more(command, rest).and_then(|()| qemu::run(&Workspace::here()?)).map(|tally| tally.failed == 0),
        },
        "emulate" => emulate::run(rest),
        "bars" => bars::run(rest),
        "results" => results::run(rest),
        "book" => no_more(command, rest).and_then(|()| book::run()),
        "build-budget" => budget::run(rest),
        "deny" => no_more(command, rest).and_then(|()| deny::run()),
        "peers" => peers::run(rest),
        "differential" => differential::run(rest),
        "tune" => tune::run(rest),
        "portable" => portable::run(rest),
        "slurm" => no_more(command, rest).and_then(|()| slurm::run(&Workspace::here()?)),
        "wasm" => Workspace::here().and_then(|workspace| wasm::run(&workspace, rest)),
        "docs" => published::docs(rest),
        "package" => published::package(rest),
        "publish" => published::publish(rest),
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
        let commands = [
            "check",
            "test",
            "structure",
            "deny",
            "vectors",
            "ct",
            "residue",
            "mutants",
            "qemu",
            "emulate",
            "bars",
            "results",
            "book",
            "build-budget",
            "peers",
            "differential",
            "tune",
            "package",
            "portable",
            "docs",
            "publish",
        ];
        for command in commands {
            assert!(HELP.contains(&format!("cargo xtask {command}")), "no example of {command}");
        }
    }
}
