//! Figures. Each is drawn once, as a list of shapes, and written as SVG, or as PNG and PDF (cargo feature `figures`).
//!
//! Marks differ in shape as well as in colour.

#[cfg(feature = "figures")]
mod canvas;
#[cfg(feature = "figures")]
mod font;
mod forest;
mod heat;
mod ink;
mod lines;
#[cfg(feature = "figures")]
mod pdf;
mod phases;
#[cfg(feature = "figures")]
mod png;
mod quoted;
mod simulated;
mod slopes;
mod strip;
mod svg;
#[cfg(feature = "figures")]
mod tex;
mod throughput;

pub use heat::{Cell, HeatMap};
pub use lines::{Axis, Panel, Series};
#[cfg(feature = "figures")]
pub use pdf::pdf;
#[cfg(feature = "figures")]
pub use png::png;
pub use quoted::quoted;
pub use slopes::slopes;
pub(crate) use svg::escape;
#[cfg(feature = "figures")]
pub use tex::tex;

use crate::analysis::Report;

/// A figure: its shapes, ready to be written in any form.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name in file names: `ratios`, `throughput`, `phases`, `distributions`, `overhead`, or as a claims file says.
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// How to read it, and the run, machine and commit.
    pub caption: String,
    width: f64,
    pub(crate) height: f64,
    shapes: Vec<Shape>,
}

/// The meaning of a shape, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    /// Text and axes.
    Text,
    /// Less important text, grid lines.
    Muted,
    /// The range of differences that the run can't resolve.
    Band,
    Faster,
    Slower,
    Same,
    /// Can't tell, control, baseline.
    Open,
    /// The n-th member of a series.
    Series(usize),
    /// Text on the n-th member of a series.
    OnSeries(usize),
    /// The n-th colour of a heat map, from pale to dark.
    Heat(usize),
    /// Text on it.
    OnHeat(usize),
}

#[derive(Clone, Debug)]
enum Shape {
    Line { from: (f64, f64), to: (f64, f64), ink: Ink, width: f64 },
    Rect { at: (f64, f64), size: (f64, f64), ink: Ink },
    Mark { at: (f64, f64), mark: Mark, ink: Ink },
    Text { at: (f64, f64), text: String, size: f64, anchor: Anchor, ink: Ink, bold: bool },
}

#[derive(Clone, Copy, Debug)]
enum Mark {
    Circle,
    Ring,
    Diamond,
    Square,
    Dot,
}

#[derive(Clone, Copy, Debug)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Figure {
    fn new(name: &str, title: &str, report: &Report, how_to_read: &str) -> Self {
        let caption = format!(
            "{how_to_read} Run {}, {}, candor {}; {}.",
            report.run,
            report.machine.line(),
            report.commit,
            report.conditions
        );
        Self::titled(name, title, caption)
    }

    /// An empty figure, for a [`HeatMap`] or [`Panel`]s to draw on. `caption` says how to read it and where its numbers come from.
    pub fn titled(name: &str, title: &str, caption: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            caption: caption.into(),
            width: 860.0,
            height: 0.0,
            shapes: Vec::new(),
        }
    }

    /// The same at half the width, before anything is drawn on it: its text can be read where the page gives it 400 pixels.
    #[must_use]
    pub fn narrow(self) -> Self {
        Self { width: 430.0, ..self }
    }

    /// The figure as a complete SVG document with light colours.
    pub fn svg(&self) -> String {
        svg::document(self)
    }

    /// The figure as an SVG element for a page that contains [`style`].
    pub fn svg_inline(&self) -> String {
        svg::inline(self)
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        self.shapes.push(Shape::Line { from, to, ink, width });
    }

    fn rect(&mut self, at: (f64, f64), size: (f64, f64), ink: Ink) {
        self.shapes.push(Shape::Rect { at, size, ink });
    }

    fn mark(&mut self, at: (f64, f64), mark: Mark, ink: Ink) {
        self.shapes.push(Shape::Mark { at, mark, ink });
    }

    fn text(&mut self, at: (f64, f64), text: impl Into<String>, anchor: Anchor, ink: Ink) {
        self.shapes.push(Shape::Text { at, text: text.into(), size: 12.0, anchor, ink, bold: false });
    }

    fn heading(&mut self, at: (f64, f64), text: impl Into<String>) {
        let (anchor, ink) = (Anchor::Start, Ink::Text);
        self.shapes.push(Shape::Text { at, text: text.into(), size: 12.0, anchor, ink, bold: true });
    }
}

/// Why a figure can't be written.
#[cfg(feature = "figures")]
fn failed(figure: &Figure, why: String) -> crate::LabError {
    crate::LabError::Figure { figure: figure.name.clone(), why }
}

/// The style sheet for [`Figure::svg_inline`]. The page defines the colours for light, dark and print as variables.
pub fn style() -> String {
    svg::page_style()
}

/// All figures for which the report has numbers.
pub fn figures(report: &Report) -> Vec<Figure> {
    let drawn = [forest::draw(report), throughput::draw(report), phases::draw(report), strip::draw(report)];
    drawn.into_iter().flatten().chain(simulated::draw(report)).collect()
}

/// The approximate width of a text in DejaVu Sans.
fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// A logarithmic axis.
#[derive(Clone, Copy, Debug)]
struct LogAxis {
    low: f64,
    high: f64,
    left: f64,
    right: f64,
}

impl LogAxis {
    /// An axis for the values, with a little room at both ends. `None` if none of them is positive.
    fn over(values: impl Iterator<Item = f64>, left: f64, right: f64) -> Option<Self> {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        (high > 0.0).then(|| {
            let room = ((high / low).ln() * 0.05).max(0.01).exp();
            Self { low: low / room, high: high * room, left, right }
        })
    }

    fn at(self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.left + share.clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Round values for ticks, at least `apart` units from each other.
    fn ticks(self, apart: f64) -> Vec<f64> {
        let mut ticks: Vec<f64> = Vec::new();
        for steps in [&[1.0][..], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]] {
            let candidates = self.candidates(steps);
            let fits = candidates.windows(2).all(|pair| self.at(pair[1]) - self.at(pair[0]) >= apart);
            if fits && candidates.len() > ticks.len() {
                ticks = candidates;
            }
        }
        if ticks.len() < 3 {
            // Less than a decade: equal steps.
            let step = 10f64.powf(((self.high - self.low) / 4.0).log10().floor());
            for step in [step, 2.0 * step, 5.0 * step] {
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step).floor() as i64;
                let candidates: Vec<f64> = (first..=last).take(50).map(|i| i as f64 * step).collect();
                if candidates.windows(2).all(|pair| self.at(pair[1]) - self.at(pair[0]) >= apart) {
                    return candidates;
                }
            }
        }
        ticks
    }

    fn candidates(self, steps: &[f64]) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        decades
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

/// The label of a tick, without trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A report of a run that is nothing but these tasks.
#[cfg(test)]
pub(crate) fn sample(tasks: Vec<crate::analysis::TaskReport>) -> Report {
    Report {
        run: "r".into(),
        sha256: String::new(),
        date: String::new(),
        machine: Default::default(),
        commit: String::new(),
        tool: Default::default(),
        paired: None,
        conditions: String::new(),
        is_import: false,
        comparisons: 1,
        tasks,
        trials: Vec::new(),
        lints: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_apart() {
        for (low, high) in [(0.9, 1.1), (0.1, 20.0), (1.0, 1000.0), (0.995, 1.004), (3.0, 3.1)] {
            let axis = LogAxis { low, high, left: 0.0, right: 400.0 };
            let ticks = axis.ticks(40.0);
            assert!(ticks.len() >= 2, "{low}–{high}: {ticks:?}");
            assert!(
                ticks.windows(2).all(|pair| axis.at(pair[1]) - axis.at(pair[0]) >= 40.0),
                "{low}–{high}: {ticks:?}"
            );
        }
    }

    #[test]
    fn labels_have_no_trailing_zeros() {
        assert_eq!((plain(1.0), plain(0.05), plain(1.25)), ("1".into(), "0.05".into(), "1.25".into()));
    }
}
