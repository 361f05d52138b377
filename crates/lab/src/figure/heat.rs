//! A table whose cells are coloured by their value.

use super::ink::HEATS;
use super::{Anchor, Figure, Ink, text_width};

/// A cell of a [`HeatMap`].
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What decides the colour: the palest is 0 and below, the darkest the largest of all cells.
    pub value: f64,
    /// What stands in it, a line or two.
    pub lines: Vec<String>,
}

/// A table of cells: a column for each name, and rows with their names.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows: a name, and a cell or nothing for each column.
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
}

const ROW: f64 = 36.0;

impl HeatMap {
    /// The figure. `None` without cells.
    pub fn draw(&self, mut figure: Figure) -> Option<Figure> {
        let values = self.rows.iter().flat_map(|(_, cells)| cells.iter().flatten().map(|cell| cell.value));
        let most = values.reduce(f64::max)?.max(f64::MIN_POSITIVE);
        let left = self.rows.iter().map(|(name, _)| text_width(name, 12.0)).fold(60.0, f64::max) + 32.0;
        let width = (figure.width - 16.0 - left) / self.columns.len().max(1) as f64;
        figure.heading((16.0, 26.0), figure.title.clone());
        let mut y = 62.0;
        for (column, name) in self.columns.iter().enumerate() {
            let middle = left + (column as f64 + 0.5) * width;
            figure.text((middle, y - 8.0), name, Anchor::Middle, Ink::Text);
        }
        for (name, cells) in &self.rows {
            figure.text((left - 10.0, y + ROW / 2.0 + 4.0), name, Anchor::End, Ink::Text);
            for (column, cell) in cells.iter().enumerate() {
                let x = left + column as f64 * width;
                let Some(cell) = cell else { continue };
                let heat = (cell.value.max(0.0) / most * (HEATS - 1) as f64).round() as usize;
                figure.rect((x, y), (width - 2.0, ROW - 2.0), Ink::Heat(heat));
                let first = y + ROW / 2.0 + 3.0 - 7.5 * (cell.lines.len().saturating_sub(1)) as f64;
                for (line, text) in cell.lines.iter().enumerate() {
                    let at = (x + (width - 2.0) / 2.0, first + 15.0 * line as f64);
                    figure.text(at, text, Anchor::Middle, Ink::OnHeat(heat));
                }
            }
            y += ROW;
        }
        figure.height = y + 12.0;
        Some(figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_the_darkest_and_nothing_has_no_colour() {
        let cell = |value: f64| Some(Cell { value, lines: vec![format!("{value} %"), "ms".into()] });
        let rows = vec![("a".to_owned(), vec![cell(-1.0), cell(10.0)]), ("b".to_owned(), vec![None, cell(5.0)])];
        let map = HeatMap { columns: vec!["x".into(), "y".into()], rows };
        let svg = map.draw(Figure::titled("heat", "Heat", "")).unwrap().svg();
        let count = |class: &str| svg.matches(&format!("class=\"{class}\"")).count();
        assert_eq!((count("h0"), count("h3"), count("h6")), (1, 1, 1));
        assert!(svg.contains(">10 %<") && svg.contains(">-1 %<"));
        assert!(HeatMap::default().draw(Figure::titled("heat", "Heat", "")).is_none());
    }
}
