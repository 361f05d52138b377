//! A comparison in the forms that reports have. Text, Markdown, the web page and LaTeX show the same sections; CSV and JSON have nothing rounded.

mod data;
mod forms;
mod sections;

use super::Form;
use crate::compare::{Comparison, Quoted};

/// Renders a comparison, and the published numbers beside it. CSV omits those.
pub fn render(comparison: &Comparison, quoted: &[Quoted], form: Form) -> String {
    let sections = || sections::of(comparison, quoted);
    match form {
        Form::Text => forms::text(&sections(), None),
        Form::Terminal { columns } => forms::text(&sections(), Some(columns)),
        Form::Markdown => forms::markdown(&sections()),
        Form::Html => forms::html(comparison, &sections()),
        Form::Tex => forms::tex(&sections()),
        Form::Csv => data::csv(comparison),
        Form::Json => data::json(comparison, quoted),
    }
}

/// A heading, paragraphs, and a table between them.
struct Section {
    title: String,
    /// Whether it is one of the tasks, which a page finds by their names.
    is_task: bool,
    /// Before the table.
    what: Vec<String>,
    /// The table: its head, then its rows. Empty if there is none.
    rows: Vec<Vec<Piece>>,
    /// After the table.
    notes: Vec<String>,
}

/// What stands in a field of a table, and what it means.
#[derive(Clone, Default)]
struct Piece {
    text: String,
    /// `faster`, `slower`, `same` or nothing, for colours.
    class: &'static str,
    /// Whether it is words, which may be wrapped, and no number.
    is_words: bool,
}

impl Piece {
    fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "", is_words: true }
    }

    fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "", is_words: false }
    }

    fn meaning(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}
