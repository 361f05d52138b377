//! Reports in several forms. Each form is a function from [`Report`] to text.

mod answer;
mod artifact;
mod comparison;
mod csv;
mod html;
mod json;
mod markdown;
mod page;
mod tex;
mod text;

pub use answer::Answer;
pub use artifact::{ARTIFACT_MARK, Maker, PREVIEW_MARK, artifact, preview, shell_path};
pub use comparison::render as render_comparison;

use crate::Quantity;
use crate::analysis::{Counted, Report, Row, TaskReport};
use crate::claims::Beside;

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For terminals and logs: one line per row.
    Text,
    /// The same, wrapped to the width of a terminal.
    Terminal {
        /// How many characters fit on a line.
        columns: usize,
    },
    /// For repositories and reviews.
    Markdown,
    /// For other programs: one row per line.
    Csv,
    /// The schema in ARCHITECTURE.md.
    Json,
    /// One self-contained web page with figures.
    Html,
    /// Tables for a paper, in LaTeX with package booktabs.
    Tex,
}

/// Renders reports one after the other, and the claims that stand beside their rows. CSV omits claims.
pub fn render(reports: &[Report], claims: &[Beside], form: Form) -> String {
    match form {
        Form::Text => text::render(reports, claims, None),
        Form::Terminal { columns } => text::render(reports, claims, Some(columns)),
        Form::Markdown => markdown::render(reports, claims),
        Form::Csv => csv::render(reports),
        Form::Json => json::render(reports, claims),
        Form::Html => html::render(reports, claims),
        Form::Tex => tex::render(reports, claims),
    }
}

/// The names of all quantities of a task, in the order in which they first appear.
fn quantity_names(task: &TaskReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for quantity in task.counted.iter().flat_map(|counted| &counted.quantities) {
        if !names.contains(&quantity.name.as_str()) {
            names.push(&quantity.name);
        }
    }
    names
}

/// The amount that a subject counted, with its unit.
fn amount(counted: &Counted, name: &str) -> Option<String> {
    counted.quantities.iter().find(|quantity| quantity.name == name).map(Quantity::amount)
}

/// A ratio with as many digits as its interval supports.
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

/// The floor in words. There is none if the control has no interval.
fn resolves(row: &Row) -> String {
    if row.floor.is_finite() { format!("resolves {:.1} %", row.floor * 100.0) } else { "resolves nothing yet".into() }
}
