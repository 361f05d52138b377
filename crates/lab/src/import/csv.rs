//! A table that somebody wrote: the columns `name`, `value` and `unit` in any order, and `bytes` and `statistic` if there are any. Fields may be quoted.

use super::value::{Reading, above_zero, count, lines, step, time};
use crate::Quantity;
use crate::runfile::Flaw;

const NEEDED: [&str; 3] = ["name", "value", "unit"];
const KNOWN: [&str; 5] = ["name", "value", "unit", "bytes", "statistic"];

/// Units of time, in nanoseconds.
const TIMES: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Whether the line names the columns that are needed.
pub(super) fn is_head(line: &str) -> bool {
    fields(line.trim_end())
        .is_ok_and(|heads| NEEDED.iter().all(|needed| heads.iter().any(|head| head.trim() == *needed)))
}

pub(super) fn read(text: &str, reading: &mut Reading) -> Result<(), Flaw> {
    reading.sheet.library = "csv".into();
    let mut lines = lines(text)?;
    let (_, head) = lines.next().expect("the text is not empty");
    let heads = fields(head).map_err(|why| Flaw { line: 1, why })?;
    let heads: Vec<&str> = heads.iter().map(|head| head.trim()).collect();
    if let Some(missing) = NEEDED.iter().find(|needed| !heads.contains(needed)) {
        return Err(Flaw {
            line: 1,
            why: format!("no column {missing:?}; expected the columns {}", NEEDED.join(", ")),
        });
    }
    if let Some(unknown) = heads.iter().find(|head| !KNOWN.contains(head)) {
        return Err(Flaw { line: 1, why: format!("column {unknown:?} is not known; known are {}", KNOWN.join(", ")) });
    }
    for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
        let at = |why: String| Flaw { line, why };
        let fields = fields(text).map_err(at)?;
        if fields.len() != heads.len() {
            return Err(at(format!("{} fields; the head has {}", fields.len(), heads.len())));
        }
        let field = |name: &str| {
            let column = heads.iter().position(|head| *head == name);
            column.map(|column| fields[column].trim()).filter(|field| !field.is_empty())
        };
        let of = |name: &str| field(name).ok_or_else(|| at(format!("no {name}")));
        let (name, value, unit) = (of("name")?, of("value")?, of("unit")?);
        let number = above_zero("value", value).map_err(at)?;
        let statistic = field("statistic").unwrap_or("value");
        let mut quantities = vec![quantity(statistic, number, unit).map_err(at)?];
        // Without an exponent, the digits say how fine the number can be.
        if !value.contains(['e', 'E']) {
            let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(30));
            quantities.push(step(0.1f64.powi(decimals as i32), number));
        }
        let bytes = field("bytes").map(|bytes| count("bytes", bytes)).transpose().map_err(at)?;
        reading.add(line, name, bytes, quantities)?;
    }
    Ok(())
}

fn quantity(statistic: &str, value: f64, unit: &str) -> Result<Quantity, String> {
    if let Some((_, factor)) = TIMES.iter().find(|(name, _)| *name == unit) {
        return Ok(time(&format!("time, {statistic}"), value * factor));
    }
    match unit {
        "ops/s" | "op/s" => Ok(time(&format!("time, from its rate, {statistic}"), 1e9 / value)),
        "cycles" => Ok(Quantity::new(&format!("cycles, {statistic}"), value, unit)),
        "bytes" => Ok(Quantity::new(statistic, value, unit)),
        _ => Err(format!("unit {unit:?} is not known; known are ns, us, ms, s, ops/s, cycles, bytes")),
    }
}

/// The fields of a line. A quoted field may contain commas, and quotation marks as two.
fn fields(line: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, behind) = match rest.strip_prefix('"') {
            None => {
                rest.split_once(',').map_or((rest.to_owned(), None), |(field, rest)| (field.to_owned(), Some(rest)))
            }
            Some(quoted) => {
                let (field, behind) = unquote(quoted)?;
                match behind.strip_prefix(',') {
                    Some(rest) => (field, Some(rest)),
                    None if behind.is_empty() => (field, None),
                    None => return Err("characters behind a closing quotation mark".into()),
                }
            }
        };
        fields.push(field);
        match behind {
            Some(more) => rest = more,
            None => return Ok(fields),
        }
    }
}

/// What stands before the closing quotation mark, and what behind it.
fn unquote(quoted: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut rest = quoted;
    loop {
        let Some((before, behind)) = rest.split_once('"') else {
            return Err("a quotation mark is not closed on its line".into());
        };
        field += before;
        match behind.strip_prefix('"') {
            Some(more) => {
                field.push('"');
                rest = more;
            }
            None => return Ok((field, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_quoted() {
        assert_eq!(fields("a,\"b, \"\"c\"\"\",").unwrap(), ["a", "b, \"c\"", ""]);
        assert_eq!(fields("").unwrap(), [""]);
        assert!(fields("\"a").is_err() && fields("\"a\"b,c").is_err());
    }
}
