//! Report forms. Each is a function from [`Report`] to text.

mod csv;
mod html;
mod json;
mod markdown;
mod text;

use crate::Quantity;
use crate::analysis::{Counted, Report, Row, TaskReport};
use crate::claims::Beside;

/// A form that a report can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For the terminal.
    Text,
    /// For a repository or a review.
    Markdown,
    /// A row per line, for other programs.
    Csv,
    /// The schema of ARCHITECTURE.md.
    Json,
    /// One self-contained page with figures.
    Html,
}

/// Renders reports, several one after the other, and the claims that stand beside them. CSV has no place for claims.
pub fn render(reports: &[Report], claims: &[Beside], form: Form) -> String {
    match form {
        Form::Text => text::render(reports, claims),
        Form::Markdown => markdown::render(reports, claims),
        Form::Csv => csv::render(reports),
        Form::Json => json::render(reports, claims),
        Form::Html => html::render(reports, claims),
    }
}

/// The names of what a task's subjects counted, in the order in which they first appear: the columns of its table.
fn quantity_names(task: &TaskReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for quantity in task.counted.iter().flat_map(|counted| &counted.quantities) {
        if !names.contains(&quantity.name.as_str()) {
            names.push(&quantity.name);
        }
    }
    names
}

/// How much of it a subject counted, with the unit.
fn amount(counted: &Counted, name: &str) -> Option<String> {
    counted.quantities.iter().find(|quantity| quantity.name == name).map(Quantity::amount)
}

/// Nanoseconds with three significant digits and a unit that fits.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Bytes per second.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second {
        rate if rate < 1e9 => format!("{} MB/s", three_digits(rate / 1e6)),
        rate => format!("{} GB/s", three_digits(rate / 1e9)),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A ratio with as many digits as its interval can carry.
fn ratio(row: &Row, value: f64) -> String {
    let width = row.interval.map_or(1.0, |interval| (interval.high - interval.low).abs());
    let digits = if width < 0.02 && value < 10.0 {
        3
    } else if value < 100.0 {
        2
    } else {
        0
    };
    format!("{value:.digits$}")
}

fn interval(row: &Row) -> Option<String> {
    row.interval.map(|interval| format!("{} – {}", ratio(row, interval.low), ratio(row, interval.high)))
}

/// The floor in words; without a control interval there is none.
fn resolves(row: &Row) -> String {
    if row.floor.is_finite() { format!("resolves {:.1} %", row.floor * 100.0) } else { "resolves nothing yet".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_fitting_unit() {
        assert_eq!(time(13.92), "13.9 ns");
        assert_eq!(time(999.7), "1000 ns");
        assert_eq!(time(15_104.0), "15.1 µs");
        assert_eq!(time(2.5e6), "2.50 ms");
        assert_eq!(time(3e9), "3.00 s");
        assert_eq!(rate(1.583e9), "1.58 GB/s");
        assert_eq!(rate(437e6), "437 MB/s");
    }
}
