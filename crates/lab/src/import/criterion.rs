//! Criterion: the folder that it writes (`target/criterion`), where each benchmark has `new/benchmark.json` and `new/estimates.json`; or the messages of `cargo criterion
//! --message-format json`, a line of JSON each.

use super::value::{Positive, Reading, flaw_of, json, lines, shown, time};
use super::{Format, LARGEST, MOST_FIGURES, Sheet, flawed};
use crate::runfile::Flaw;
use crate::{LabError, Quantity};
use serde::Deserialize;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Folders deeper than this are not searched: a benchmark's name has three parts.
const DEEPEST: usize = 8;

/// So many entries of folders are looked at before a benchmark must have been found, and so many more for each one. A benchmark has some thirty.
const LOOKED_AT: usize = 20_000;
const LOOKED_AT_EACH: usize = 100;

/// A message of cargo-criterion. Others have another reason.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    measured_values: Vec<f64>,
    #[serde(default)]
    throughput: Vec<PerIteration>,
    mean: Option<Typical>,
    median: Option<Typical>,
}

#[derive(Deserialize)]
struct PerIteration {
    per_iteration: u64,
    unit: String,
}

#[derive(Deserialize)]
struct Typical {
    estimate: Positive,
    lower_bound: Positive,
    upper_bound: Positive,
    unit: String,
}

/// `benchmark.json`.
#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
    #[serde(default)]
    throughput: Option<Throughput>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Throughput {
    Bytes {
        #[serde(rename = "Bytes", alias = "BytesDecimal")]
        bytes: u64,
    },
    Other(serde::de::IgnoredAny),
}

/// `estimates.json`, in nanoseconds.
#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: Positive,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: Positive,
    upper_bound: Positive,
}

/// An estimate and its bounds, in nanoseconds.
struct Found {
    ns: f64,
    low: f64,
    high: f64,
}

impl Found {
    /// Criterion's intervals contain their estimates.
    fn is_ordered(&self) -> bool {
        self.low <= self.ns && self.ns <= self.high
    }
}

pub(super) fn messages(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "criterion".into();
    for (line, text) in lines(text)?.filter(|(_, text)| !text.is_empty()) {
        let message: Message = serde_json::from_str(text).map_err(|error| flaw_of(&error, "cargo-criterion", line))?;
        if message.reason != "benchmark-complete" {
            continue;
        }
        let at = |why: String| Flaw { line, why };
        let found = |typical: Option<Typical>, what: &str| {
            let typical = typical.ok_or_else(|| at(format!("no {what}")))?;
            match typical.unit.as_str() {
                "ns" => Ok(Found { ns: typical.estimate.0, low: typical.lower_bound.0, high: typical.upper_bound.0 }),
                unit => Err(at(format!("the {what} is in {unit:?}; expected ns"))),
            }
        };
        let (median, mean) = (found(message.median, "median")?, found(message.mean, "mean")?);
        let bytes = message.throughput.iter().find(|per| per.unit == "bytes").map(|per| per.per_iteration);
        let samples = Quantity::count("samples", message.measured_values.len(), "times");
        add(reading, line, &message.id, bytes, [median, mean], Some(samples).filter(|samples| samples.value > 0.0))?;
    }
    Ok(())
}

/// The two files of one benchmark.
fn benchmark(benchmark: &str, estimates: &str, reading: &mut Reading) -> Result<(), Flaw> {
    let Benchmark { full_id, throughput } = json(benchmark, "criterion")?;
    let Estimates { mean, median } = json(estimates, "criterion")?;
    let found = |estimate: Estimate| Found {
        ns: estimate.point_estimate.0,
        low: estimate.confidence_interval.lower_bound.0,
        high: estimate.confidence_interval.upper_bound.0,
    };
    let bytes = match throughput {
        Some(Throughput::Bytes { bytes }) => Some(bytes).filter(|&bytes| bytes > 0),
        Some(Throughput::Other(_)) | None => None,
    };
    add(reading, 1, &full_id, bytes, [found(median), found(mean)], None)
}

fn add(
    reading: &mut Reading,
    line: usize,
    name: &str,
    bytes: Option<u64>,
    [median, mean]: [Found; 2],
    samples: Option<Quantity>,
) -> Result<(), Flaw> {
    for (found, what) in [(&median, "median"), (&mean, "mean")] {
        if !found.is_ordered() {
            let [ns, low, high] = [found.ns, found.low, found.high].map(shown);
            return Err(Flaw {
                line,
                why: format!("the {what} of {name} is {ns}, outside of its own interval from {low} to {high}"),
            });
        }
    }
    let mut quantities = vec![
        time("time, median", median.ns),
        time("its interval from", median.low),
        time("its interval to", median.high),
        time("time, mean", mean.ns),
    ];
    quantities.extend(samples);
    reading.add(line, name, bytes, quantities)
}

/// Criterion's folder of results.
#[derive(Clone, Copy, Debug)]
pub struct Folder;

impl Folder {
    /// Reads all benchmarks below a folder, in the order of their paths: of each `benchmark.json`, then `estimates.json`. Returns the bytes of all these files, too, one after
    /// another.
    ///
    /// # Errors
    ///
    /// [`LabError::Import`] names the file, the line and what is wrong.
    pub fn read(folder: &Path) -> Result<(Sheet, Vec<u8>), LabError> {
        let mut found = Vec::new();
        search(folder, DEEPEST, &mut 0, &mut found)?;
        found.sort();
        let mut reading = Reading::new(Format::Criterion);
        reading.sheet.library = "criterion".into();
        let mut bytes = Vec::new();
        for estimates in found {
            let name = text(&estimates.with_file_name("benchmark.json"), &mut bytes)?;
            let numbers = text(&estimates, &mut bytes)?;
            benchmark(&name, &numbers, &mut reading).map_err(|flaw| flawed(&estimates, flaw))?;
        }
        let sheet = reading.finish(1).map_err(|flaw| flawed(folder, flaw))?;
        Ok((sheet, bytes))
    }
}

/// The text of a file, which is added to the bytes of those before it. Together they may be no larger than any other import.
fn text(path: &Path, bytes: &mut Vec<u8>) -> Result<String, LabError> {
    let io = |source| LabError::Io { doing: "can't read", path: path.to_path_buf(), source };
    let at = |why: String| flawed(path, Flaw { line: 1, why });
    let before = bytes.len();
    let most = (LARGEST - before) as u64;
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(bytes)).map_err(io)?;
    if bytes.len() > LARGEST {
        return Err(at(format!("with the files before it over {LARGEST} bytes; no more than that are read")));
    }
    let text = std::str::from_utf8(&bytes[before..]);
    text.map(str::to_owned).map_err(|_| at("expected text, found binary data".into()))
}

/// Collects the files `new/estimates.json`. The older results, in `base`, are another run's. Links are not followed.
fn search(folder: &Path, depth: usize, looked_at: &mut usize, found: &mut Vec<PathBuf>) -> Result<(), LabError> {
    let io = |source| LabError::Io { doing: "can't read", path: folder.to_path_buf(), source };
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = entry.path();
        *looked_at += 1;
        if *looked_at > LOOKED_AT + LOOKED_AT_EACH * found.len() {
            let found = found.len();
            let why = format!(
                "{looked_at} files and folders, and {found} benchmarks; expected criterion's own folder, such as target/criterion"
            );
            return Err(flawed(folder, Flaw { line: 1, why }));
        }
        if !entry.file_type().map_err(io)?.is_dir() || found.len() > MOST_FIGURES {
            continue;
        }
        let estimates = path.join("estimates.json");
        if entry.file_name() == "new" && estimates.is_file() {
            found.push(estimates);
        } else if depth > 0 {
            search(&path, depth - 1, looked_at, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody who names a home folder, or a whole disk, waits for an answer.
    #[test]
    fn a_folder_that_is_not_criterions_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        for folder in 0..21 {
            let folder = directory.path().join(format!("{folder:03}"));
            fs::create_dir(&folder).unwrap();
            (0..1000).for_each(|file| drop(File::create(folder.join(file.to_string())).unwrap()));
        }
        let why = Folder::read(directory.path()).unwrap_err().to_string();
        assert!(why.contains("20001 files and folders, and 0 benchmarks; expected criterion's own folder"), "{why}");
        // Few others beside the benchmarks don't matter.
        (1..21).for_each(|folder| fs::remove_dir_all(directory.path().join(format!("{folder:03}"))).unwrap());
        let benchmark = directory.path().join("criterion/sum/new");
        fs::create_dir_all(&benchmark).unwrap();
        fs::write(benchmark.join("benchmark.json"), r#"{"full_id":"sum"}"#).unwrap();
        let estimate = r#"{"point_estimate":2.5,"confidence_interval":{"lower_bound":2.0,"upper_bound":3.0}}"#;
        fs::write(benchmark.join("estimates.json"), format!("{{\"mean\":{estimate},\"median\":{estimate}}}")).unwrap();
        assert_eq!(Folder::read(directory.path()).unwrap().0.figures.len(), 1);
    }
}
