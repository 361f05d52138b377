//! ```text
//! candor-scan kernels BINARY          a line for each arm of each room, and one for each finding, fields separated by tabs
//! candor-scan frames BINARY           whether what kernels use of the stack is cleared behind them
//! candor-scan twins CASES SHIPPED     whether the kernels of the first stand in the second
//! ```

use candor_scan::binary::Binary;
use candor_scan::digest::Digests;
use candor_scan::{frames, kernels, twins};
use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kernels", path] => read(path).map(|binary| scan(&binary)),
        ["frames", path] => read(path).map(|binary| list(&binary)),
        ["twins", cases, shipped] => {
            read(cases).and_then(|cases| Ok((cases, read(shipped)?))).map(|(cases, shipped)| compare(&cases, &shipped))
        }
        _ => Err("expected `kernels BINARY`, `frames BINARY` or `twins CASES SHIPPED`".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("candor-scan: {why}");
            ExitCode::from(2)
        }
    }
}

fn read(path: &str) -> Result<Binary, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    Binary::parse(&bytes)
}

/// `arm, room, tier, functions, instructions, instructions that no way leads to, findings`; `kernel, function, findings, digest`; and
/// `finding, function, offset, what`.
fn scan(binary: &Binary) {
    let mut arms: BTreeMap<(String, &str), [usize; 4]> = BTreeMap::new();
    let kernels = kernels::all(binary);
    let functions: Vec<_> = kernels.iter().map(|kernel| kernel.function).collect();
    let digests = Digests::new(binary, &functions);
    for kernel in kernels {
        let report = kernel.follow(binary);
        for finding in &report.findings {
            println!("finding\t{}\t+{:x}\t{}", kernel.function.name, finding.offset, finding.what);
        }
        let digest = digests.of(kernel.function);
        println!("kernel\t{}\t{}\t{digest}", kernel.function.name, report.findings.len());
        let sums = arms.entry((kernel.room, kernel.tier)).or_default();
        let counts = [1, report.instructions, report.instructions - report.followed, report.findings.len()];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    for ((room, tier), [functions, instructions, unreached, findings]) in arms {
        println!("arm\t{room}\t{tier}\t{functions}\t{instructions}\t{unreached}\t{findings}");
    }
}

/// `enough` or `short`, kernel, caller, bytes that the kernel may use or why that isn't known, bytes that are cleared.
fn list(binary: &Binary) {
    for cleared in frames::all(binary) {
        let verdict = if cleared.is_enough() { "enough" } else { "short" };
        let needs = cleared.needs.map_or_else(|why| why, |needs| needs.to_string());
        println!("{verdict}\t{}\t{}\t{needs}\t{}", cleared.kernel, cleared.caller, cleared.clears);
    }
}

/// `same, count`; `different, function`; `renamed, function`; `shaped, function`; `missing, function`.
fn compare(cases: &Binary, shipped: &Binary) {
    let found = twins::compare(cases, shipped);
    println!("same\t{}", found.same);
    found.different.iter().for_each(|name| println!("different\t{name}"));
    found.renamed.iter().for_each(|name| println!("renamed\t{name}"));
    found.shaped.iter().for_each(|name| println!("shaped\t{name}"));
    found.missing.iter().for_each(|name| println!("missing\t{name}"));
}
