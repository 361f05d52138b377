//! Shapes as SVG.

use super::ink::{HEATS, PAPER, SERIES, fill, hex, is_on_light, stroke};
use super::{Anchor, Figure, Ink, Mark, Shape};
use std::fmt::Write;

/// Units of text that does not say its size.
const SIZE: f64 = 12.0;

/// Classes for the colours of a figure that stands alone.
fn own_style() -> String {
    let named = [
        ("text", Ink::Text),
        ("muted", Ink::Muted),
        ("band", Ink::Band),
        ("faster", Ink::Faster),
        ("slower", Ink::Slower),
        ("same", Ink::Same),
        ("open", Ink::Open),
    ];
    let classes =
        named.map(|(class, ink)| format!(".{class}{{fill:{};stroke:{}}}", hex(fill(ink)), hex(stroke(ink)))).concat();
    let paper = hex(PAPER);
    format!(
        "text{{font-family:'DejaVu Sans',Verdana,sans-serif}}{PLAIN}.paper{{fill:{paper}}}{classes}{}",
        series_style("")
    )
}

/// Text has no outline, whatever its colour's class says, and dots are lines without length.
const PLAIN: &str = "text{stroke:none!important}.dots{stroke-width:4;stroke-linecap:round;stroke-opacity:.7}";

/// The same for a page that defines the colours as variables.
pub(super) fn page_style() -> String {
    const NAMED: &str = "\
svg text{font-family:'DejaVu Sans',Verdana,system-ui,sans-serif}\
svg .paper{fill:none}svg .text{fill:var(--ink);stroke:var(--ink)}svg .muted{fill:var(--muted);stroke:var(--line)}\
svg .band{fill:var(--band)}svg .faster{fill:var(--faster);stroke:var(--faster)}\
svg .slower{fill:var(--slower);stroke:var(--slower)}svg .same{fill:var(--same);stroke:var(--same)}\
svg .open{fill:var(--muted);stroke:var(--muted)}";
    format!("{NAMED}svg {}{}", PLAIN.replace("}.", "}svg ."), series_style("svg "))
}

/// The classes of series, for fills, lines and the text on them: the same in light and dark.
fn series_style(within: &str) -> String {
    let [light, dark] = [1, 0].map(|series| hex(fill(Ink::OnSeries(series))));
    let series = SERIES.iter().enumerate();
    let series = series.map(|(n, &rgb)| format!("{within}.s{n}{{fill:{0}}}{within}.l{n}{{stroke:{0}}}", hex(rgb)));
    let heats = (0..HEATS).map(|n| format!("{within}.h{n}{{fill:{}}}", hex(fill(Ink::Heat(n)))));
    let colours: String = series.chain(heats).collect();
    format!("{within}.onfill{{fill:{dark}}}{within}.onlight{{fill:{light}}}{colours}")
}

pub(super) fn document(figure: &Figure) -> String {
    let style = format!("<style>{}</style>", own_style());
    element(figure, &style, &format!("<rect class=\"paper\" width=\"{}\" height=\"{}\"/>", figure.width, figure.height))
}

pub(super) fn inline(figure: &Figure) -> String {
    element(figure, "", "")
}

fn element(figure: &Figure, style: &str, paper: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-size=\"{SIZE}\" role=\"img\">\
         <title>{2}</title><desc>{3}</desc>{style}{paper}\n",
        figure.width,
        figure.height.ceil(),
        escape(&figure.title),
        escape(&figure.caption)
    );
    for shapes in figure
        .shapes
        .chunk_by(|one, next| dot(one).is_some_and(|(_, ink)| dot(next).is_some_and(|(_, other)| other == ink)))
    {
        match dot(&shapes[0]) {
            Some((_, ink)) => write_dots(&mut out, shapes, ink),
            None => shapes.iter().for_each(|shape| write_shape(&mut out, shape)),
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Where a dot is, and its ink.
fn dot(shape: &Shape) -> Option<((f64, f64), Ink)> {
    match shape {
        Shape::Mark { at, mark: Mark::Dot, ink } => Some((*at, *ink)),
        _ => None,
    }
}

/// Dots of one ink as one path, each from the last by steps of a tenth: a run of everything has thirty thousand.
fn write_dots(out: &mut String, dots: &[Shape], ink: Ink) {
    let _ = write!(out, "<path class=\"{} dots\" d=\"", class(ink));
    let mut last = (0, 0);
    for ((x, y), _) in dots.iter().filter_map(dot) {
        let at = (tenths(x), tenths(y));
        let _ = write!(out, "m{} {}h0", Tenths(at.0 - last.0), Tenths(at.1 - last.1));
        last = at;
    }
    out.push_str("\"/>\n");
}

/// A coordinate as SVG has it here.
fn tenths(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

/// A number of tenths without what it does not need.
struct Tenths(i64);

impl std::fmt::Display for Tenths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, tenth) = (self.0.unsigned_abs() / 10, self.0.unsigned_abs() % 10);
        match tenth {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{tenth}"),
        }
    }
}

/// A coordinate.
fn n(value: f64) -> Tenths {
    Tenths(tenths(value))
}

fn write_shape(out: &mut String, shape: &Shape) {
    let _ = match shape {
        Shape::Line { from, to, ink, width } => writeln!(
            out,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\" stroke-width=\"{width}\"/>",
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1),
            stroked(*ink)
        ),
        Shape::Rect { at, size, ink } => writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\" stroke=\"none\"/>",
            n(at.0),
            n(at.1),
            n(size.0.max(0.5)),
            n(size.1),
            class(*ink)
        ),
        Shape::Mark { at: (x, y), mark, ink } => {
            let class = stroked(*ink);
            let (left, right, top, bottom) = (n(x - 5.5), n(x + 5.5), n(y - 5.5), n(y + 5.5));
            let (x, y) = (*x, *y);
            match mark {
                Mark::Circle => writeln!(out, "<circle cx=\"{}\" cy=\"{}\" r=\"4.5\" class=\"{class}\"/>", n(x), n(y)),
                // In paths: see `write_dots`.
                Mark::Dot => return,
                Mark::Ring => writeln!(
                    out,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"4\" class=\"{class}\" fill-opacity=\"0\" stroke-width=\"1.8\"/>",
                    n(x),
                    n(y)
                ),
                Mark::Square => writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"8\" height=\"8\" class=\"{class}\"/>",
                    n(x - 4.0),
                    n(y - 4.0)
                ),
                Mark::Diamond => {
                    let (x, y) = (n(x), n(y));
                    writeln!(out, "<path d=\"M{x} {top}L{right} {y}L{x} {bottom}L{left} {y}Z\" class=\"{class}\"/>")
                }
            }
        }
        Shape::Text { at, text, size, anchor, ink, bold } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let size = if *size == SIZE { String::new() } else { format!(" font-size=\"{size}\"") };
            let weight = if *bold { " font-weight=\"bold\"" } else { "" };
            writeln!(
                out,
                "<text x=\"{}\" y=\"{}\"{size}{anchor} class=\"{}\"{weight}>{}</text>",
                n(at.0),
                n(at.1),
                class(*ink),
                escape(text)
            )
        }
    };
}

/// The classes of a shape with an outline. Members of a series have one class for filling and one for lines, so that bars
/// have no outline and don't overlap.
fn stroked(ink: Ink) -> String {
    match ink {
        Ink::Series(n) => format!("{} l{}", class(ink), n % SERIES.len()),
        ink => class(ink).to_owned(),
    }
}

fn class(ink: Ink) -> &'static str {
    const CLASSES: [&str; SERIES.len()] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];
    const HEAT_CLASSES: [&str; HEATS] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6"];
    match ink {
        Ink::Text => "text",
        Ink::Muted => "muted",
        Ink::Band => "band",
        Ink::Faster => "faster",
        Ink::Slower => "slower",
        Ink::Same => "same",
        Ink::Open => "open",
        Ink::OnSeries(_) | Ink::OnHeat(_) if is_on_light(ink) => "onlight",
        Ink::OnSeries(_) | Ink::OnHeat(_) => "onfill",
        Ink::Heat(n) => HEAT_CLASSES[n.min(HEATS - 1)],
        Ink::Series(n) => CLASSES[n % SERIES.len()],
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
