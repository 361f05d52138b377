//! `bssl speed`: `Did 4767000 AES-128-GCM (16 bytes) operations in 1000042us (…)`, or an array of objects with `-json`.

use super::value::{Positive, Reading, count, json, lines, step, time};
use crate::runfile::Flaw;
use serde::Deserialize;

/// A benchmark in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Benchmark {
    description: String,
    num_calls: Positive,
    microseconds: Positive,
    #[serde(default)]
    bytes_per_call: Option<u64>,
}

pub(super) fn read(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "bssl".into();
    if text.trim_start().starts_with('[') {
        for one in json::<Vec<Benchmark>>(text, "bssl speed")? {
            let (calls, us) = (one.num_calls.0, one.microseconds.0);
            // The size stands in the description, too, as in the text.
            let (name, bytes) = sized(&one.description);
            add(reading, 1, name, bytes.or(one.bytes_per_call.filter(|&bytes| bytes > 0)), calls, us)?;
        }
        return Ok(());
    }
    for (line, text) in lines(text)? {
        let Some(told) = text.strip_prefix("Did ") else { continue };
        let at = |why: String| Flaw { line, why };
        let expected = || at("expected `Did N NAME operations in MICROSECONDSus`".into());
        let (calls, rest) = told.split_once(' ').ok_or_else(expected)?;
        let (name, rest) = rest.split_once(" operations in ").ok_or_else(expected)?;
        let (us, _) = rest.split_once("us").ok_or_else(expected)?;
        let (calls, us) = (count("the number of operations", calls), count("the number of microseconds", us));
        let (name, bytes) = sized(name);
        add(reading, line, name, bytes, calls.map_err(at)? as f64, us.map_err(at)? as f64)?;
    }
    Ok(())
}

/// A name and the bytes behind it in brackets.
fn sized(name: &str) -> (&str, Option<u64>) {
    let sized = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let bytes = sized.and_then(|(_, size)| {
        size.strip_suffix(" bytes")
            .or_else(|| size.strip_suffix(" byte"))?
            .parse()
            .ok()
            .filter(|&bytes: &u64| bytes > 0)
    });
    match (sized, bytes) {
        (Some((name, _)), Some(bytes)) => (name, Some(bytes)),
        _ => (name, None),
    }
}

fn add(reading: &mut Reading, line: usize, name: &str, bytes: Option<u64>, calls: f64, us: f64) -> Result<(), Flaw> {
    let name = bytes.map_or_else(|| name.to_owned(), |bytes| format!("{name}/{bytes}"));
    reading.add(line, &name, bytes, vec![time("time, mean", us * 1e3 / calls), step(1.0, us)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_stands_in_brackets() {
        assert_eq!(sized("SHA-256 (16 bytes)"), ("SHA-256", Some(16)));
        assert_eq!(sized("Ed25519 (key) signing"), ("Ed25519 (key) signing", None));
        assert_eq!(sized("x (y bytes)"), ("x (y bytes)", None));
    }
}
