//! `cargo xtask differential gf2`: our binary polynomials and fields against gf2x and NTL, bit for bit.

use candor_subjects::differential::{Extent, Problem, gf2};
use std::process::ExitCode;

const HELP: &str = "\
gf2-differential [--stock] [--seed N] [--every N] [--longest N] [--random N]
  compares every arm of this CPU with gf2x and NTL, bit for bit: every length up to N words (--every, default 128), random lengths up to
  N words (--longest, default 1200), N random pairs, lengths and moduli (--random, default 2000), from the seed (default 1).
  --stock compares with any gf2x and NTL found, instead of insisting on the tuned ones.
  Exit 0: all agree; 1: two answers differ; 2: a library is missing
";

fn main() -> ExitCode {
    let extent = match extent(std::env::args().skip(1)) {
        Ok(Some(extent)) => extent,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("gf2-differential: {why}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match gf2(extent) {
        Ok(agreed) => {
            for line in &agreed {
                println!("{:>9}  {:<34} {:<16} {}", line.compared, line.what, line.ours, line.peer);
            }
            let all: u64 = agreed.iter().map(|line| line.compared).sum();
            println!("{all:>9}  in all, and all agree (seed {})", extent.seed);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("gf2-differential: {problem}");
            ExitCode::from(if matches!(problem, Problem::Missing(_)) { 2 } else { 1 })
        }
    }
}

/// What the words ask for; nothing where they ask for help.
fn extent(mut words: impl Iterator<Item = String>) -> Result<Option<Extent>, String> {
    let mut extent = Extent::default();
    while let Some(word) = words.next() {
        if word == "-h" || word == "--help" {
            return Ok(None);
        }
        if word == "--stock" {
            extent.stock = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("`{word}` needs a number"))?;
        let wrong = |_| format!("`{word}` needs a number, not `{value}`");
        match word.as_str() {
            "--seed" => extent.seed = value.parse().map_err(wrong)?,
            "--every" => extent.every = value.parse().map_err(wrong)?,
            "--longest" => extent.longest = value.parse().map_err(wrong)?,
            "--random" => extent.random = value.parse().map_err(wrong)?,
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    if extent.longest == 0 {
        return Err("`--longest` must be at least 1 word".to_owned());
    }
    Ok(Some(extent))
}
