//! hyperfine's `--export-json`: whole commands, in seconds.

use super::value::{NotNegative, Positive, Reading, json, time};
use crate::Quantity;
use crate::runfile::Flaw;
use serde::Deserialize;

#[derive(Deserialize)]
struct Export {
    results: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    command: String,
    mean: Positive,
    median: Positive,
    /// Absent after a single run.
    #[serde(default)]
    stddev: Option<NotNegative>,
    min: Positive,
    max: Positive,
    #[serde(default)]
    times: Vec<Positive>,
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
}

pub(super) fn read(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "hyperfine".into();
    for command in json::<Export>(text, "hyperfine")?.results {
        let name = &command.command;
        if let Some(run) = command.exit_codes.iter().position(|code| *code != Some(0)) {
            let how = command.exit_codes[run].map_or("by a signal".into(), |code| format!("with status {code}"));
            reading.leave_out(name, format!("run {} ended {how}: what fails may end early", run + 1));
            continue;
        }
        let Positive(mean) = command.mean;
        if !(command.min.0..=command.max.0).contains(&mean) {
            let why = format!("{name}: the mean is {mean} s; expected one from {} to {}", command.min.0, command.max.0);
            return Err(Flaw { line: 1, why });
        }
        let mut quantities = vec![time("time, median", command.median.0 * 1e9), time("time, mean", mean * 1e9)];
        quantities.extend(
            command
                .stddev
                .map(|NotNegative(deviation)| time("standard deviation", deviation * 1e9))
                .filter(|q| q.value > 0.0),
        );
        if !command.times.is_empty() {
            quantities.push(Quantity::count("runs", command.times.len(), "times"));
        }
        reading.add(1, name, None, quantities)?;
    }
    Ok(())
}
