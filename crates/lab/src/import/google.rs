//! Google Benchmark's `--benchmark_format=json`. Repetitions of a benchmark make one figure, whose time is their median.

use super::value::{NotNegative, Positive, Reading, json, median, time};
use crate::Quantity;
use crate::runfile::Flaw;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    context: Context,
    benchmarks: Vec<Benchmark>,
}

#[derive(Default, Deserialize)]
struct Context {
    #[serde(default)]
    library_version: Option<String>,
    #[serde(default)]
    library_build_type: Option<String>,
    #[serde(default)]
    cpu_scaling_enabled: Option<bool>,
}

#[derive(Deserialize)]
struct Benchmark {
    name: String,
    #[serde(default)]
    run_name: Option<String>,
    #[serde(default)]
    run_type: Option<String>,
    #[serde(default)]
    aggregate_name: Option<String>,
    #[serde(default)]
    aggregate_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    error_message: Option<String>,
    #[serde(default)]
    iterations: Option<Positive>,
    /// Zero where the benchmark failed, a share where it is a coefficient of variation.
    #[serde(default)]
    real_time: Option<f64>,
    #[serde(default)]
    cpu_time: Option<NotNegative>,
    #[serde(default)]
    time_unit: Option<String>,
    #[serde(default)]
    bytes_per_second: Option<Positive>,
}

/// What is known of one name.
#[derive(Default)]
struct Times {
    real: Vec<f64>,
    cpu: Vec<f64>,
    iterations: f64,
    bytes_per_second: Vec<f64>,
    /// Where only aggregates were printed: their median, and their deviation.
    median: Option<f64>,
    deviation: Option<f64>,
}

pub(super) fn read(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    let output: Output = json(text, "Google Benchmark")?;
    reading.sheet.library = "google-benchmark".into();
    reading.sheet.version = output.context.library_version.unwrap_or_default();
    let built = output.context.library_build_type.map(|how| format!("its library is a {how} build"));
    let scaled = (output.context.cpu_scaling_enabled == Some(true)).then(|| "frequency scaling was on".to_owned());
    let told: Vec<String> = built.into_iter().chain(scaled).collect();
    reading.sheet.build = (!told.is_empty()).then(|| told.join("; "));

    let mut order: Vec<String> = Vec::new();
    let mut all: BTreeMap<String, Times> = BTreeMap::new();
    let mut failed = BTreeSet::new();
    for one in output.benchmarks {
        let name = one.run_name.clone().unwrap_or_else(|| one.name.clone());
        if one.error_occurred {
            let why = one.error_message.unwrap_or_else(|| "no reason given".into());
            reading.leave_out(&name, format!("the benchmark says: {why}"));
            failed.insert(name);
            continue;
        }
        let aggregate =
            (one.run_type.as_deref() == Some("aggregate")).then(|| one.aggregate_name.clone().unwrap_or_default());
        if aggregate.as_deref().is_some_and(|name| !matches!(name, "median" | "stddev"))
            || one.aggregate_unit.as_deref() == Some("percentage")
        {
            continue;
        }
        let flaw = |why: String| Flaw { line: 1, why: format!("{name}: {why}") };
        let factor = match one.time_unit.as_deref() {
            Some("ns") | None => 1.0,
            Some("us") => 1e3,
            Some("ms") => 1e6,
            Some("s") => 1e9,
            Some(unit) => return Err(flaw(format!("time_unit is {unit:?}; expected ns, us, ms or s"))),
        };
        let real = one.real_time.ok_or_else(|| flaw("no real_time".into()))?;
        // Equal repetitions have a deviation of zero.
        let is_possible = real.is_finite() && (real > 0.0 || (real == 0.0 && aggregate.as_deref() == Some("stddev")));
        if !is_possible {
            return Err(flaw(format!("real_time is {real}; expected a number above 0")));
        }
        if !all.contains_key(&name) {
            order.push(name.clone());
        }
        let times = all.entry(name).or_default();
        match aggregate.as_deref() {
            Some("median") => times.median = Some(real * factor),
            Some(_) => times.deviation = Some(real * factor),
            None => {
                times.real.push(real * factor);
                times.cpu.extend(one.cpu_time.map(|NotNegative(cpu)| cpu * factor));
                times.iterations += one.iterations.map_or(0.0, |Positive(iterations)| iterations);
                times.bytes_per_second.extend(one.bytes_per_second.map(|Positive(rate)| rate));
            }
        }
    }
    // Where one repetition failed, the others did who knows what.
    for name in order.into_iter().filter(|name| !failed.contains(name)) {
        let times = &all[&name];
        let Some(real) = median(&times.real).or(times.median) else { continue };
        let statistic = if times.real.len() == 1 { "time, mean" } else { "time, median of its repetitions" };
        let mut quantities = vec![time(statistic, real)];
        quantities.extend(median(&times.cpu).filter(|&cpu| cpu > 0.0).map(|cpu| time("processor time", cpu)));
        quantities.extend(
            times.deviation.filter(|&deviation| deviation > 0.0).map(|deviation| time("standard deviation", deviation)),
        );
        if times.real.len() > 1 {
            quantities.push(Quantity::count("repetitions", times.real.len(), "times"));
        }
        if times.iterations > 0.0 {
            quantities.push(Quantity::new("iterations", times.iterations, "times"));
        }
        // The tool counts bytes by processor time.
        let bytes =
            median(&times.bytes_per_second).zip(median(&times.cpu)).map(|(rate, cpu)| (rate * cpu / 1e9).round());
        let bytes = bytes.filter(|bytes| (1.0..1e15).contains(bytes)).map(|bytes| bytes as u64);
        reading.add(1, &name, bytes, quantities)?;
    }
    Ok(())
}
