//! Lines over an axis, in panels below each other: how something follows something else.

use super::{Anchor, Figure, Ink, LogAxis, Mark, plain, text_width};

/// An axis of a [`Panel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Equal steps.
    Linear,
    /// Equal factors. Points at or below zero are left out.
    Logarithmic,
}

/// A line. Where a point is missing, it is interrupted.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name, for the legend; without one it has no place there. Lines of the same name have the same colour.
    pub name: String,
    /// Its points from left to right.
    pub points: Vec<Option<(f64, f64)>>,
    /// Points to mark, such as the ends of stretches, each with a word.
    pub marks: Vec<(f64, f64, String)>,
}

/// A plot of lines.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What the horizontal axis is, with its unit.
    pub across: String,
    /// What the vertical axis is, with its unit.
    pub up: String,
    /// The kinds of the horizontal and the vertical axis.
    pub axes: (Axis, Axis),
    /// The lines.
    pub series: Vec<Series>,
}

const HEIGHT: f64 = 220.0;

/// An axis between two ends on paper.
#[derive(Clone, Copy)]
enum Scale {
    Linear { low: f64, high: f64, from: f64, to: f64 },
    Logarithmic(LogAxis),
}

impl Scale {
    /// `None` without values.
    fn over(axis: Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        if axis == Axis::Logarithmic {
            return LogAxis::over(values, from, to).map(Self::Logarithmic);
        }
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let room = ((high - low) * 0.04).max(high.abs() * 1e-6).max(1e-9);
        (low <= high).then_some(Self::Linear { low: low - room, high: high + room, from, to })
    }

    fn at(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear { low, high, from, to } => {
                value.is_finite().then(|| from + (value - low) / (high - low) * (to - from))
            }
            Self::Logarithmic(axis) => (value > 0.0).then(|| axis.at(value)),
        }
    }

    fn ticks(self, apart: f64) -> Vec<f64> {
        let Self::Linear { low, high, from, to } = self else {
            let Self::Logarithmic(axis) = self else { return Vec::new() };
            // Upwards on paper is downwards in numbers.
            return LogAxis { left: 0.0, right: (axis.right - axis.left).abs(), ..axis }.ticks(apart);
        };
        let most = ((to - from).abs() / apart).max(2.0);
        let decade = 10f64.powf(((high - low) / most).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = steps.into_iter().find(|step| (high - low) / step <= most).unwrap_or(10.0 * decade);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).map(|tick| tick as f64 * step).collect()
    }
}

impl Panel {
    /// Draws the panels below each other, with one legend for the names of all. `None` if no panel has a point.
    pub fn draw(panels: &[Self], mut figure: Figure) -> Option<Figure> {
        figure.heading((16.0, 26.0), figure.title.clone());
        let mut names: Vec<&str> = Vec::new();
        for series in panels.iter().flat_map(|panel| &panel.series) {
            if !series.name.is_empty() && !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        let mut y = legend(&mut figure, &names, 48.0);
        let mut drawn = false;
        for panel in panels {
            if let Some(below) = panel.draw_at(&mut figure, &names, y) {
                (y, drawn) = (below, true);
            }
        }
        figure.height = y;
        drawn.then_some(figure)
    }

    /// Returns where the next panel begins.
    fn draw_at(&self, figure: &mut Figure, names: &[&str], y: f64) -> Option<f64> {
        let (left, right) = (84.0, figure.width - 30.0);
        let (top, bottom) = (y + 24.0, y + 24.0 + HEIGHT);
        let points = || self.series.iter().flat_map(|series| series.points.iter().flatten().copied());
        let across = Scale::over(self.axes.0, points().map(|(x, _)| x), left, right)?;
        let up = Scale::over(self.axes.1, points().map(|(_, y)| y), bottom, top)?;
        figure.text((16.0, y + 10.0), &self.up, Anchor::Start, Ink::Text);
        for (tick, at) in up.ticks(34.0).into_iter().filter_map(|tick| Some((tick, up.at(tick)?))) {
            figure.line((left, at), (right, at), Ink::Muted, 0.6);
            figure.text((left - 8.0, at + 4.0), plain(tick), Anchor::End, Ink::Muted);
        }
        for (tick, at) in across.ticks(70.0).into_iter().filter_map(|tick| Some((tick, across.at(tick)?))) {
            figure.line((at, top), (at, bottom), Ink::Muted, 0.6);
            figure.text((at, bottom + 16.0), plain(tick), Anchor::Middle, Ink::Muted);
        }
        figure.text(((left + right) / 2.0, bottom + 34.0), &self.across, Anchor::Middle, Ink::Text);
        for series in &self.series {
            let colour = names.iter().position(|name| *name == series.name).unwrap_or(0);
            let on_paper = |point: &Option<(f64, f64)>| point.and_then(|(x, y)| Some((across.at(x)?, up.at(y)?)));
            let on_paper: Vec<Option<(f64, f64)>> = series.points.iter().map(on_paper).collect();
            for pair in on_paper.windows(2) {
                if let [Some(from), Some(to)] = *pair {
                    figure.line(from, to, Ink::Series(colour), 1.8);
                }
            }
            for at in lonely(&on_paper) {
                figure.mark(at, Mark::Dot, Ink::Series(colour));
            }
            for (x, y, word) in &series.marks {
                if let (Some(x), Some(y)) = (across.at(*x), up.at(*y)) {
                    figure.mark((x, y), Mark::Ring, Ink::Series(colour));
                    figure.text((x + 7.0, y - 6.0), word, Anchor::Start, Ink::Text);
                }
            }
        }
        Some(bottom + 52.0)
    }
}

/// Points without a neighbour, which no line shows.
fn lonely(points: &[Option<(f64, f64)>]) -> Vec<(f64, f64)> {
    let has = |at: Option<usize>| at.and_then(|at| points.get(at).copied().flatten()).is_some();
    let alone = |at: &usize| !has(at.checked_sub(1)) && !has(Some(at + 1));
    (0..points.len()).filter(alone).filter_map(|at| points[at]).collect()
}

fn legend(figure: &mut Figure, names: &[&str], mut y: f64) -> f64 {
    let mut x = 16.0;
    for (colour, name) in names.iter().enumerate() {
        let width = 40.0 + text_width(name, 12.0);
        if x + width > figure.width && x > 16.0 {
            (x, y) = (16.0, y + 18.0);
        }
        figure.line((x, y - 4.0), (x + 16.0, y - 4.0), Ink::Series(colour), 3.0);
        figure.text((x + 22.0, y), *name, Anchor::Start, Ink::Text);
        x += width;
    }
    if names.is_empty() { y - 10.0 } else { y + 14.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(axes: (Axis, Axis), points: Vec<Option<(f64, f64)>>) -> Panel {
        let series = vec![Series { name: "delay".into(), points, marks: vec![(1.0, 2.0, "SAT-1".into())] }];
        Panel { across: "s".into(), up: "ms".into(), axes, series }
    }

    #[test]
    fn a_line_is_interrupted_where_a_point_is_missing_and_a_lonely_point_is_a_dot() {
        let points =
            vec![Some((0.0, 1.0)), Some((1.0, 2.0)), None, Some((3.0, 1.0)), None, Some((5.0, 2.0)), Some((6.0, 3.0))];
        let svg = Panel::draw(&[panel((Axis::Linear, Axis::Linear), points)], Figure::titled("pass", "Pass", ""))
            .unwrap()
            .svg();
        let lines = svg.lines().filter(|line| line.starts_with("<line") && line.contains("l0") && line.contains("1.8"));
        assert_eq!(lines.count(), 2);
        assert_eq!(svg.matches("h0\"/>").count(), 1);
        assert!(svg.contains(">SAT-1<") && svg.contains(">delay<"));
    }

    #[test]
    fn what_a_logarithm_does_not_have_is_left_out() {
        let points = vec![Some((0.0, 1.0)), Some((1.0, 2.0)), Some((10.0, 20.0))];
        let axes = (Axis::Logarithmic, Axis::Logarithmic);
        let svg = Panel::draw(&[panel(axes, points)], Figure::titled("pass", "Pass", "")).unwrap().svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(svg.contains("text-anchor=\"end\" class=\"muted\""), "the vertical axis has numbers: {svg}");
        assert!(Panel::draw(&[panel(axes, vec![None])], Figure::titled("pass", "Pass", "")).is_none());
    }

    #[test]
    fn ticks_of_equal_steps_are_round_and_not_too_many() {
        for (low, high) in [(0.0, 1.0), (-180.0, 180.0), (2.7, 2.9), (0.0, 12_345.0)] {
            let scale = Scale::over(Axis::Linear, [low, high].into_iter(), 0.0, 400.0).unwrap();
            let ticks = scale.ticks(70.0);
            assert!((2..=7).contains(&ticks.len()), "{low}–{high}: {ticks:?}");
        }
    }
}
