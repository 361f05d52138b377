//! What `cargo xtask ct --timing` runs on the bare CPU: dudect for the arms whose instructions valgrind can't run.
//!
//! Built without the marks of the gate, so that what is timed is what ships. `candor-ct run CASE` says which arm the case takes.
//!
//! ```text
//! candor-timing list               name, expectation (same, leak, null), whether this CPU can run it; fields separated by tabs
//! candor-timing run CASE SECONDS   how many measurements; of a fixed secret beside random ones t of means and variances, the difference of the
//!                                  means and the smallest that would be found; of zero t of means and the difference; the median time; the
//!                                  verdict. Differences and times are in cycles
//! ```

mod cases;
mod controls;
mod keys;
mod low;
mod measure;
mod statistics;

use candor_cpu::Cpu;
use low::ticks;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => {
            list();
            Ok(())
        }
        ["run", name, seconds] => seconds
            .parse()
            .map_err(|_| format!("`{seconds}` is no number of seconds"))
            .and_then(|seconds| run(name, Duration::from_secs(seconds))),
        _ => Err("expected `list` or `run CASE SECONDS`".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("candor-timing: {why}");
            ExitCode::from(2)
        }
    }
}

fn list() {
    for case in cases::ALL {
        let can = ticks::AVAILABLE && Cpu::named(case.tier).is_ok();
        println!("{}\t{}\t{}", case.name, case.expect.name(), if can { "yes" } else { "no" });
    }
}

fn run(name: &str, duration: Duration) -> Result<(), String> {
    let case = cases::ALL.iter().find(|case| case.name == name).ok_or_else(|| format!("unknown case {name}"))?;
    let cpu = Cpu::named(case.tier).map_err(|error| error.to_string())?;
    let mut work = case.make(cpu);
    let times = measure::measure(&mut work, case.secret, case.expect.classes(), duration);
    let found = statistics::Found::new(times, ticks::cycles_per_tick());
    let (fixed, zero) = (found.fixed, found.zero);
    println!(
        "{}\t{:.2}\t{:.2}\t{:.3}\t{:.3}\t{:.2}\t{:.3}\t{:.0}\t{}",
        found.count,
        fixed.t[0],
        fixed.t[1],
        fixed.difference,
        fixed.resolvable,
        zero.t[0],
        zero.difference,
        fixed.median,
        found.verdict().name()
    );
    Ok(())
}
