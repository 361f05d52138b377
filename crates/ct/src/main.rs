//! What `cargo xtask ct` runs under valgrind, or on the bare CPU if valgrind can't: one case a process.
//!
//! A case marks its secrets as undefined, runs the product on them, and marks as defined what the product publishes.
//! memcheck reports each branch and each address that depends on undefined bytes: a leak through time. The program prints which
//! arms ran, so that the gate can tell whether it checked what it meant to check.
//!
//! ```text
//! candor-ct list          one case a line, fields separated by tabs: see [`case::Case::line`]
//! candor-ct run CASE      run it; the last line is `done`
//! candor-ct arms          all arms that the cases take on any tier of this CPU: routine and arm, separated by a tab; not under valgrind
//! ```

mod case;
mod cases;
mod low;

use candor_cpu::{Cpu, secret};
use case::Case;
use std::collections::BTreeSet;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => {
            cases::all().for_each(|case| println!("{}", case.line()));
            ExitCode::SUCCESS
        }
        ["run", name] => match cases::all().find(|case| case.name == name) {
            Some(case) => run(case),
            None => usage(&format!("unknown case {name}")),
        },
        ["arms"] => {
            arms().into_iter().for_each(|(routine, arm)| println!("{routine}\t{arm}"));
            ExitCode::SUCCESS
        }
        _ => usage("expected `list`, `arms` or `run CASE`"),
    }
}

fn run(case: &Case) -> ExitCode {
    let Some(cpu) = low::force::tier(case.tier) else {
        return usage(&format!("unknown tier {}", case.tier));
    };
    println!("valgrind\t{}", if secret::under_valgrind() { "yes" } else { "no" });
    secret::reset();
    (case.run)(cpu);
    for (routine, arm) in secret::arms() {
        println!("arm\t{routine}\t{arm}");
    }
    for function in secret::taken() {
        println!("took\t{function}");
    }
    for (why, was_secret) in secret::publications() {
        println!("published\t{why}\t{}", if was_secret { "secret" } else { "public" });
    }
    println!("errors\t{}", secret::errors());
    println!("done");
    ExitCode::SUCCESS
}

/// The work of every case on every tier, whatever tier the case itself forces: no arm that a routine can choose here is left out.
fn arms() -> BTreeSet<(&'static str, &'static str)> {
    let tiers = Cpu::tiers().filter_map(|tier| Cpu::named(tier.name).ok()).chain([Cpu::host()]);
    let cases = || cases::all().filter(|case| !case.name.starts_with("control/"));
    let runs = tiers.flat_map(|cpu| cases().map(move |case| (cpu, case.run)));
    runs.flat_map(|(cpu, run)| {
        secret::reset();
        run(cpu);
        secret::arms()
    })
    .collect()
}

fn usage(what: &str) -> ExitCode {
    eprintln!("candor-ct: {what}");
    ExitCode::from(2)
}
