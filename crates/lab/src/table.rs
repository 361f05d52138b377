//! Tables for people, and paragraphs: aligned by the width that a terminal gives each character, wrapped to the terminal's
//! width where there is one.
//!
//! The columns are our own few lines rather than a table library's, because those break any column that is too wide: a
//! number in two lines can't be read. Here only the last column is broken, and a reader of the [stacked](Table::rows) form
//! puts other lines between the rows.

use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

/// The least room for the last column. With less it begins below the others.
const LEAST_ROOM: usize = 16;

/// How far a last column that begins below the others is indented.
const INDENT: usize = 4;

/// On which side of a column its text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A table without lines. Columns are two spaces apart; the last one is always left-aligned and the only one that wraps.
///
/// ```
/// use candor_lab::table::{Align, Table};
///
/// let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
/// table.row(["µs", "1", "one"]);
/// table.row(["seconds", "100", "a hundred of them"]);
/// assert_eq!(table.text(None), "µs         1  one\nseconds  100  a hundred of them\n");
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[Align]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells are empty; those beyond the last column are dropped.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// How wide the table is if nothing is wrapped.
    pub fn width(&self) -> usize {
        let last = self.columns.len().saturating_sub(1);
        self.indent() + self.rows.iter().map(|row| width(&row[last])).max().unwrap_or(0)
    }

    /// Whether it stands in that many columns, with its last column wrapped beside the others.
    pub fn fits(&self, columns: usize) -> bool {
        self.width() <= columns || self.indent() + LEAST_ROOM <= columns
    }

    /// The table, no wider than `columns` if that is given and the other columns leave room.
    pub fn text(&self, columns: Option<usize>) -> String {
        self.rows(columns).concat()
    }

    /// The same row by row: each is one line or more.
    pub fn rows(&self, columns: Option<usize>) -> Vec<String> {
        let widths = self.widths();
        let indent = self.indent();
        self.rows
            .iter()
            .map(|row| {
                let (last, cells) = row.split_last().map_or(("", &[][..]), |(last, cells)| (last.as_str(), cells));
                let cells = cells.iter().zip(&widths).zip(&self.columns);
                let head: String = cells.map(|((cell, &wide), &align)| pad(cell, wide, align) + "  ").collect();
                match columns {
                    _ if last.is_empty() => format!("{}\n", head.trim_end()),
                    Some(columns) if columns < indent + LEAST_ROOM && width(last) + indent > columns => {
                        let below = " ".repeat(INDENT);
                        format!("{}\n{}", head.trim_end(), wrapped(last, &below, &below, columns))
                    }
                    Some(columns) => wrapped(last, &head, &" ".repeat(indent), columns),
                    None => format!("{}\n", format!("{head}{last}").trim_end()),
                }
            })
            .collect()
    }

    /// The widest cell of each column but the last.
    fn widths(&self) -> Vec<usize> {
        let columns = 0..self.columns.len().saturating_sub(1);
        columns.map(|column| self.rows.iter().map(|row| width(&row[column])).max().unwrap_or(0)).collect()
    }

    /// Where the last column begins.
    fn indent(&self) -> usize {
        self.widths().iter().map(|wide| wide + 2).sum()
    }
}

/// A paragraph that begins with `mark` and whose further lines begin below its text.
pub fn paragraph(mark: &str, text: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => wrapped(text, mark, &" ".repeat(width(mark)), columns),
        None => format!("{mark}{text}\n"),
    }
}

fn width(text: &str) -> usize {
    text.lines().map(display_width).max().unwrap_or(0)
}

fn pad(text: &str, wide: usize, align: Align) -> String {
    let space = " ".repeat(wide.saturating_sub(width(text)));
    match align {
        Align::Left => format!("{text}{space}"),
        Align::Right => format!("{space}{text}"),
    }
}

/// Text between words: a name with hyphens stays whole, so that it can be copied.
fn wrapped(text: &str, first: &str, further: &str, columns: usize) -> String {
    let columns = columns.max(width(first) + 1).max(width(further) + 1);
    let options = Options::new(columns).initial_indent(first).subsequent_indent(further);
    let options = options.word_splitter(WordSplitter::NoHyphenation).break_words(false);
    let lines = textwrap::wrap(text, options);
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        table.row(["subject", "median", "verdict"]);
        table.row(["libcrux-ml-kem-0.0.11", "13.9 µs", "can't tell: quiet the machine, or use a larger --budget"]);
        table.row(["openssl", "999 ns", "faster"]);
        table
    }

    #[test]
    fn without_a_terminal_every_row_is_one_line() {
        let text = table().text(None);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("openssl                 999 ns  faster\n"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_wraps_the_last_column_only_and_below_itself() {
        let text = table().text(Some(60));
        let expected = "\
subject                 median  verdict
libcrux-ml-kem-0.0.11  13.9 µs  can't tell: quiet the
                                machine, or use a larger
                                --budget
openssl                 999 ns  faster
";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| width(line) <= 60));
    }

    #[test]
    fn with_no_room_beside_the_others_the_last_column_goes_below_them() {
        let rows = table().rows(Some(40));
        assert_eq!(
            rows[1],
            "libcrux-ml-kem-0.0.11  13.9 µs\n    can't tell: quiet the machine, or\n    use a larger --budget\n"
        );
        assert_eq!(rows[2], "openssl                 999 ns  faster\n", "what fits stays where it is");
    }

    #[test]
    fn a_row_whose_last_cell_is_empty_keeps_the_others() {
        let mut table = Table::new(&[Align::Right, Align::Left]);
        table.row(["13.9 ns"]);
        assert_eq!(table.text(Some(60)), "13.9 ns\n");
        assert_eq!(table.text(Some(5)), "13.9 ns\n");
        assert_eq!(table.text(None), "13.9 ns\n");
    }

    #[test]
    fn characters_count_by_the_cells_that_they_take() {
        let mut table = Table::new(&[Align::Left, Align::Left]);
        table.row(["国密", "two cells each"]);
        table.row(["e\u{301}", "one cell for both"]);
        assert_eq!(table.text(None), "国密  two cells each\ne\u{301}     one cell for both\n");
        assert_eq!(table.width(), 6 + "one cell for both".len());
    }

    #[test]
    fn no_width_makes_it_panic_or_lose_a_word() {
        for columns in 0..80 {
            let text = table().text(Some(columns));
            for word in ["libcrux-ml-kem-0.0.11", "13.9", "--budget", "faster"] {
                assert!(text.contains(word), "{columns}: {text}");
            }
        }
        assert_eq!(paragraph("! ", "a b", Some(0)), "! a\n  b\n");
        assert_eq!(Table::new(&[]).text(Some(10)), "");
    }
}
