//! PNG, drawn in software without vector instructions, so that the bytes are the same on every CPU.

use super::canvas::{Canvas, Point, Step, draw};
use super::font::Font;
use super::ink::{PAPER, Rgb};
use super::{Figure, failed};
use crate::LabError;
use tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, Stroke, Transform};
use ttf_parser::OutlineBuilder;

/// Pixels per unit of the drawing: sharp on paper and on screens.
const SCALE: f32 = 2.0;

/// More pixels than this (4 bytes each) are better written as SVG or PDF.
const MOST_PIXELS: u64 = 1 << 27;

/// The figure as PNG.
///
/// # Errors
///
/// [`LabError::Figure`] if the figure has more than 2²⁷ pixels.
pub fn png(figure: &Figure) -> Result<Vec<u8>, LabError> {
    let pixels = |units: f64| (units.ceil() * f64::from(SCALE)) as u32;
    let (width, height) = (pixels(figure.width), pixels(figure.height));
    let fits = u64::from(width) * u64::from(height) <= MOST_PIXELS;
    let pixmap = if fits { Pixmap::new(width, height) } else { None };
    let mut pixmap = pixmap.ok_or_else(|| {
        failed(
            figure,
            format!("{width} × {height} pixels are too many for PNG (at most {MOST_PIXELS}); write SVG or PDF"),
        )
    })?;
    pixmap.fill(colour(PAPER, 1.0));
    draw(figure, &mut Raster { pixmap: &mut pixmap });
    pixmap.encode_png().map_err(|error| failed(figure, error.to_string()))
}

struct Raster<'a> {
    pixmap: &'a mut Pixmap,
}

impl Raster<'_> {
    fn fill_path(&mut self, path: &Path, colour: Color) {
        self.pixmap.fill_path(path, &paint(colour), FillRule::Winding, Transform::from_scale(SCALE, SCALE), None);
    }
}

impl Canvas for Raster<'_> {
    fn fill(&mut self, outline: &[Step], rgb: Rgb, opacity: f64) {
        if let Some(path) = path(outline) {
            self.fill_path(&path, colour(rgb, opacity));
        }
    }

    fn stroke(&mut self, outline: &[Step], rgb: Rgb, width: f64) {
        if let Some(path) = path(outline) {
            let stroke = Stroke { width: width as f32, ..Stroke::default() };
            let scale = Transform::from_scale(SCALE, SCALE);
            self.pixmap.stroke_path(&path, &paint(colour(rgb, 1.0)), &stroke, scale, None);
        }
    }

    fn text(&mut self, from: Point, text: &str, font: &'static Font, size: f64, rgb: Rgb) {
        let scale = font.scale(size);
        let mut outlines = Outlines { path: PathBuilder::new(), origin: from, scale };
        for glyph in font.set(text) {
            outlines.origin.0 = from.0 + f64::from(glyph.at) * scale;
            // A space has no outline.
            let _ = font.face.outline_glyph(glyph.id, &mut outlines);
        }
        if let Some(path) = outlines.path.finish() {
            self.fill_path(&path, colour(rgb, 1.0));
        }
    }
}

/// `None` for an outline without area or length.
fn path(outline: &[Step]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for step in outline {
        let f = |(x, y): Point| (x as f32, y as f32);
        match *step {
            Step::Move(to) => path.move_to(f(to).0, f(to).1),
            Step::Line(to) => path.line_to(f(to).0, f(to).1),
            Step::Curve(a, b, to) => path.cubic_to(f(a).0, f(a).1, f(b).0, f(b).1, f(to).0, f(to).1),
            Step::Close => path.close(),
        }
    }
    path.finish()
}

fn colour([red, green, blue]: Rgb, opacity: f64) -> Color {
    Color::from_rgba8(red, green, blue, (opacity * 255.0).round() as u8)
}

fn paint(colour: Color) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(colour);
    paint
}

/// Glyphs' outlines, moved from font units (upwards) to the drawing (downwards).
struct Outlines {
    path: PathBuilder,
    origin: Point,
    scale: f64,
}

impl Outlines {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (x, y) = (f64::from(x) * self.scale, f64::from(y) * self.scale);
        ((self.origin.0 + x) as f32, (self.origin.1 - y) as f32)
    }
}

impl OutlineBuilder for Outlines {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}
