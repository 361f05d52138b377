//! The distribution of each row: its processes, not only their median.

use super::simulated::is_simulated;
use super::{Anchor, Figure, Ink, LogAxis, Mark, text_width};
use crate::analysis::{Report, Row};
use crate::units::time;
use crate::verdict::Verdict;

const ROW: f64 = 19.0;
const HOW_TO_READ: &str = "Each dot is the median of one process. The bar spans the middle half of all epochs; the stroke is the \
                           median of the dots.";

pub(super) fn draw(report: &Report) -> Option<Figure> {
    let rows: Vec<&Row> = report.rows().map(|(_, row)| row).filter(|row| !is_simulated(row)).collect();
    if rows.is_empty() {
        return None;
    }
    let mut figure = Figure::new("distributions", "Time of an operation, process by process", report, HOW_TO_READ);
    let left = rows.iter().map(|row| text_width(&row.label(), 12.0)).fold(120.0, f64::max).min(330.0) + 24.0;
    let right = figure.width - 80.0;
    figure.heading((16.0, 26.0), figure.title.clone());
    let mut y = 40.0;
    for task in &report.tasks {
        let values = task
            .rows
            .iter()
            .filter(|row| !is_simulated(row))
            .flat_map(|row| row.process_medians_ns.iter().copied().chain([row.spread.p25, row.spread.p75]));
        let Some(axis) = LogAxis::over(values, left, right) else { continue };
        y += 18.0;
        figure.heading((16.0, y), task.task.clone());
        y += 10.0;
        let top = y;
        for row in &task.rows {
            let middle = y + ROW / 2.0;
            let ink = if row.verdict == Verdict::Baseline { Ink::Faster } else { Ink::Open };
            figure.text((left - 10.0, middle + 4.0), row.label(), Anchor::End, Ink::Text);
            let (from, to) = (axis.at(row.spread.p25), axis.at(row.spread.p75));
            figure.rect((from, middle - 5.0), (to - from, 10.0), Ink::Band);
            for &median in &row.process_medians_ns {
                figure.mark((axis.at(median), middle), Mark::Dot, ink);
            }
            let x = axis.at(row.median_ns);
            figure.line((x, middle - 7.0), (x, middle + 7.0), Ink::Text, 1.6);
            figure.text((right + 10.0, middle + 4.0), time(row.median_ns), Anchor::Start, Ink::Text);
            y += ROW;
        }
        for tick in axis.ticks(64.0) {
            let x = axis.at(tick);
            figure.shapes.insert(0, super::Shape::Line { from: (x, top), to: (x, y), ink: Ink::Muted, width: 0.6 });
            figure.text((x, y + 14.0), time(tick), Anchor::Middle, Ink::Muted);
        }
        y += 18.0;
    }
    figure.height = y + 12.0;
    Some(figure)
}
