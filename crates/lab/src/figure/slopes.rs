//! The slope chart: how each ratio of a task goes from column to column. A line that crosses 1 is a verdict that may flip.

use super::{Anchor, Figure, Ink, LogAxis, Mark, plain, text_width};
use crate::analysis::Row;
use crate::compare::{Comparison, Fate, Line, SharedTask};
use crate::verdict::Verdict;

/// The height of a label.
const LABEL: f64 = 16.0;
/// The least height of a panel.
const PANEL: f64 = 110.0;
const TOP: f64 = 74.0;
/// Half the width of the band of what a run can't resolve.
const BAND: f64 = 9.0;

const HOW_TO_READ: &str = "Each line is a subject of a task: its height in a column is the subject's time divided by the baseline's in the same rounds of a run there; \
                           above 1 the baseline takes less time. Strokes are intervals; the grey bands show what each run can't resolve. Disc: faster; diamond: \
                           slower; square: same; ring: can't tell. A strong line flips. Times of two columns are not divided by each other.";

/// The slope chart of a comparison. `None` where nothing was measured twice.
pub fn slopes(comparison: &Comparison) -> Option<Figure> {
    let drawn = |task: &&SharedTask| task.rows.iter().any(is_drawn);
    let tasks: Vec<&SharedTask> = comparison.tasks.iter().filter(drawn).collect();
    if tasks.is_empty() || comparison.columns.len() < 2 {
        return None;
    }
    let columns = comparison.columns.iter();
    let columns = columns
        .map(|column| format!("{}: {}, candor {}, {}", column.label, column.line(), column.commits(), column.runs()));
    let caption = format!("{HOW_TO_READ} {}.", columns.collect::<Vec<_>>().join("; "));
    let mut figure = Figure::titled("slopes", "How many times faster the baseline is, column by column", caption);
    figure.heading((16.0, 26.0), figure.title.clone());
    let heads: Vec<String> =
        comparison.columns.iter().map(|column| format!("{} {}", column.label, column.machine().short_name())).collect();
    let mut y = TOP - 28.0;
    for task in tasks {
        y = panel(&mut figure, &heads, task, y).unwrap_or(y);
    }
    figure.height = y + 8.0;
    Some(figure)
}

/// Only what was compared has a slope.
fn is_drawn(line: &Line) -> bool {
    matches!(line.fate, Fate::Reproduces | Fate::Flips | Fate::Differs | Fate::CantTell)
}

/// Draws a task below `y` and returns where it ends.
fn panel(figure: &mut Figure, heads: &[String], task: &SharedTask, y: f64) -> Option<f64> {
    let lines: Vec<(&Line, Vec<Option<&Row>>)> =
        task.rows.iter().filter(|line| is_drawn(line)).map(|line| (line, task.of(&line.subject))).collect();
    let labels: Vec<String> = lines.iter().map(|(line, _)| format!("{}  {}", line.subject, line.fate.word())).collect();
    let widest = labels.iter().map(|label| text_width(label, 12.0)).fold(0.0, f64::max).min(340.0);
    let (left, right) = (96.0, figure.width - widest - 40.0);
    let (top, bottom) = (y + 46.0, y + 46.0 + PANEL.max(LABEL * lines.len() as f64));
    let ends = lines.iter().flat_map(|(_, rows)| rows.iter().flatten()).flat_map(|row| {
        let interval = row.interval.map_or([row.ratio, row.ratio], |interval| [interval.low, interval.high]);
        [interval[0], interval[1], row.ratio, 1.0]
    });
    let up = LogAxis::over(ends, bottom, top)?;
    let across = |at: usize| left + (right - left) * (at as f64 + 0.5) / heads.len() as f64;

    figure.heading((16.0, y + 18.0), task.task.clone());
    for (at, head) in heads.iter().enumerate() {
        figure.text((across(at), y + 36.0), head, Anchor::Middle, Ink::Text);
        let floor = task.cells[at].as_ref().and_then(|cell| cell.baseline()).map_or(0.0, |row| row.floor.min(10.0));
        let (high, low) = (up.at(1.0 + floor), up.at(1.0 / (1.0 + floor)));
        figure.rect((across(at) - BAND, high), (2.0 * BAND, low - high), Ink::Band);
        figure.line((across(at), top), (across(at), bottom), Ink::Muted, 0.6);
    }
    let ticks = LogAxis { left: 0.0, right: bottom - top, ..up }.ticks(26.0);
    for tick in ticks {
        figure.line((left, up.at(tick)), (right, up.at(tick)), Ink::Muted, 0.6);
        figure.text((left - 8.0, up.at(tick) + 4.0), plain(tick), Anchor::End, Ink::Muted);
    }
    figure.line((left, up.at(1.0)), (right, up.at(1.0)), Ink::Text, 1.0);

    let mut ends: Vec<(f64, usize)> = Vec::new();
    for (number, (line, rows)) in lines.iter().enumerate() {
        let points: Vec<(f64, &Row)> = rows
            .iter()
            .enumerate()
            .filter_map(|(at, row)| Some((across(at), (*row)?)))
            .filter(|(_, row)| row.verdict != Verdict::Baseline)
            .collect();
        let (ink, width) = if line.fate == Fate::Flips { (Ink::Slower, 2.4) } else { (Ink::Open, 1.2) };
        for pair in points.windows(2) {
            figure.line((pair[0].0, up.at(pair[0].1.ratio)), (pair[1].0, up.at(pair[1].1.ratio)), ink, width);
        }
        for (x, row) in &points {
            let (mark, ink) = mark(row.verdict);
            if let Some(interval) = row.interval {
                figure.line((*x, up.at(interval.low)), (*x, up.at(interval.high)), ink, 1.8);
            }
            figure.mark((*x, up.at(row.ratio)), mark, ink);
        }
        ends.extend(points.last().map(|(_, row)| (up.at(row.ratio), number)));
    }
    for (y, number) in apart(ends, top, bottom) {
        let ink = if lines[number].0.fate == Fate::Flips { Ink::Slower } else { Ink::Text };
        figure.text((right + 12.0, y + 4.0), &labels[number], Anchor::Start, ink);
    }
    Some(bottom + 16.0)
}

fn mark(verdict: Verdict) -> (Mark, Ink) {
    match verdict {
        Verdict::Faster => (Mark::Circle, Ink::Faster),
        Verdict::Slower => (Mark::Diamond, Ink::Slower),
        Verdict::Same => (Mark::Square, Ink::Same),
        _ => (Mark::Ring, Ink::Open),
    }
}

/// Moves labels so that none covers another: in their order from the top, each at least a label below the one above, and all above the bottom.
fn apart(mut labels: Vec<(f64, usize)>, top: f64, bottom: f64) -> Vec<(f64, usize)> {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = top;
    for (y, _) in &mut labels {
        *y = y.max(least);
        least = *y + LABEL;
    }
    let mut most = bottom;
    for (y, _) in labels.iter_mut().rev() {
        *y = y.min(most);
        most = *y - LABEL;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_order_and_cover_none() {
        let labels = vec![(100.0, 0), (20.0, 1), (101.0, 2), (99.0, 3), (5000.0, 4)];
        let placed = apart(labels, 20.0, 130.0);
        assert_eq!(placed.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [1, 3, 0, 2, 4]);
        assert!(placed.windows(2).all(|pair| pair[1].0 - pair[0].0 >= LABEL), "{placed:?}");
        assert!(placed.iter().all(|(y, _)| (20.0..=130.0).contains(y)), "{placed:?}");
    }
}
