//! What all readers share: numbers that can be, names as paths, and the sheet that grows.

use super::{Figure, Format, LeftOut, MOST_FIGURES, STEP, Sheet};
use crate::Quantity;
use crate::runfile::Flaw;
use serde::{Deserialize, Deserializer, de};
use std::collections::{BTreeMap, BTreeSet};

/// No operation that somebody timed took longer: three years, in nanoseconds. What is beyond it is a mistake of units.
const LONGEST_NS: f64 = 1e17;

/// No operation is shorter than a picosecond.
const SHORTEST_NS: f64 = 1e-3;

/// Characters of a benchmark's name that are kept. Other words of a tool that are longer are refused.
pub(super) const LONGEST_NAME: usize = 200;

/// Characters of compiler and flags: OpenSSL's are some hundreds.
const LONGEST_BUILD: usize = 4000;

/// Characters of a tool's reason that are kept.
const LONGEST_REASON: usize = 400;

/// A sheet in the making.
pub(super) struct Reading {
    pub(super) sheet: Sheet,
    /// The line of each name.
    names: BTreeMap<String, usize>,
    /// The names of what was left out.
    out: BTreeSet<String>,
}

impl Reading {
    pub(super) fn new(format: Format) -> Self {
        let sheet = Sheet {
            format,
            library: String::new(),
            version: String::new(),
            build: None,
            figures: Vec::new(),
            left_out: Vec::new(),
        };
        Self { sheet, names: BTreeMap::new(), out: BTreeSet::new() }
    }

    /// Adds a figure. Its name must be new, or nobody could tell the two apart.
    pub(super) fn add(
        &mut self,
        line: usize,
        name: &str,
        bytes: Option<u64>,
        quantities: Vec<Quantity>,
    ) -> Result<(), Flaw> {
        let name = path(name);
        let at = |why: String| Flaw { line, why };
        if name.is_empty() {
            return Err(at("a figure without a name".into()));
        }
        for quantity in &quantities {
            bounded("what a number is called", &quantity.name, LONGEST_NAME).map_err(at)?;
        }
        if let Some(odd) = quantities.iter().find(|quantity| quantity.unit == "ns" && !is_a_time(quantity.value)) {
            return Err(at(format!("{} of {name} is {} ns, which no operation takes", odd.name, shown(odd.value))));
        }
        if self.sheet.figures.len() == MOST_FIGURES {
            return Err(at(format!("more than {MOST_FIGURES} figures")));
        }
        if let Some(first) = self.names.insert(name.clone(), line) {
            let first = if first == line { String::new() } else { format!("; the first is on line {first}") };
            return Err(at(format!("a second figure named {name}{first}")));
        }
        self.sheet.figures.push(Figure { line, name, bytes, quantities });
        Ok(())
    }

    /// Adds a failure of the tool's own.
    pub(super) fn leave_out(&mut self, name: &str, reason: String) {
        let name = path(name);
        if self.out.len() < MOST_FIGURES && self.out.insert(name.clone()) {
            self.sheet.left_out.push(LeftOut { name, reason: reason.chars().take(LONGEST_REASON).collect() });
        }
    }

    /// The sheet, if there is a figure in it.
    pub(super) fn finish(self, lines: usize) -> Result<Sheet, Flaw> {
        let build = self.sheet.build.clone().unwrap_or_default();
        if self.sheet.figures.is_empty() {
            let why = match self.sheet.left_out.first() {
                Some(LeftOut { name, reason }) => format!("no figure in it; {name}: {reason}"),
                None => format!("no figure of {} in it", self.sheet.format),
            };
            return Err(Flaw { line: lines.max(1), why });
        }
        let words =
            [("the version", &self.sheet.version, LONGEST_NAME), ("what is told of the build", &build, LONGEST_BUILD)];
        for (what, words, most) in words {
            bounded(what, words, most).map_err(|why| Flaw { line: 1, why })?;
        }
        Ok(self.sheet)
    }
}

/// Whether a tool's words are no longer than a table can show.
fn bounded(what: &str, words: &str, most: usize) -> Result<(), String> {
    match words.chars().count() {
        length if length <= most => Ok(()),
        length => Err(format!("{what} is {length} characters long; expected at most {most}")),
    }
}

/// A number in an error, without hundreds of zeros.
pub(super) fn shown(number: f64) -> String {
    match number == 0.0 || (1e-6..1e15).contains(&number.abs()) || !number.is_finite() {
        true => number.to_string(),
        false => format!("{number:e}"),
    }
}

/// The lines with their numbers. The last one must be complete.
pub(super) fn lines(text: &str) -> Result<impl Iterator<Item = (usize, &str)>, Flaw> {
    match text.ends_with('\n') {
        true => Ok(text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end()))),
        false => {
            Err(Flaw { line: text.lines().count(), why: "the last line does not end; the file was cut short".into() })
        }
    }
}

/// A number above zero.
pub(super) fn above_zero(what: &str, word: &str) -> Result<f64, String> {
    let number: f64 = word.parse().map_err(|_| format!("{what} is {word:?}; expected a number"))?;
    if number > 0.0 && number.is_finite() {
        return Ok(number);
    }
    Err(format!("{what} is {word}; expected a number above 0"))
}

/// A number of zero or more.
pub(super) fn not_negative(what: &str, word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err(format!("{what} is {word:?}; expected a number of 0 or more")),
    }
}

/// A whole number above zero.
pub(super) fn count(what: &str, word: &str) -> Result<u64, String> {
    match word.parse::<u64>() {
        Ok(count @ 1..) => Ok(count),
        _ => Err(format!("{what} is {word:?}; expected a whole number above 0")),
    }
}

/// A number above zero in JSON. The error has the line of the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Positive(pub(super) f64);

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Option::<f64>::deserialize(from)? {
            Some(number) if number > 0.0 && number.is_finite() => Ok(Self(number)),
            // Several tools write a number that is none as null.
            None => Err(de::Error::custom("null; expected a number above 0")),
            Some(number) => Err(de::Error::custom(format!("{}; expected a number above 0", shown(number)))),
        }
    }
}

/// A number of zero or more in JSON: a deviation, a processor time that the system counts coarsely.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotNegative(pub(super) f64);

impl<'de> Deserialize<'de> for NotNegative {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(from)?;
        match number >= 0.0 && number.is_finite() {
            true => Ok(Self(number)),
            false => Err(de::Error::custom(format!("{}; expected a number of 0 or more", shown(number)))),
        }
    }
}

/// Reads a whole file of JSON.
pub(super) fn json<'a, T: Deserialize<'a>>(text: &'a str, tool: &str) -> Result<T, Flaw> {
    serde_json::from_str(text).map_err(|error| flaw_of(&error, tool, 1))
}

/// A flaw in JSON that begins on that line of the file.
pub(super) fn flaw_of(error: &serde_json::Error, tool: &str, begins: usize) -> Flaw {
    let line = begins + error.line().saturating_sub(1);
    let why = match error.is_eof() {
        true => "the JSON is incomplete; the file was cut short".to_owned(),
        false => {
            // Its place is said already.
            let said = error.to_string();
            let what = said.rsplit_once(" at line ").map_or(said.as_str(), |(what, _)| what);
            format!("not as {tool} writes it: {what}")
        }
    };
    Flaw { line, why }
}

/// Whether anything could take so many nanoseconds.
pub(super) fn is_a_time(ns: f64) -> bool {
    (SHORTEST_NS..LONGEST_NS).contains(&ns)
}

/// A time, as figures have it.
pub(super) fn time(what: &str, ns: f64) -> Quantity {
    Quantity::new(what, ns, "ns")
}

/// How coarse a figure is: the step and the whole in the same unit.
pub(super) fn step(step: f64, whole: f64) -> Quantity {
    Quantity::new(STEP, step / whole * 100.0, "%")
}

/// The middle of some values. `None` of none.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    crate::stats::median(values)
}

/// A benchmark's name as a path: no white space, no empty segment, no character that a terminal would obey.
fn path(name: &str) -> String {
    let shown = |c: char| {
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') { ' ' } else { c }
    };
    let name: String = name.chars().map(shown).take(LONGEST_NAME).collect();
    let segments = name.split('/').map(|segment| segment.split_whitespace().collect::<Vec<_>>().join("-"));
    segments.filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_path() {
        for (name, found) in [
            ("sha256/1024", "sha256/1024"),
            ("ECDSA P-256  signing", "ECDSA-P-256-signing"),
            ("/a//b /", "a/b"),
            ("up\u{1b}[2Jside\u{202e}", "up-[2Jside"),
            (" \t", ""),
        ] {
            assert_eq!(path(name), found, "{name:?}");
        }
    }

    #[test]
    fn only_numbers_above_zero_are_values() {
        for impossible in ["0", "-0.0", "-1", "nan", "inf", "", "1,5", "1e999"] {
            assert!(above_zero("time", impossible).is_err(), "{impossible:?}");
        }
        assert_eq!(above_zero("time", "1.5e3"), Ok(1500.0));
        assert_eq!(above_zero("time", "-3").unwrap_err(), "time is -3; expected a number above 0");
        assert_eq!((not_negative("deviation", "0.000"), not_negative("deviation", "1.5")), (Ok(0.0), Ok(1.5)));
        assert!(
            ["-1", "nan", "-nan", "inf", "", "1,5"].into_iter().all(|word| not_negative("deviation", word).is_err())
        );
        assert_eq!(count("iterations", "7"), Ok(7));
        assert!(count("iterations", "0").is_err() && count("iterations", "1.5").is_err());
    }

    fn sheet(bytes: &[u8]) -> Sheet {
        super::super::read(bytes, None).unwrap_or_else(|flaw| panic!("line {}: {}", flaw.line, flaw.why))
    }

    fn refused(bytes: &[u8]) -> (usize, String) {
        let flaw = super::super::read(bytes, None).expect_err("it must be refused");
        (flaw.line, flaw.why)
    }

    #[test]
    fn what_a_tool_says_is_no_longer_than_a_table_can_show() {
        let long = "x".repeat(201);
        let table = |statistic: &str| format!("name,value,unit,statistic\na,1.5,ns,{statistic}\n");
        assert_eq!(sheet(table("median").as_bytes()).figures.len(), 1);
        let (line, why) = refused(table(&long).as_bytes());
        assert_eq!((line, why.as_str()), (2, "what a number is called is 207 characters long; expected at most 200"));
        let versioned = |version: &str| {
            let benchmark = r#"{"name":"a","iterations":1,"real_time":1.5,"cpu_time":1.5,"time_unit":"ns"}"#;
            format!("{{\"context\":{{\"library_version\":{version:?}}},\"benchmarks\":[{benchmark}]}}")
        };
        assert_eq!(sheet(versioned("v1.9").as_bytes()).version, "v1.9");
        assert!(refused(versioned(&long).as_bytes()).1.contains("the version is 201 characters long"));
        // A name is cut; a number without end is written short, and an error never quotes a whole file.
        let named = format!("name,value,unit\n{},5,ns\n", "a".repeat(1 << 20));
        assert_eq!(sheet(named.as_bytes()).figures[0].name.len(), 200);
        let (_, why) = refused(b"name,value,unit\na,1e-300,ns\n");
        assert_eq!(why, "time, value of a is 1e-300 ns, which no operation takes");
        let flaw =
            super::super::read(format!("name,value,unit\na,5,{}\n", "n".repeat(1 << 20)).as_bytes(), None).unwrap_err();
        assert!(super::super::flawed(std::path::Path::new("a.csv"), flaw).to_string().len() < 2000);
    }
}
