//! The forest plot: every comparison as a mark with its interval, and the range of differences that the run can't resolve.

use super::{Anchor, Figure, Ink, LogAxis, Mark, Shape, plain, text_width};
use crate::analysis::{Report, Row};
use crate::verdict::Verdict;

const ROW: f64 = 19.0;
const HEAD: f64 = 26.0;
const TOP: f64 = 74.0;

const HOW_TO_READ: &str = "To the right of 1 the baseline takes less time than the subject, to the left more. The line through a \
                           mark is its interval; the grey band shows differences that this run can't resolve. Disc: faster; \
                           diamond: slower; square: same; ring: can't tell.";

pub(super) fn draw(report: &Report) -> Option<Figure> {
    // A row that does other work, or was not paired, compares nothing here.
    let shown = |row: &&Row| !matches!(row.verdict, Verdict::Baseline | Verdict::Control | Verdict::None);
    let rows: Vec<&Row> = report.rows().map(|(_, row)| row).filter(shown).collect();
    if rows.is_empty() {
        return None;
    }
    let mut figure = Figure::new("ratios", "How many times faster the baseline is", report, HOW_TO_READ);
    let names = rows.iter().map(|row| row.label());
    let left = names.map(|name| text_width(&name, 12.0)).fold(120.0, f64::max).min(330.0) + 24.0;
    let right = figure.width - 128.0;
    let ends = rows.iter().flat_map(|row| {
        let interval = row.interval.map_or([row.ratio, row.ratio], |interval| [interval.low, interval.high]);
        [interval[0], interval[1], row.ratio, 1.0]
    });
    let axis = LogAxis::over(ends, left, right)?;

    figure.heading((16.0, 26.0), figure.title.clone());
    legend(&mut figure, 46.0);
    let mut y = TOP;
    // Where each task's rows begin and end: no grid line crosses a heading.
    let mut blocks = Vec::new();
    for task in &report.tasks {
        let rows: Vec<&Row> = task.rows.iter().filter(shown).collect();
        let Some(baseline) = task.rows.first().filter(|_| !rows.is_empty()) else { continue };
        figure.heading((16.0, y + 14.0), format!("{} (baseline {})", task.task, baseline.subject));
        y += HEAD;
        let top = y - 4.0;
        let floor = baseline.floor.min(10.0);
        let (low, high) = (axis.at(1.0 / (1.0 + floor)), axis.at(1.0 + floor));
        figure.rect((low, y - 4.0), (high - low, ROW * rows.len() as f64), Ink::Band);
        for row in rows {
            draw_row(&mut figure, &axis, row, y + 6.0);
            y += ROW;
        }
        blocks.push((top, y - 4.0));
        y += 6.0;
    }
    for tick in axis.ticks(44.0) {
        let x = axis.at(tick);
        for (top, bottom) in &blocks {
            figure.shapes.insert(0, Shape::Line { from: (x, *top), to: (x, *bottom), ink: Ink::Muted, width: 0.6 });
        }
        figure.text((x, y + 16.0), plain(tick), Anchor::Middle, Ink::Muted);
    }
    let one = axis.at(1.0);
    for (top, bottom) in blocks {
        figure.line((one, top), (one, bottom), Ink::Text, 1.0);
    }
    figure.text(
        ((left + right) / 2.0, y + 34.0),
        "time of the subject / time of the baseline",
        Anchor::Middle,
        Ink::Muted,
    );
    figure.height = y + 48.0;
    Some(figure)
}

fn draw_row(figure: &mut Figure, axis: &LogAxis, row: &Row, y: f64) {
    let (mark, ink) = match row.verdict {
        Verdict::Faster => (Mark::Circle, Ink::Faster),
        Verdict::Slower => (Mark::Diamond, Ink::Slower),
        Verdict::Same => (Mark::Square, Ink::Same),
        _ => (Mark::Ring, Ink::Open),
    };
    figure.text((axis.left - 10.0, y + 4.0), row.label(), Anchor::End, Ink::Text);
    if let Some(interval) = row.interval {
        figure.line((axis.at(interval.low), y), (axis.at(interval.high), y), ink, 1.8);
    }
    figure.mark((axis.at(row.ratio), y), mark, ink);
    let text = format!("{:.2} {}", row.ratio, row.verdict.word());
    figure.text((axis.right + 12.0, y + 4.0), text, Anchor::Start, ink);
}

fn legend(figure: &mut Figure, y: f64) {
    let mut x = 16.0;
    let entries = [
        (Mark::Circle, Ink::Faster, "baseline faster"),
        (Mark::Diamond, Ink::Slower, "baseline slower"),
        (Mark::Square, Ink::Same, "same within 2 %"),
        (Mark::Ring, Ink::Open, "can't tell"),
    ];
    for (mark, ink, text) in entries {
        figure.mark((x + 5.0, y - 4.0), mark, ink);
        figure.text((x + 15.0, y), text, Anchor::Start, Ink::Text);
        x += 30.0 + text_width(text, 12.0);
    }
    figure.rect((x, y - 10.0), (14.0, 12.0), Ink::Band);
    figure.text((x + 20.0, y), "not resolved", Anchor::Start, Ink::Text);
}
