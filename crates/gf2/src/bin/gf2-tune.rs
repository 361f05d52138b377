//! Measures plans on this machine and writes a table that [`candor_gf2::plan::load_user`] reads. In the repository: `cargo xtask tune gf2`.

use candor_cpu::Cpu;
use candor_gf2::{Multiplier, plan, tune};
use std::process::ExitCode;

const HELP: &str = "\
gf2-tune [--tier NAME] [--most WORDS] [--compiler TEXT] [--flags TEXT] [--date TEXT] [-o FILE]
  measures every scheme for each length up to WORDS (default 1280) on the arm of tier NAME (default: the one that this CPU takes),
  prints what it chose beside what the operation-count model would choose, and writes the table to FILE (default: stdout). Longer
  products keep the schemes of the shipped table
";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("gf2-tune: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let (mut cpu, mut most, mut file) = (Cpu::host(), plan::MOST_WORDS, None);
    let mut head = format!("cpu {}\n", cpu_name());
    while let Some(word) = words.next() {
        if word == "-h" || word == "--help" {
            print!("{HELP}");
            return Ok(());
        }
        let value = words.next().ok_or_else(|| format!("option `{word}` needs a value\n{HELP}"))?;
        match word.as_str() {
            "--tier" => cpu = Cpu::named(&value).map_err(|error| format!("--tier {value}: {error}"))?,
            "--most" => most = value.parse().map_err(|_| format!("--most is `{value}`; expected a number of words"))?,
            "--compiler" | "--flags" | "--date" => head += &format!("{} {}\n", &word[2..], one_line(&value)),
            "-o" => file = Some(value),
            _ => return Err(format!("unknown option `{word}`\n{HELP}")),
        }
    }
    eprintln!("arm {}: up to {most} words; progress every 64", Multiplier::with_cpu(cpu).arm());
    let mut choices = Vec::new();
    let plans = tune::tune(cpu, most, |choice| {
        if choice.words % 64 == 0 {
            eprintln!("  {} of {most} words", choice.words);
        }
        choices.push(choice);
    });
    eprintln!("{:>6} {:>12} {:18} {:>12} {:18} {:>8}", "words", "ns", "measured", "ns", "modelled", "ratio");
    for choice in choices {
        eprintln!(
            "{:>6} {:>12.1} {:18} {:>12.1} {:18} {:>8.3}",
            choice.words,
            choice.nanoseconds,
            choice.scheme.to_string(),
            choice.modelled_nanoseconds,
            choice.modelled.to_string(),
            choice.modelled_nanoseconds / choice.nanoseconds
        );
    }
    if most < plan::MOST_WORDS {
        head += &format!("note lengths above {most} words are those of the shipped table\n");
    }
    let text = tune::text(&plans, &head);
    match file {
        Some(path) => std::fs::write(&path, text).map_err(|error| format!("cannot write {path}: {error}")),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The CPU's name according to Linux.
fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |key: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == key))?;
        line.split_once(':').map(|(_, value)| one_line(value))
    };
    let name = field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    match (field("cpu family"), field("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}
