//! C tor's `src/test/bench`: a heading `===== NAME =====` for each benchmark, and lines `WORDS: NUMBER UNIT`.

use super::value::{Reading, above_zero, lines, step, time};
use crate::runfile::Flaw;

/// Units in which it prints times, in nanoseconds. `per cell` without a unit is nanoseconds, too.
const UNITS: [(&str, f64); 7] =
    [("per", 1.0), ("ns", 1.0), ("nsec", 1.0), ("usec", 1e3), ("us", 1e3), ("msec", 1e6), ("sec", 1e9)];

pub(super) fn read(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "tor".into();
    let mut benchmark = String::new();
    let mut variant = String::new();
    for (line, text) in lines(text)? {
        let at = |why: String| Flaw { line, why };
        if let Some(name) = text.strip_prefix("===== ") {
            benchmark = name.trim_end_matches('=').trim().to_owned();
            variant.clear();
            continue;
        }
        // `Ed25519-based basepoint multiply = enabled.`: what follows is another variant.
        if let Some((what, state)) = text.split_once(" = ").filter(|(what, _)| !what.contains(':')) {
            variant = format!("{what} {}", state.trim_end_matches('.'));
            continue;
        }
        let Some((label, told)) = text.rsplit_once(": ").filter(|_| !benchmark.is_empty()) else { continue };
        let mut words = told.split_whitespace();
        let (Some(number), Some(unit)) = (words.next(), words.next()) else { continue };
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| unit.trim_end_matches(['.', ',', ';']) == *name) else {
            continue;
        };
        let number_ns = above_zero("the time", number).map_err(at)? * factor;
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(12));
        // Behind a semicolon or a bracket stands the same in another unit.
        let per = words.take_while(|word| !word.starts_with('(') && !unit.ends_with(';'));
        let per = per.collect::<Vec<_>>().join(" ");
        let per = per.trim_end_matches('.');
        let name = [benchmark.as_str(), &variant, &format!("{label} {per}")].map(|part| part.trim().replace('/', "-"));
        let name = name.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("/");
        reading.add(
            line,
            &name,
            None,
            vec![time("time, mean", number_ns), step(0.1f64.powi(decimals as i32) * factor, number_ns)],
        )?;
    }
    Ok(())
}
