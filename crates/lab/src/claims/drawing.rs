//! Figures that a claims file asks for: a publication's numbers, and the parts of a run that stand beside them.
//!
//! A figure has rows, and a row has parts. A part is a sum of quoted numbers or, in a row with a task, a sum of phases of the run (all of the
//! operation if it names none). `figure/quoted.rs` draws them.

use super::Claim;
use serde::Deserialize;

/// A figure of a claims file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// Its name in file names.
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// How it is drawn.
    pub form: Form,
    /// What a reader must know besides, in a sentence or two.
    #[serde(default)]
    pub note: String,
    /// From top to bottom.
    #[serde(rename = "row")]
    pub rows: Vec<DrawnRow>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A stacked bar a row, each as long as the others: shares of its own whole.
    Shares,
    /// A bar a row. What is quoted and what was measured have a scale each.
    Times,
    /// Marks for what is quoted; the processes and the middle half of all epochs for what was measured. A scale each.
    Spread,
    /// A table whose columns are the names of the parts.
    Table,
}

/// A row of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnRow {
    /// Its name.
    pub label: String,
    /// The task of the run; empty if all parts are quoted.
    #[serde(default)]
    pub task: String,
    /// The beginning of the subject's name; the baseline if empty.
    #[serde(default)]
    pub subject: String,
    /// From left to right.
    pub parts: Vec<Part>,
}

/// A part of a row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// The `what` of quoted numbers, which are added up.
    #[serde(default)]
    pub claims: Vec<String>,
    /// The phases of the row's task, which are added up.
    #[serde(default)]
    pub phases: Vec<String>,
    /// A quantity that the row's subject counted, instead of a time.
    #[serde(default)]
    pub quantity: String,
}

impl Drawing {
    /// What is wrong with the figure, given the file's claims.
    pub(super) fn fault(&self, claims: &[Claim]) -> Option<String> {
        let parts = || self.rows.iter().flat_map(|row| row.parts.iter().map(move |part| (row, part)));
        let unknown = parts().flat_map(|(_, part)| &part.claims).find(|what| !claims.iter().any(|c| c.what == **what));
        if let Some(what) = unknown {
            return Some(format!("figure {} quotes {what:?}, which no claim is called", self.name));
        }
        let sourceless = parts().find(|(row, part)| part.claims.is_empty() == row.task.is_empty());
        if let Some((row, part)) = sourceless.filter(|_| self.form != Form::Table) {
            return Some(format!(
                "figure {}, row {:?}, part {:?}: expected either claims or a task",
                self.name, row.label, part.name
            ));
        }
        let plain = !self.name.is_empty() && self.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        (!plain).then(|| format!("figure {:?}: expected a name of letters, digits and hyphens", self.name))
    }
}
