//! Shapes as outlines and lines of text: what PNG and PDF have in common.

use super::font::{Font, end, font};
use super::ink::{Rgb, fill, stroke};
use super::{Anchor, Figure, Ink, Mark, Shape};

/// A point of the drawing: right and down from its top left corner.
pub(super) type Point = (f64, f64);

/// A step along an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Move(Point),
    Line(Point),
    /// Two control points and the end of a cubic Bézier curve.
    Curve(Point, Point, Point),
    Close,
}

/// A form that figures can be drawn in.
pub(super) trait Canvas {
    /// Fills an outline; `opacity` is 1 for solid colour.
    fn fill(&mut self, outline: &[Step], colour: Rgb, opacity: f64);
    /// Draws an outline with a pen of that width.
    fn stroke(&mut self, outline: &[Step], colour: Rgb, width: f64);
    /// Writes a line of text whose baseline begins at a point.
    fn text(&mut self, from: Point, text: &str, font: &'static Font, size: f64, colour: Rgb);
}

/// Width of the line around a filled mark.
const OUTLINE: f64 = 1.0;

/// Draws all shapes of a figure in their order.
pub(super) fn draw(figure: &Figure, canvas: &mut dyn Canvas) {
    for shape in &figure.shapes {
        match shape {
            Shape::Line { from, to, ink, width } => {
                canvas.stroke(&[Step::Move(place(*from)), Step::Line(place(*to))], stroke(*ink), *width);
            }
            Shape::Rect { at, size, ink } => {
                canvas.fill(&rectangle(place(*at), (size.0.max(0.5), size.1)), fill(*ink), 1.0);
            }
            Shape::Mark { at, mark, ink } => draw_mark(canvas, place(*at), *mark, *ink),
            Shape::Text { at, text, size, anchor, ink, bold } => {
                let (font, at) = (font(*bold), place(*at));
                let length = f64::from(end(&font.set(text))) * font.scale(*size);
                let before = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => length / 2.0,
                    Anchor::End => length,
                };
                canvas.text((at.0 - before, at.1), text, font, *size, fill(*ink));
            }
        }
    }
}

fn draw_mark(canvas: &mut dyn Canvas, at: Point, mark: Mark, ink: Ink) {
    let (x, y) = at;
    let mut solid = |outline: &[Step]| {
        canvas.fill(outline, fill(ink), 1.0);
        canvas.stroke(outline, stroke(ink), OUTLINE);
    };
    match mark {
        Mark::Circle => solid(&circle(at, 4.5)),
        Mark::Square => solid(&rectangle((x - 4.0, y - 4.0), (8.0, 8.0))),
        Mark::Diamond => solid(&polygon(&[(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)])),
        Mark::Dot => canvas.fill(&circle(at, 2.0), fill(ink), 0.7),
        Mark::Ring => canvas.stroke(&circle(at, 4.0), stroke(ink), 1.8),
    }
}

/// Rounds to a tenth, as SVG has it. Logarithms may differ in their last bit between systems; the bytes of a file must not.
fn place((x, y): Point) -> Point {
    ((x * 10.0).round() / 10.0, (y * 10.0).round() / 10.0)
}

fn polygon(corners: &[Point]) -> Vec<Step> {
    let steps = corners.iter().enumerate();
    let steps = steps.map(|(i, &corner)| if i == 0 { Step::Move(corner) } else { Step::Line(corner) });
    steps.chain([Step::Close]).collect()
}

fn rectangle((x, y): Point, (width, height): Point) -> Vec<Step> {
    polygon(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height)])
}

/// Four cubic curves, which miss a circle by less than 0.03 % of the radius.
fn circle((x, y): Point, radius: f64) -> Vec<Step> {
    let pull = radius * 0.552_284_75;
    let on = |dx: f64, dy: f64| (x + dx, y + dy);
    vec![
        Step::Move(on(radius, 0.0)),
        Step::Curve(on(radius, pull), on(pull, radius), on(0.0, radius)),
        Step::Curve(on(-pull, radius), on(-radius, pull), on(-radius, 0.0)),
        Step::Curve(on(-radius, -pull), on(-pull, -radius), on(0.0, -radius)),
        Step::Curve(on(pull, -radius), on(radius, -pull), on(radius, 0.0)),
        Step::Close,
    ]
}
