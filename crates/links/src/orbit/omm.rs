//! Orbit Mean-Elements Messages: the keywords of CCSDS 502.0-B-3, section 4, written as JSON, as `KEY = value` (KVN) or as XML.

use super::elements::Elements;
use super::error::{Error, Problem};
use super::tle::decimal;
use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

mod json;
mod kvn;
mod xml;

pub(super) use json::read as read_json;
pub(super) use kvn::{begins as kvn_begins, read as read_kvn};
pub(super) use xml::read as read_xml;

/// The keywords and values of one message, each with its line.
struct Message {
    /// Where the message begins.
    line: usize,
    fields: BTreeMap<String, (String, usize)>,
}

impl Message {
    fn new(line: usize) -> Self {
        Self { line, fields: BTreeMap::new() }
    }

    fn add(&mut self, key: &str, value: &str, line: usize) -> Result<(), Error> {
        match self.fields.insert(key.to_owned(), (value.trim().to_owned(), line)) {
            None => Ok(()),
            // Comments may stand anywhere.
            Some(_) if key == "COMMENT" => Ok(()),
            Some(_) => Err(Problem::Twice { field: key.to_owned() }.at(line)),
        }
    }

    fn elements(&self) -> Result<Elements, Error> {
        self.only("CENTER_NAME", &["EARTH"], "EARTH")?;
        self.only("REF_FRAME", &["TEME"], "TEME")?;
        self.only("TIME_SYSTEM", &["UTC"], "UTC")?;
        self.only("MEAN_ELEMENT_THEORY", &["SGP4", "SGP/SGP4"], "SGP4")?;
        self.only("EPHEMERIS_TYPE", &["0", "2"], "SGP4 (0)")?;
        let (number, line) = self.text("NORAD_CAT_ID")?;
        let whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = whole
            .then(|| number.parse().ok())
            .flatten()
            .ok_or_else(|| unreadable("NORAD_CAT_ID", number, "a whole number", line))?;
        let optional = |key: &str| Some(self.fields.get(key)?.0.clone()).filter(|text| !text.is_empty());
        let elements = Elements {
            name: optional("OBJECT_NAME").unwrap_or_else(|| number.to_string()),
            number,
            designator: optional("OBJECT_ID"),
            epoch: self.epoch()?,
            mean_motion: self.number("MEAN_MOTION")?,
            eccentricity: self.number("ECCENTRICITY")?,
            inclination: self.number("INCLINATION")?,
            right_ascension: self.number("RA_OF_ASC_NODE")?,
            argument_of_perigee: self.number("ARG_OF_PERICENTER")?,
            mean_anomaly: self.number("MEAN_ANOMALY")?,
            drag: self.number("BSTAR")?,
        };
        elements.check().map_err(|problem| {
            let line = self.line_of(&problem);
            problem.at(line)
        })?;
        Ok(elements)
    }

    fn text(&self, field: &'static str) -> Result<(&str, usize), Error> {
        match self.fields.get(field) {
            Some((text, line)) => Ok((text, *line)),
            None => Err(Problem::Missing { field }.at(self.line)),
        }
    }

    fn number(&self, field: &'static str) -> Result<f64, Error> {
        let (text, line) = self.text(field)?;
        scientific(text).ok_or_else(|| unreadable(field, text, "a number", line))
    }

    /// UTC, as a date or as a day of a year, without a zone or with `Z`.
    fn epoch(&self) -> Result<Timestamp, Error> {
        let (text, line) = self.text("EPOCH")?;
        let plain = text.strip_suffix('Z').unwrap_or(text);
        let time = date_and_time(plain).and_then(|time| time.to_zoned(TimeZone::UTC).ok());
        time.map(|time| time.timestamp())
            .ok_or_else(|| unreadable("EPOCH", text, "UTC, as in `2025-03-08T18:23:50.016`", line))
    }

    /// A field that, if it is there, must be one of these.
    fn only(&self, field: &'static str, values: &[&str], supported: &'static str) -> Result<(), Error> {
        match self.fields.get(field) {
            Some((text, line)) if !values.iter().any(|value| value.eq_ignore_ascii_case(text)) => {
                Err(Problem::Unsupported { field, text: text.clone(), supported }.at(*line))
            }
            _ => Ok(()),
        }
    }

    /// The line of the field that is out of range.
    fn line_of(&self, problem: &Problem) -> usize {
        let key = match problem {
            Problem::OutOfRange { field: "eccentricity", .. } => "ECCENTRICITY",
            Problem::OutOfRange { field: "inclination", .. } => "INCLINATION",
            Problem::OutOfRange { field: "right ascension", .. } => "RA_OF_ASC_NODE",
            Problem::OutOfRange { field: "argument of perigee", .. } => "ARG_OF_PERICENTER",
            Problem::OutOfRange { field: "mean anomaly", .. } => "MEAN_ANOMALY",
            Problem::OutOfRange { field: "B*", .. } => "BSTAR",
            _ => "MEAN_MOTION",
        };
        self.fields.get(key).map_or(self.line, |(_, line)| *line)
    }
}

fn unreadable(field: &'static str, text: &str, expected: &'static str, line: usize) -> Error {
    Problem::Unreadable { field, text: text.to_owned(), expected }.at(line)
}

/// A decimal fraction that may have a power of ten.
fn scientific(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    decimal(mantissa)?;
    match !digits.is_empty() && digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok(),
        false => None,
    }
}

/// `2025-03-08T18:23:50.016` or `2025-067T18:23:50.016` (CCSDS 301.0, formats A and B).
fn date_and_time(text: &str) -> Option<civil::DateTime> {
    let (date, time) = text.split_once('T')?;
    let shape: String = date.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    let date = match shape.as_str() {
        "0000-00-00" => date.parse().ok()?,
        "0000-000" => {
            let first = civil::Date::new(date[..4].parse().ok()?, 1, 1).ok()?;
            first.with().day_of_year(date[5..].parse().ok()?).build().ok()?
        }
        _ => return None,
    };
    let plain = time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    let time: civil::Time = if plain { time.parse().ok()? } else { return None };
    Some(civil::DateTime::from_parts(date, time))
}

#[cfg(test)]
mod tests;
