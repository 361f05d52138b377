//! `speed_kem` and `speed_sig` of liboqs: a table with `|` between its columns, a line without numbers for each algorithm, and one for each operation.

use super::value::{Reading, above_zero, count, lines, not_negative, step, time};
use crate::Quantity;
use crate::runfile::Flaw;

/// Whether the line is the table's head.
pub(super) fn is_head(line: &str) -> bool {
    line.starts_with("Operation ") && line.contains("| Iterations |") && line.contains("Time (us): mean")
}

pub(super) fn read(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "liboqs".into();
    let mut algorithm = String::new();
    let mut is_open = false;
    let mut last = 0;
    let mut told = Vec::new();
    for (line, text) in lines(text)? {
        last = line;
        let at = |why: String| Flaw { line, why };
        is_open &= !text.starts_with("Ended at ");
        if let Some((name, value)) = text.split_once(':').filter(|_| !text.contains('|')) {
            match name {
                "OQS version" => reading.sheet.version = value.split_whitespace().next().unwrap_or_default().to_owned(),
                "Compiler" | "OQS build flags" | "CPU exts active" => {
                    told.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
                }
                _ => {}
            }
        }
        is_open |= is_head(text);
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        if cells.len() < 5 || is_head(text) || cells[0].starts_with("--") {
            continue;
        }
        if cells[1..].iter().all(|cell| cell.is_empty()) {
            algorithm = cells[0].to_owned();
            continue;
        }
        let iterations = count("the number of iterations", cells[1]).map_err(at)?;
        let total = above_zero("the total time", cells[2]).map_err(at)?;
        let mean = above_zero("the mean", cells[3]).map_err(at)?;
        // Single calls are timed in whole microseconds; a mean of many is finer than that by their spread alone.
        let computed = total * 1e6 / iterations as f64;
        if (mean / computed - 1.0).abs() > 0.05 {
            return Err(at(format!(
                "the mean is {mean} µs, and the total of {iterations} iterations gives {computed:.3} µs"
            )));
        }
        let mut quantities = vec![time("time, mean", mean * 1e3)];
        let deviation = not_negative("the deviation", cells[4]).map_err(at)?;
        // Of a single call it is none.
        quantities.extend((deviation > 0.0).then(|| time("standard deviation", deviation * 1e3)));
        quantities.push(Quantity::new("iterations", iterations as f64, "times"));
        quantities.push(step(1.0, mean));
        reading.add(line, &format!("{algorithm}/{}", cells[0]), None, quantities)?;
    }
    if is_open {
        return Err(Flaw { line: last, why: "no line `Ended at`; the file was cut short".into() });
    }
    reading.sheet.build = (!told.is_empty()).then(|| told.join("; "));
    Ok(())
}
