//! Element sets of two lines, with or without a name before them.
//!
//! The format is NORAD's: fixed columns, a checksum at the end of each line (Hoots and Roehrich, *Spacetrack Report 3*, 1980; Alpha-5 catalogue
//! numbers as Space-Track documents them).

use super::elements::Elements;
use super::error::{Error, Problem};
use jiff::{SignedDuration, Timestamp, civil};

const COLUMNS: usize = 69;

/// Reads all element sets of a file: two lines each, with or without a name before them. Empty lines and lines that begin with `#` are skipped.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Elements>, Error> {
    let mut found = Vec::new();
    let mut name: Option<Line<'_>> = None;
    let mut first: Option<Line<'_>> = None;
    for (index, bytes) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let bytes = bytes.trim_ascii_end();
        if bytes.is_empty() || bytes.starts_with(b"#") {
            continue;
        }
        let line = Line::new(bytes, index + 1)?;
        match (line.text.get(..2), first.take()) {
            (Some("1 "), None) => first = Some(line),
            (Some("2 "), Some(one)) => found.push(element_set(name.take(), one, line)?),
            (Some("2 "), None) => return Err(line.wrong(Problem::NoFirstLine)),
            (_, Some(one)) => return Err(one.wrong(Problem::NoSecondLine)),
            (_, None) => {
                if let Some(earlier) = name.replace(line) {
                    return Err(earlier.wrong(Problem::NoElements));
                }
            }
        }
    }
    match (first, name) {
        (Some(one), _) => Err(one.wrong(Problem::NoSecondLine)),
        (None, Some(name)) => Err(name.wrong(Problem::NoElements)),
        (None, None) if found.is_empty() => Err(Problem::Nothing.at(1)),
        (None, None) => Ok(found),
    }
}

fn element_set(name: Option<Line<'_>>, one: Line<'_>, two: Line<'_>) -> Result<Elements, Error> {
    one.check_form(&[2, 9, 18, 33, 44, 53, 62, 64])?;
    two.check_form(&[2, 8, 17, 26, 34, 43, 52])?;
    let number = one.catalogue_number("catalogue number (columns 3-7)")?;
    let second = two.catalogue_number("catalogue number (columns 3-7)")?;
    if number != second {
        return Err(two.wrong(Problem::OtherSatellite { first: number, second }));
    }
    // SGP4 uses neither derivative, but a line in which they are garbage is not to be trusted.
    one.number("derivative of mean motion (columns 34-43)", 34, 43)?;
    one.exponential("second derivative of mean motion (columns 45-52)", 45, 52)?;
    // Type 4 is SGP4-XP, another theory.
    let theory = one.columns(63, 63);
    if !matches!(theory, " " | "0" | "2") {
        let text = theory.to_owned();
        return Err(one.wrong(Problem::Unsupported {
            field: "ephemeris type (column 63)",
            text,
            supported: "SGP4 (0)",
        }));
    }
    one.count("element set number (columns 65-68)", 65, 68)?;
    two.count("revolution number (columns 64-68)", 64, 68)?;
    let designator = one.columns(10, 17).trim();
    let elements = Elements {
        name: match name {
            // Some lists of three lines number the name's line 0.
            Some(line) => line.text.strip_prefix("0 ").unwrap_or(line.text).trim().to_owned(),
            None => number.to_string(),
        },
        number,
        designator: (!designator.is_empty()).then(|| designator.to_owned()),
        epoch: one.epoch()?,
        mean_motion: two.number("mean motion (columns 53-63)", 53, 63)?,
        eccentricity: two.fraction("eccentricity (columns 27-33)", 27, 33)?,
        inclination: two.number("inclination (columns 9-16)", 9, 16)?,
        right_ascension: two.number("right ascension (columns 18-25)", 18, 25)?,
        argument_of_perigee: two.number("argument of perigee (columns 35-42)", 35, 42)?,
        mean_anomaly: two.number("mean anomaly (columns 44-51)", 44, 51)?,
        drag: one.exponential("B* (columns 54-61)", 54, 61)?,
    };
    elements.check().map_err(|problem| match problem {
        Problem::OutOfRange { field: "B*", .. } => one.wrong(problem),
        problem => two.wrong(problem),
    })?;
    Ok(elements)
}

/// A line of printable ASCII without trailing spaces.
struct Line<'a> {
    text: &'a str,
    /// Counted from 1.
    place: usize,
}

impl<'a> Line<'a> {
    fn new(bytes: &'a [u8], place: usize) -> Result<Self, Error> {
        if let Some(index) = bytes.iter().position(|byte| !(b' '..=b'~').contains(byte)) {
            return Err(Problem::NotAscii { column: index + 1, byte: bytes[index] }.at(place));
        }
        // ASCII is UTF-8.
        let text = str::from_utf8(bytes).map_err(|_| Problem::NotAscii { column: 1, byte: bytes[0] }.at(place))?;
        Ok(Self { text, place })
    }

    fn wrong(&self, problem: Problem) -> Error {
        problem.at(self.place)
    }

    /// Length, checksum, and blanks between the fields.
    fn check_form(&self, blanks: &[usize]) -> Result<(), Error> {
        if self.text.len() != COLUMNS {
            return Err(self.wrong(Problem::Length { found: self.text.len() }));
        }
        let sum: u32 = self.text[..COLUMNS - 1].bytes().map(weight).sum();
        let found = char::from(self.text.as_bytes()[COLUMNS - 1]);
        if found.to_digit(10) != Some(sum % 10) {
            return Err(self.wrong(Problem::Checksum { found, computed: (sum % 10) as u8 }));
        }
        for &column in blanks {
            match char::from(self.text.as_bytes()[column - 1]) {
                ' ' => {}
                found => return Err(self.wrong(Problem::NotBlank { column, found })),
            }
        }
        Ok(())
    }

    /// Columns as they are counted in the documents: from 1, both included.
    fn columns(&self, first: usize, last: usize) -> &'a str {
        &self.text[first - 1..last]
    }

    fn unreadable(&self, field: &'static str, text: &str, expected: &'static str) -> Error {
        self.wrong(Problem::Unreadable { field, text: text.to_owned(), expected })
    }

    fn catalogue_number(&self, field: &'static str) -> Result<u64, Error> {
        let text = self.columns(3, 7);
        let expected = "a number, or Alpha-5";
        alpha_5(text.trim_start()).ok_or_else(|| self.unreadable(field, text, expected))
    }

    /// A decimal fraction, with a sign or without.
    fn number(&self, field: &'static str, first: usize, last: usize) -> Result<f64, Error> {
        let text = self.columns(first, last);
        decimal(text.trim()).ok_or_else(|| self.unreadable(field, text, "a number"))
    }

    /// Digits after a decimal point that is not written.
    fn fraction(&self, field: &'static str, first: usize, last: usize) -> Result<f64, Error> {
        let text = self.columns(first, last);
        let digits = text.trim();
        match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("0.{digits}").parse().map_err(|_| self.unreadable(field, text, "digits")),
            false => Err(self.unreadable(field, text, "digits")),
        }
    }

    /// `±ddddd±d`: digits after a decimal point that is not written, and a power of ten.
    fn exponential(&self, field: &'static str, first: usize, last: usize) -> Result<f64, Error> {
        let text = self.columns(first, last);
        assumed_point(text).ok_or_else(|| self.unreadable(field, text, "digits and an exponent, as in ` 38421-3`"))
    }

    /// A count, which may be left blank.
    fn count(&self, field: &'static str, first: usize, last: usize) -> Result<(), Error> {
        let text = self.columns(first, last);
        match text.trim().bytes().all(|byte| byte.is_ascii_digit()) {
            true => Ok(()),
            false => Err(self.unreadable(field, text, "a whole number")),
        }
    }

    /// Two digits of the year (57 is 1957, 56 is 2056), the day of the year from 1, and a fraction of it.
    fn epoch(&self) -> Result<Timestamp, Error> {
        let text = self.columns(19, 32);
        let wrong = || self.unreadable("epoch (columns 19-32)", text, "a year and a day, as in `25067.76655111`");
        let digits = |text: &str| -> Option<i64> {
            (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
        };
        let year = digits(&text[..2]).ok_or_else(wrong)?;
        let year = if year < 57 { 2000 + year } else { 1900 + year };
        let (day, fraction) = text[2..].trim_end().split_once('.').ok_or_else(wrong)?;
        let day = digits(day.trim_start()).ok_or_else(wrong)?;
        // At most eight digits; the width of the field bounds them.
        let scale = 10i64.pow(fraction.len() as u32);
        let fraction = digits(fraction).ok_or_else(wrong)?;
        let nanoseconds = i128::from(fraction) * 86_400_000_000_000 / i128::from(scale);
        let first = civil::Date::new(year as i16, 1, 1).map_err(|_| wrong())?;
        if !(1..=i64::from(first.days_in_year())).contains(&day) {
            return Err(wrong());
        }
        let midnight = first.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| wrong())?.timestamp();
        let since = SignedDuration::from_hours(24 * (day - 1)) + SignedDuration::from_nanos(nanoseconds as i64);
        midnight.checked_add(since).map_err(|_| wrong())
    }
}

/// What a character adds to the checksum.
fn weight(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'-' => 1,
        _ => 0,
    }
}

/// A catalogue number of up to five digits, the first of which may be a letter for 10 to 33; I and O are left out.
fn alpha_5(text: &str) -> Option<u64> {
    let (&first, rest) = text.as_bytes().split_first()?;
    if !rest.iter().all(u8::is_ascii_digit) {
        return None;
    }
    match first {
        b'0'..=b'9' => text.parse().ok(),
        b'A'..=b'Z' if rest.len() == 4 => {
            let place = b"ABCDEFGHJKLMNPQRSTUVWXYZ".iter().position(|&letter| letter == first)? as u64;
            Some((10 + place) * 10000 + text[1..].parse::<u64>().ok()?)
        }
        _ => None,
    }
}

/// A decimal fraction: sign, digits, point. Nothing else that a float's parser would take, such as `inf`.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = unsigned.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { text.parse().ok() } else { None }
}

fn assumed_point(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_at_checked(text.len() - 2)?;
    let (sign, digits) = match mantissa.as_bytes().first()? {
        b'-' => ("-", &mantissa[1..]),
        b'+' | b' ' => ("", &mantissa[1..]),
        _ => ("", mantissa),
    };
    let digits = digits.trim();
    let whole = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.trim_start_matches(['+', '-', ' ']);
    if !whole(digits) || !whole(power) || power.len() > 2 {
        return None;
    }
    format!("{sign}0.{digits}e{}", exponent.trim()).parse().ok()
}

#[cfg(test)]
mod tests;
