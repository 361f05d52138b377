//! Lines of SUPERCOP's file `data`: version, machine, ABI, day, operation, primitive and implementation, what was measured, its bytes (`-` where there are none), the median, and
//! the single measurements, as numbers or as differences from the median (`+12-3`). All lines must be of one version, machine and ABI.

use super::MOST_FIGURES;
use super::value::{Reading, count, lines, median};
use crate::Quantity;
use crate::runfile::Flaw;
use std::collections::BTreeMap;

/// How the names of what is measured in cycles end.
const CYCLES: &str = "cycles";

/// Whether the line may be one of the file `data`: a day, a machine, an ABI, a day, an operation.
pub(super) fn is_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(7).collect();
    let is_day = |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_digit());
    words.len() == 7 && is_day(words[0]) && is_day(words[3]) && words[4].starts_with("crypto_")
}

/// The medians of what was measured under one name.
struct Found {
    name: String,
    bytes: Option<u64>,
    line: usize,
    medians: Vec<f64>,
}

pub(super) fn read(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "supercop".into();
    // Each measurement stands there three times or so; all of them make one figure.
    let mut found: Vec<Found> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut first: Option<[&str; 3]> = None;
    for (line, text) in lines(text)?.filter(|(_, text)| !text.is_empty()) {
        let at = |why: String| Flaw { line, why };
        if !is_line(text) {
            return Err(at(
                "expected a line of SUPERCOP's file `data`: version, machine, ABI, day, operation, primitive, …".into(),
            ));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let (operation, primitive, measured) = (words[4], words[5], words[6]);
        let of = [words[0], words[1], words[2]];
        let all_of = *first.get_or_insert(of);
        if let Some(i) = (0..3).find(|&i| of[i] != all_of[i]) {
            let what = ["version", "machine", "ABI"][i];
            let (found, before) = (of[i], all_of[i]);
            return Err(at(format!(
                "{what} {found}, and {before} above; import the lines of each {what} by themselves"
            )));
        }
        if measured == "compiler" {
            reading.sheet.build.get_or_insert_with(|| words[7..].join(" "));
        }
        // `cpucycles_persecond`, `try`, checksums and the like are no figures.
        if !measured.ends_with(CYCLES) || measured == "cpucycles" {
            continue;
        }
        let [bytes, median, ..] = words[7..] else {
            return Err(at(format!("{measured} without its bytes and its median; the file was cut short")));
        };
        let bytes = match bytes {
            "-" => None,
            "0" => Some(0),
            bytes => Some(count("the number of bytes", bytes).map_err(at)?),
        };
        let median = count("the median", median).map_err(at)? as f64;
        check_singles(&words[9..], median).map_err(|why| at(format!("{measured}: {why}")))?;
        let name = format!("{operation}/{primitive}/{measured}");
        let name = bytes.map_or(name.clone(), |bytes| format!("{name}/{bytes}"));
        match places.get(&name) {
            Some(&place) => found[place].medians.push(median),
            None if found.len() == MOST_FIGURES => return Err(at(format!("more than {MOST_FIGURES} figures"))),
            None => {
                places.insert(name.clone(), found.len());
                found.push(Found { name, bytes, line, medians: vec![median] });
            }
        }
    }
    reading.sheet.version = first.map(|[version, ..]| version.to_owned()).unwrap_or_default();
    for Found { name, bytes, line, medians } in found {
        let Some(middle) = median(&medians) else { continue };
        let mut quantities = vec![Quantity::new("cycles, median", middle, "cycles")];
        if medians.len() > 1 {
            quantities.push(Quantity::new("medians of its loops", medians.len() as f64, "times"));
        }
        reading.add(line, &name, bytes.filter(|&bytes| bytes > 0), quantities)?;
    }
    Ok(())
}

/// Whether the single measurements can have that median. Newer versions may average what is in the middle, so it must lie between their quartiles only.
fn check_singles(words: &[&str], median: f64) -> Result<(), String> {
    let mut singles = Vec::new();
    for word in words {
        let expected =
            |_| format!("a single measurement is {word:?}; expected a whole number, or differences like +12-3");
        if !word.starts_with(['+', '-']) {
            singles.push(word.parse::<u64>().map_err(expected)? as f64);
            continue;
        }
        let mut signs: Vec<usize> = word.match_indices(['+', '-']).map(|(at, _)| at).collect();
        signs.push(word.len());
        for pair in signs.windows(2) {
            singles.push(median + word[pair[0]..pair[1]].parse::<i64>().map_err(expected)? as f64);
        }
    }
    if singles.is_empty() {
        return Err("no single measurements behind the median; the file was cut short".into());
    }
    if let Some(single) = singles.iter().find(|&&single| single < 0.0) {
        return Err(format!("a single measurement is {single} cycles"));
    }
    let quarter = |is: &dyn Fn(f64) -> bool| singles.iter().filter(|&&single| is(single)).count() * 4 >= singles.len();
    match quarter(&|single| single <= median) && quarter(&|single| single >= median) {
        true => Ok(()),
        false => Err(format!("{median} is not the median of the {} measurements behind it", singles.len())),
    }
}
