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
    /// For the terminal and for logs: a line per row.
    Text,
    /// The same for a terminal that is so many columns wide.
    Terminal {
        /// How many characters fit into a line.
        columns: usize,
    },
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
        Form::Text => text::render(reports, claims, None),
        Form::Terminal { columns } => text::render(reports, claims, Some(columns)),
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
