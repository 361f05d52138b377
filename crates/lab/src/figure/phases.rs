//! The phases of an operation as stacked bars.

use super::simulated::is_simulated;
use super::{Anchor, Figure, Ink, text_width};
use crate::analysis::{Phase, Report, Row};
use crate::units::time;
use crate::verdict::Verdict;

const BAR: f64 = 20.0;
const HOW_TO_READ: &str =
    "Each bar is a whole operation. Its parts are the medians of the phases, timed within the same samples.";

pub(super) fn draw(report: &Report) -> Option<Figure> {
    let phased = |row: &&Row| !row.phases.is_empty() && row.verdict != Verdict::Control && !is_simulated(row);
    let rows: Vec<&Row> = report.rows().map(|(_, row)| row).filter(phased).collect();
    if rows.is_empty() {
        return None;
    }
    let mut figure = Figure::new("phases", "Where the time goes", report, HOW_TO_READ);
    let left = rows.iter().map(|row| text_width(&row.label(), 12.0)).fold(120.0, f64::max).min(330.0) + 24.0;
    let right = figure.width - 90.0;
    figure.heading((16.0, 26.0), figure.title.clone());

    let mut y = 44.0;
    for task in &report.tasks {
        let rows: Vec<&Row> = task.rows.iter().filter(phased).collect();
        let parts = |row: &Row| parts(row, |phase| phase.median_ns);
        let longest = rows.iter().map(|row| whole(&parts(row))).fold(0.0, f64::max);
        if longest <= 0.0 {
            continue;
        }
        y += 16.0;
        figure.heading((16.0, y), task.task.clone());
        y += 20.0;
        y = legend(&mut figure, &rows, left, right, y);
        let names = names(rows.iter().copied());
        for row in &rows {
            y = bar(&mut figure, &row.label(), &parts(row), &names, longest, (left, right), y);
        }
        y += 8.0;
    }
    figure.height = y + 8.0;
    Some(figure)
}

/// A phase's name and length.
pub(super) type Part = (String, f64);

/// A row's phases, each as long as `ns` says.
pub(super) fn parts(row: &Row, ns: impl Fn(&Phase) -> f64) -> Vec<Part> {
    row.phases.iter().map(|phase| (phase.name.clone(), ns(phase))).collect()
}

/// A row's phases side by side; returns where the next row begins. `names` are those of all phases of the task, so that each has one colour.
pub(super) fn bar(
    figure: &mut Figure,
    label: &str,
    parts: &[Part],
    names: &[&str],
    longest: f64,
    (left, right): (f64, f64),
    y: f64,
) -> f64 {
    figure.text((left - 10.0, y + BAR * 0.68), label, Anchor::End, Ink::Text);
    let mut x = left;
    for (name, ns) in parts {
        let width = ns / longest * (right - left);
        let series = names.iter().position(|known| known == name).unwrap_or(0);
        figure.rect((x, y), (width, BAR), Ink::Series(series));
        let share = format!("{:.0} %", ns / whole(parts) * 100.0);
        if text_width(&share, 12.0) + 6.0 < width {
            figure.text((x + width / 2.0, y + BAR * 0.7), share, Anchor::Middle, Ink::OnSeries(series));
        }
        x += width;
    }
    figure.text((x + 8.0, y + BAR * 0.7), time(whole(parts)), Anchor::Start, Ink::Text);
    y + BAR + 6.0
}

pub(super) fn whole(parts: &[Part]) -> f64 {
    parts.iter().map(|(_, ns)| ns).sum()
}

pub(super) fn names<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for phase in rows.flat_map(|row| &row.phases) {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    names
}

pub(super) fn legend(figure: &mut Figure, rows: &[&Row], left: f64, right: f64, mut y: f64) -> f64 {
    let mut x = left;
    for (i, name) in names(rows.iter().copied()).into_iter().enumerate() {
        let width = 34.0 + text_width(name, 12.0);
        if x + width > right && x > left {
            x = left;
            y += 18.0;
        }
        figure.rect((x, y - 10.0), (12.0, 12.0), Ink::Series(i));
        figure.text((x + 18.0, y), name, Anchor::Start, Ink::Text);
        x += width;
    }
    y + 12.0
}
