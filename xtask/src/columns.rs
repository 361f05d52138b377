//! Text in columns.

pub(crate) use comfy_table::CellAlignment as Align;
use comfy_table::{ContentArrangement, Table, presets};

/// One line for each row, its cells aligned by the width of their characters, two spaces between columns. Cells hold no line breaks.
pub(crate) fn lines<const N: usize>(aligned: [Align; N], rows: impl IntoIterator<Item = [String; N]>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    for row in rows {
        table.add_row(row);
    }
    for (column, align) in table.column_iter_mut().zip(aligned) {
        column.set_padding((0, 2)).set_cell_alignment(align);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_every_row_is_a_line() {
        let rows = [["a", "µs", "short"], ["bbb", "1", &"long ".repeat(60)]];
        let found = lines([Align::Left, Align::Right, Align::Left], rows.map(|row| row.map(str::to_owned)));
        assert_eq!(found, ["a    µs  short".to_owned(), format!("bbb   1  {}", "long ".repeat(60).trim_end())]);
    }
}
