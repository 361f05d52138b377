//! `openssl speed`: what `-mr` prints for programs, and the tables for people.
//!
//! The program's clock counts hundredths of a second. How long each loop ran stands among the lines that it prints to standard error; where they are in the file as well
//! (`2>&1`), the shortest loop says how coarse the figures are. With `-multi`, it adds up the rates of its processes; no operation takes what such a sum gives, so these are refused.

use super::value::{Reading, above_zero, count, lines, step, time};
use crate::Quantity;
use crate::runfile::Flaw;

/// A step of its clock, in seconds.
const TICK: f64 = 0.01;

/// How lines begin that it prints with `-multi` alone: one for each process that it starts, and one for each rate that a process reports.
const FORKED: &str = "Forked child ";
const GOT: &str = "Got: ";

/// Lines of `-mr` about keys: how they begin, whether a name or a number of bits follows the index, and the operations whose rates follow.
const KEYS: [(&str, &str, usize, &[&str]); 9] = [
    ("+F2", "rsa", 2, &["sign", "verify", "encrypt", "decrypt"]),
    ("+F3", "dsa", 2, &["sign", "verify"]),
    ("+F4", "ecdsa", 2, &["sign", "verify"]),
    ("+F5", "ecdh", 2, &["derive"]),
    ("+F6", "eddsa", 3, &["sign", "verify"]),
    ("+F7", "sm2", 3, &["sign", "verify"]),
    ("+F8", "ffdh", 2, &["derive"]),
    ("+F9", "kem", 1, &["keygen", "encaps", "decaps"]),
    ("+F10", "signature", 1, &["keygen", "sign", "verify"]),
];

/// Whether it is a line of `-mr` with figures.
pub(super) fn is_mr(line: &str) -> bool {
    line.starts_with("+H:")
        || KEYS.iter().any(|(key, ..)| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
}

/// Whether it is the head of a table.
pub(super) fn is_head(line: &str) -> bool {
    sizes(line).is_some() || operations(line).is_some()
}

/// Reads what `-mr` printed.
pub(super) fn machine(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "openssl".into();
    refuse_sums(text)?;
    let clock = clock(text)?;
    let mut heads: Vec<u64> = Vec::new();
    for (line, text) in lines(text)? {
        let at = |why: String| Flaw { line, why };
        let fields: Vec<&str> = text.split(':').collect();
        match fields[..] {
            ["+H", ref sizes @ ..] => {
                let sizes: Result<_, _> = sizes.iter().map(|size| count("a size", size)).collect();
                heads = sizes.map_err(at)?;
            }
            ["+F", _, name, ref rates @ ..] => {
                if rates.len() != heads.len() || heads.is_empty() {
                    return Err(at(format!("{} rates of {name}, and +H has {} sizes", rates.len(), heads.len())));
                }
                for (bytes, rate) in heads.iter().zip(rates) {
                    let rate = above_zero("bytes per second", rate).map_err(at)?;
                    add_rate(reading, line, &format!("{name}/{bytes}"), Some(*bytes), rate / *bytes as f64, clock)?;
                }
            }
            [key, ref fields @ ..] => {
                let Some((_, family, named, operations)) = KEYS.iter().find(|(known, ..)| *known == key) else {
                    continue;
                };
                let (Some(name), Some(rates)) = (fields.get(..*named), fields.get(*named..)) else {
                    return Err(at(format!("{key} with {} fields; the file was cut short", fields.len())));
                };
                if rates.is_empty() {
                    return Err(at(format!("{key} without rates")));
                }
                // `ecdh` has its time behind its rate.
                for (operation, rate) in operations.iter().zip(rates) {
                    let rate = above_zero("operations per second", rate).map_err(at)?;
                    add_rate(reading, line, &format!("{family}/{}/{operation}", name.join("/")), None, rate, clock)?;
                }
            }
            [] => {}
        }
    }
    Ok(())
}

/// Reads tables.
pub(super) fn table(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "openssl".into();
    refuse_sums(text)?;
    let clock = clock(text)?;
    let mut told = Vec::new();
    let mut head = Head::None;
    for (line, text) in lines(text)? {
        let at = |why: String| Flaw { line, why };
        if let Some(version) = text.strip_prefix("version: ").or_else(|| text.strip_prefix("OpenSSL ")) {
            reading.sheet.version = version.split_whitespace().next().unwrap_or_default().to_owned();
            continue;
        }
        if ["options:", "compiler:", "CPUINFO:"].iter().any(|key| text.starts_with(key)) {
            told.push(text.to_owned());
            continue;
        }
        if let Some(sizes) = sizes(text) {
            head = Head::Sizes(sizes);
            continue;
        }
        if let Some(operations) = operations(text) {
            head = Head::Operations(operations);
            continue;
        }
        if text.is_empty() || text.starts_with(['D', '+']) && (text.starts_with("Doing ") || text.starts_with("+D")) {
            continue;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        match &head {
            Head::None => {}
            Head::Sizes(sizes) => {
                let (name, values) = behind(&words, sizes.len()).map_err(at)?;
                for (bytes, value) in sizes.iter().zip(values) {
                    let (number, factor) = value.strip_suffix('k').map_or((*value, 1.0), |thousands| (thousands, 1e3));
                    let rate = above_zero("bytes per second", number).map_err(at)? * factor / *bytes as f64;
                    let digits = 0.01 * factor / *bytes as f64;
                    add_coarse(reading, line, &format!("{name}/{bytes}"), Some(*bytes), rate, digits / rate, clock)?;
                }
            }
            Head::Operations(operations) => {
                let (name, values) = behind(&words, operations.len() * 2).map_err(at)?;
                // The times before the rates have four digits or six behind the point; the rates are finer.
                for (operation, value) in operations.iter().zip(&values[operations.len()..]) {
                    let rate = above_zero("operations per second", value).map_err(at)?;
                    add_coarse(reading, line, &format!("{name}/{operation}"), None, rate, 0.1 / rate, clock)?;
                }
            }
        }
    }
    reading.sheet.build = (!told.is_empty()).then(|| told.join("; "));
    Ok(())
}

/// What the numbers of the rows below are.
enum Head {
    None,
    /// Bytes of the blocks, of which it is rates.
    Sizes(Vec<u64>),
    /// Operations: first the time of each, then the rate of each.
    Operations(Vec<String>),
}

/// The sizes of `type  16 bytes  64 bytes`.
fn sizes(line: &str) -> Option<Vec<u64>> {
    let words: Vec<&str> = line.strip_prefix("type ")?.split_whitespace().collect();
    let pairs = words.chunks(2).map(|pair| match pair {
        [size, "bytes"] => size.parse().ok().filter(|&size: &u64| size > 0),
        _ => None,
    });
    pairs.collect::<Option<Vec<_>>>().filter(|sizes| !sizes.is_empty())
}

/// The operations of `sign  verify  sign/s  verify/s`.
fn operations(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (times, rates) = words.split_at(words.len() / 2);
    let is_head = !times.is_empty() && times.len() == rates.len() && rates.iter().all(|rate| rate.ends_with("/s"));
    let are_words = times.iter().all(|time| time.bytes().all(|byte| byte.is_ascii_lowercase()));
    (is_head && are_words).then(|| times.iter().map(|&time| time.to_owned()).collect())
}

/// A name of one word or several, and as many values behind it as the head has columns.
fn behind<'a>(words: &'a [&'a str], columns: usize) -> Result<(String, &'a [&'a str]), String> {
    match words.len().checked_sub(columns).filter(|&named| named > 0) {
        Some(named) => Ok((words[..named].join(" "), &words[named..])),
        None => {
            Err(format!("expected a name and {columns} values, found {} words; the line was cut short", words.len()))
        }
    }
}

/// Refuses the rates of several processes together.
fn refuse_sums(text: &str) -> Result<(), Flaw> {
    let Some((line, _)) = lines(text)?.find(|(_, text)| text.starts_with(FORKED) || text.starts_with(GOT)) else {
        return Ok(());
    };
    let processes = match lines(text)?.filter(|(_, text)| text.starts_with(FORKED)).count() {
        0 => "several".to_owned(),
        processes => processes.to_string(),
    };
    let why = format!(
        "rates of {processes} processes together (-multi), and no operation takes what they give; expected those of one"
    );
    Err(Flaw { line, why })
}

/// How coarse the clock is, as a share of the shortest loop. `None` where no line says how long they ran.
fn clock(text: &str) -> Result<Option<f64>, Flaw> {
    let mut coarsest: Option<f64> = None;
    for (line, text) in lines(text)? {
        let seconds = match text.strip_prefix("+R") {
            Some(result) => result.rsplit_once(':').map(|(_, seconds)| seconds),
            None => text.strip_prefix("Doing ").and_then(|_| text.rsplit_once(" in ")?.1.strip_suffix('s')),
        };
        let Some(seconds) = seconds else { continue };
        let seconds = above_zero("the seconds of a loop", seconds).map_err(|why| Flaw { line, why })?;
        coarsest = Some(coarsest.unwrap_or(0.0).max(TICK / seconds));
    }
    Ok(coarsest)
}

fn add_rate(
    reading: &mut Reading,
    line: usize,
    name: &str,
    bytes: Option<u64>,
    rate: f64,
    clock: Option<f64>,
) -> Result<(), Flaw> {
    add_coarse(reading, line, name, bytes, rate, 0.0, clock)
}

/// Adds a figure of so many operations per second. Its digits are as coarse as that share of it, the clock as its own.
fn add_coarse(
    reading: &mut Reading,
    line: usize,
    name: &str,
    bytes: Option<u64>,
    rate: f64,
    digits: f64,
    clock: Option<f64>,
) -> Result<(), Flaw> {
    let mut quantities: Vec<Quantity> = vec![time("time, mean, from its rate", 1e9 / rate)];
    let coarse = digits.max(clock.unwrap_or(0.0));
    quantities.extend((coarse > 0.0).then(|| step(coarse, 1.0)));
    reading.add(line, name, bytes, quantities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_tables_are_known() {
        assert_eq!(sizes("type             16 bytes     64 bytes"), Some(vec![16, 64]));
        assert_eq!(operations("   op      op/s"), Some(vec!["op".into()]));
        assert_eq!(operations("  sign    verify    sign/s verify/s").map(|operations| operations.len()), Some(2));
        assert!(operations("one two three").is_none() && sizes("type of key").is_none() && operations("").is_none());
    }
}
