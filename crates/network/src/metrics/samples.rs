//! One number with its name and labels, as text and back.

use crate::Error;
use std::fmt::{Display, Write};

/// The most samples that a text may have.
pub const MOST_SAMPLES: usize = 4096;
/// The most labels of a sample.
const MOST_LABELS: usize = 16;

/// A number, with its name and labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its name.
    pub name: String,
    /// Its labels and their values, in their order.
    pub labels: Vec<(String, String)>,
    /// Its value.
    pub value: f64,
}

impl Sample {
    /// The value of a label.
    pub fn label(&self, wanted: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == wanted).map(|(_, value)| value.as_str())
    }
}

/// Writes `NAME{LABEL="VALUE",…} NUMBER`.
pub(super) fn write(text: &mut String, name: &str, labels: &[(&str, &str)], value: &dyn Display) {
    text.push_str(name);
    let mut open = '{';
    for (label, value) in labels {
        let _ = write!(text, "{open}{label}=\"");
        for c in value.chars() {
            match c {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                c => text.push(c),
            }
        }
        text.push('"');
        open = ',';
    }
    if !labels.is_empty() {
        text.push('}');
    }
    let _ = writeln!(text, " {value}");
}

/// Reads a text of samples, as the roles serve it. Comments and empty lines are passed over; times after a value are not expected.
///
/// # Errors
/// [`Error::Metrics`], with the line at fault.
pub fn parse(text: &str) -> Result<Vec<Sample>, Error> {
    let mut samples = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: &'static str| Error::Metrics { line: number + 1, why };
        if samples.len() == MOST_SAMPLES {
            return Err(wrong("too many samples; expected at most 4096"));
        }
        samples.push(sample(line).map_err(wrong)?);
    }
    Ok(samples)
}

fn sample(line: &str) -> Result<Sample, &'static str> {
    let (name, mut rest) = word(line).ok_or("expected a name of letters, digits, `_` and `:`")?;
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            if labels.len() == MOST_LABELS {
                return Err("too many labels; expected at most 16");
            }
            let (label, after) = word(rest).ok_or("expected a label")?;
            let quoted = after.strip_prefix("=\"").ok_or("expected `=\"` after a label")?;
            let (value, after) = unquoted(quoted).ok_or("expected a value that ends in `\"`")?;
            labels.push((label.to_owned(), value));
            rest = match after.strip_prefix(',') {
                Some(more) => more,
                None if after.starts_with('}') => after,
                None => return Err("expected `,` or `}` after a label's value"),
            };
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').ok_or("expected a space before the value")?;
    let value = value.parse().map_err(|_| "expected a number")?;
    Ok(Sample { name: name.to_owned(), labels, value })
}

/// A name at the beginning of the text, and what follows.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit())).then_some((word, rest))
}

/// A label's value up to its quotation mark, and what follows that.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                c @ ('"' | '\\') => c,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(samples: &[Sample]) -> String {
        let mut text = "# HELP a b\n\n".to_owned();
        for sample in samples {
            let labels: Vec<_> = sample.labels.iter().map(|(label, value)| (label.as_str(), value.as_str())).collect();
            write(&mut text, &sample.name, &labels, &sample.value);
        }
        text
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            samples in prop::collection::vec(
                ("[a-zA-Z_:][a-zA-Z0-9_:]{0,8}", prop::collection::vec(("[a-z_][a-z0-9_]{0,4}", "\\PC{0,6}|[\"\\\\\n{},=]{0,6}"), 0..4), any::<f64>()),
                0..8,
            ),
        ) {
            let samples: Vec<_> = samples.into_iter().filter(|(_, _, value)| !value.is_nan())
                .map(|(name, labels, value)| Sample { name, labels, value }).collect();
            prop_assert_eq!(parse(&written(&samples)).unwrap(), samples);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|\n|[a-z{}=\",\\\\ 0-9]){0,60}") {
            if let Ok(samples) = parse(&text) {
                prop_assert!(samples.len() <= text.lines().count());
            }
        }
    }

    #[test]
    fn a_line_that_is_no_sample_is_refused_with_its_number() {
        for (line, what) in [
            ("1a 2", "expected a name"),
            ("a", "expected a space"),
            ("a x", "expected a number"),
            ("a 1 1700000000", "expected a number"),
            ("a{b=\"c\" 1", "expected `,` or `}`"),
            ("a{b=\"c} 1", "expected a value"),
            ("a{b=\"\\x\"} 1", "expected a value"),
            ("a{b=c} 1", "expected `=\"`"),
            ("a{\"b\"} 1", "expected a label"),
        ] {
            let error = parse(&format!("fine{{b=\"c\"}} 1\n{line}\n")).unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains(what), "{line}: {error}");
        }
        let most = "a 1\n".repeat(MOST_SAMPLES);
        assert_eq!(parse(&most).unwrap().len(), MOST_SAMPLES);
        assert!(parse(&(most + "a 1\n")).unwrap_err().to_string().contains("too many samples"));
        let many = |labels: usize| format!("a{{{}}} 1", vec!["b=\"\""; labels].join(","));
        assert!(parse(&many(MOST_LABELS)).is_ok() && parse(&many(MOST_LABELS + 1)).is_err());
    }
}
