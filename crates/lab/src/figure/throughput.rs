//! Throughput by message size: a panel for each family of tasks that differ only in the number of bytes.
//!
//! A task belongs to a family if the last segment of its name is its number of bytes: `hash/sha256/64k` processes 65536.

use super::{Anchor, Figure, Ink, LogAxis, Mark, plain, text_width};
use crate::analysis::{Report, Row, TaskReport};
use crate::units::rate;
use crate::verdict::Verdict;

const TOP: f64 = 40.0;
/// The least height of a panel.
const PANEL: f64 = 190.0;
/// The height of a label.
const LABEL: f64 = 15.0;

const HOW_TO_READ: &str = "Each line is a subject and each mark the median of a task. The stroke through a mark spans the middle half \
                           of all epochs, if it is longer than the mark. Labels are in the order at the largest size.";

/// Tasks of one family, in the order of their bytes.
struct Family<'a> {
    name: &'a str,
    tasks: Vec<(u64, &'a TaskReport)>,
}

/// A subject's line.
struct Line<'a> {
    label: String,
    points: Vec<(u64, &'a Row)>,
}

impl Line<'_> {
    /// Bytes per second at the largest size that the subject was measured with.
    fn last(&self) -> f64 {
        self.points.last().map_or(0.0, |&(bytes, row)| speed(bytes, row.median_ns))
    }
}

pub(super) fn draw(report: &Report) -> Option<Figure> {
    let families = families(report);
    if families.is_empty() {
        return None;
    }
    let mut figure = Figure::new("throughput", "Throughput by message size", report, HOW_TO_READ);
    figure.heading((16.0, 26.0), figure.title.clone());
    // A subject has one colour and one mark in all panels, the baseline the first.
    let mut subjects: Vec<String> = Vec::new();
    for line in families.iter().flat_map(|family| family.tasks.iter().flat_map(|(_, task)| &task.rows)) {
        let label = line.label();
        if line.verdict != Verdict::Control && !subjects.contains(&label) {
            subjects.push(label);
        }
    }
    let mut y = TOP;
    for family in &families {
        y = panel(&mut figure, family, &subjects, y);
    }
    figure.height = y;
    Some(figure)
}

/// The families with at least two sizes, in the order of the report.
fn families(report: &Report) -> Vec<Family<'_>> {
    let mut families: Vec<Family> = Vec::new();
    for task in report.tasks.iter().filter(|task| !task.rows.is_empty()) {
        let Some(bytes) = task.bytes else { continue };
        let Some(name) = task.task.strip_suffix(&size(bytes)).and_then(|name| name.strip_suffix('/')) else { continue };
        match families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.tasks.push((bytes, task)),
            None => families.push(Family { name, tasks: vec![(bytes, task)] }),
        }
    }
    for family in &mut families {
        family.tasks.sort_by_key(|(bytes, _)| *bytes);
    }
    families.retain(|family| family.tasks.len() > 1);
    families
}

/// A size as in names of tasks: `1k`, `10m`, or the number of bytes if it is neither.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{}m", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{}k", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

fn speed(bytes: u64, ns: f64) -> f64 {
    bytes as f64 * 1e9 / ns
}

/// The subjects' lines, the fastest at the largest size first, without the control.
fn lines<'a>(family: &Family<'a>) -> Vec<Line<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    for &(bytes, task) in &family.tasks {
        for row in task.rows.iter().filter(|row| row.verdict != Verdict::Control) {
            let label = row.label();
            match lines.iter_mut().find(|line| line.label == label) {
                Some(line) => line.points.push((bytes, row)),
                None => lines.push(Line { label, points: vec![(bytes, row)] }),
            }
        }
    }
    lines.sort_by(|a, b| b.last().total_cmp(&a.last()));
    lines
}

/// Draws a family below `y` and returns where it ends.
fn panel(figure: &mut Figure, family: &Family, subjects: &[String], y: f64) -> f64 {
    let lines = lines(family);
    let labels: Vec<String> = lines.iter().map(|line| format!("{} {}", line.label, rate(line.last()))).collect();
    let widest = labels.iter().map(|label| text_width(label, 12.0)).fold(0.0, f64::max).min(360.0);
    let (left, right) = (84.0, figure.width - widest - 56.0);
    let top = y + 46.0;
    let bottom = top + PANEL.max(LABEL * lines.len() as f64);
    let sizes: Vec<u64> = family.tasks.iter().map(|(bytes, _)| *bytes).collect();
    let fastest = lines.iter().flat_map(|line| &line.points).map(|(bytes, row)| speed(*bytes, row.spread.p25));
    let fastest = fastest.fold(0.0, f64::max);
    let Some(x) = LogAxis::over(sizes.iter().map(|&bytes| bytes as f64), left, right) else { return y };
    let step = step(fastest);
    let highest = (fastest / step).ceil().max(1.0) * step;
    let height = |speed: f64| bottom - (speed / highest).clamp(0.0, 1.0) * (bottom - top);

    figure.heading((16.0, y + 18.0), family.name);
    let (unit, scale) = if highest < 1e9 { ("MB/s", 1e6) } else { ("GB/s", 1e9) };
    figure.text((left - 10.0, top - 12.0), unit, Anchor::End, Ink::Muted);
    for i in 0..=(highest / step).round() as usize {
        let value = i as f64 * step;
        figure.line((left, height(value)), (right, height(value)), Ink::Muted, 0.6);
        figure.text((left - 10.0, height(value) + 4.0), plain(value / scale), Anchor::End, Ink::Muted);
    }
    for &bytes in &sizes {
        figure.line((x.at(bytes as f64), top), (x.at(bytes as f64), bottom), Ink::Muted, 0.6);
        figure.text((x.at(bytes as f64), bottom + 16.0), size(bytes), Anchor::Middle, Ink::Muted);
    }
    figure.text(((left + right) / 2.0, bottom + 34.0), "message size in bytes", Anchor::Middle, Ink::Muted);

    let heights = lines.iter().map(|line| height(line.last())).collect::<Vec<_>>();
    let places = apart(&heights, LABEL, top - 8.0, bottom + 8.0);
    // The fastest last, so that it lies on top.
    for (i, line) in lines.iter().enumerate().rev() {
        let at = |&(bytes, row): &(u64, &Row)| (x.at(bytes as f64), height(speed(bytes, row.median_ns)));
        let series = subjects.iter().position(|subject| *subject == line.label).unwrap_or(i);
        let ink = Ink::Series(series);
        for pair in line.points.windows(2) {
            figure.line(at(&pair[0]), at(&pair[1]), ink, 1.8);
        }
        for point in &line.points {
            let (bytes, row) = *point;
            let centre = at(point);
            let ends = (height(speed(bytes, row.spread.p25)), height(speed(bytes, row.spread.p75)));
            figure.line((centre.0, ends.0), (centre.0, ends.1), ink, 1.4);
            figure.mark(centre, mark(series), ink);
        }
        let end = line.points.last().map(at).unwrap_or((right, bottom));
        figure.line((end.0 + 7.0, end.1), (right + 22.0, places[i]), Ink::Muted, 0.8);
        figure.mark((right + 30.0, places[i]), mark(series), ink);
        figure.text((right + 40.0, places[i] + 4.0), labels[i].clone(), Anchor::Start, Ink::Text);
    }
    bottom + 52.0
}

/// A different shape for neighbours, and for lines that share a colour.
fn mark(i: usize) -> Mark {
    [Mark::Circle, Mark::Diamond, Mark::Square, Mark::Ring][(i + i / 8) % 4]
}

/// A round step that gives four to eight lines up to `highest`.
fn step(highest: f64) -> f64 {
    let decade = 10f64.powf((highest.max(1.0) / 4.0).log10().floor());
    let fits = |step: &f64| highest / step <= 8.0;
    [decade, 2.0 * decade, 5.0 * decade].into_iter().find(fits).unwrap_or(10.0 * decade)
}

/// Places for labels near their `wanted` places (in ascending order): at least `gap` apart, between `low` and `high` if they
/// fit, and no further away than necessary.
fn apart(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut places: Vec<f64> = wanted.to_vec();
    // Downwards, each label keeps its distance from the one above …
    let mut least = low;
    for place in &mut places {
        *place = place.max(least);
        least = *place + gap;
    }
    // … and upwards, from the lower end and the one below.
    let mut most = high;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provenance;
    use crate::analysis::{Epochs, Spread};
    use crate::figure::Shape;
    use crate::figure::sample;

    fn row(subject: &str, median_ns: f64, verdict: Verdict) -> Row {
        Row {
            other_work: None,
            subject: subject.into(),
            provenance: Provenance::default(),
            evidence: crate::Evidence::MeasuredPaired,
            median_ns,
            process_medians_ns: vec![median_ns],
            spread: Spread { min: median_ns, p25: median_ns, p75: median_ns, ..Spread::default() },
            ratio: 1.0,
            interval: None,
            floor: 0.01,
            verdict,
            advice: None,
            phases: Vec::new(),
            residual: None,
            follows_itself: None,
            outcomes: None,
            used: None,
            samples: (1, 1),
        }
    }

    fn task(name: &str, bytes: Option<u64>, ns: f64) -> TaskReport {
        let rows = vec![
            row("ours", ns, Verdict::Baseline),
            row("peer", ns * 2.0, Verdict::Faster),
            row("ours#2", ns, Verdict::Control),
        ];
        TaskReport {
            task: name.into(),
            what: String::new(),
            bytes,
            rows,
            counted: Vec::new(),
            refusals: Vec::new(),
            epochs: Epochs::default(),
        }
    }

    #[test]
    fn a_family_consists_of_tasks_that_differ_only_in_bytes() {
        let report = sample(vec![
            task("sum/64k", Some(64 << 10), 65.0),
            task("sum/1k", Some(1 << 10), 1.0),
            task("sum/batch8", Some(8 << 10), 2.0),
            task("mix/1k", None, 1.0),
            task("alone/1k", Some(1 << 10), 1.0),
        ]);
        let families = families(&report);
        assert_eq!(families.len(), 1);
        let sizes: Vec<u64> = families[0].tasks.iter().map(|(bytes, _)| *bytes).collect();
        assert_eq!((families[0].name, sizes), ("sum", vec![1 << 10, 64 << 10]));
    }

    #[test]
    fn each_subject_has_one_line_and_the_control_none() {
        let report = sample(vec![task("sum/1k", Some(1 << 10), 512.0), task("sum/1m", Some(1 << 20), 524288.0)]);
        let figure = draw(&report).unwrap();
        let svg = figure.svg();
        assert_eq!(svg.matches("ours 2.00 GB/s").count(), 1, "{svg}");
        assert_eq!(svg.matches("peer 1.00 GB/s").count(), 1, "{svg}");
        assert!(!svg.contains("#2"), "{svg}");
    }

    #[test]
    fn a_subject_has_the_same_colour_in_every_panel() {
        // In the second family the peer is the faster one, so that its line is the first there.
        let turned = |name: &str, bytes: u64, ns: f64| {
            let mut task = task(name, Some(bytes), ns);
            task.rows[1].median_ns = ns / 2.0;
            task
        };
        let (short, long) = (1 << 10, 1 << 20);
        let report = sample(vec![
            task("sum/1k", Some(short), 512.0),
            task("sum/1m", Some(long), 524288.0),
            turned("mix/1k", short, 512.0),
            turned("mix/1m", long, 524288.0),
        ]);
        let figure = draw(&report).unwrap();
        // The marks of the labels stand right before them.
        let of_labels = |subject: &str| -> Vec<usize> {
            let labels = figure.shapes.windows(2).filter_map(|pair| match pair {
                [Shape::Mark { ink: Ink::Series(series), .. }, Shape::Text { text, .. }] => Some((*series, text)),
                _ => None,
            });
            labels.filter(|(_, text)| text.starts_with(subject)).map(|(series, _)| series).collect()
        };
        assert_eq!((of_labels("ours"), of_labels("peer")), (vec![0, 0], vec![1, 1]));
    }

    #[test]
    fn without_two_sizes_there_is_no_figure() {
        assert!(draw(&sample(vec![task("sum/1k", Some(1 << 10), 1.0)])).is_none());
        assert!(draw(&sample(Vec::new())).is_none());
    }

    #[test]
    fn labels_keep_apart_and_inside() {
        let places = apart(&[10.0, 11.0, 12.0, 90.0, 99.0, 99.5], 15.0, 0.0, 100.0);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 15.0 - 1e-9), "{places:?}");
        assert!(places[0] >= 0.0 && places[5] <= 100.0, "{places:?}");
        assert_eq!(apart(&[5.0, 50.0], 15.0, 0.0, 100.0), [5.0, 50.0]);
    }

    #[test]
    fn grid_lines_are_round_and_few() {
        for highest in [1.0, 437e6, 1.58e9, 9.9e9, 12e9] {
            let lines = highest / step(highest);
            assert!((1.5..=8.0).contains(&lines), "{highest}: {lines}");
        }
    }
}
