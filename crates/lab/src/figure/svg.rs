//! Shapes as SVG.

use super::{Anchor, Figure, Ink, Mark, Shape};
use std::fmt::Write;

/// Colours of a figure that stands alone: light, for paper.
const OWN_STYLE: &str = "\
text{font-family:'DejaVu Sans',Verdana,sans-serif}.paper{fill:#ffffff}\
.text{fill:#1b1b1b;stroke:#1b1b1b}.muted{fill:#6b6b6b;stroke:#cfcfcf}.band{fill:#e6e6e6}\
.faster{fill:#0072b2;stroke:#0072b2}.slower{fill:#d55e00;stroke:#d55e00}.same{fill:#009e73;stroke:#009e73}\
.open{fill:#6b6b6b;stroke:#6b6b6b}.onfill{fill:#ffffff}.onlight{fill:#1b1b1b}\
.s0{fill:#0072b2}.s1{fill:#e69f00}.s2{fill:#009e73}.s3{fill:#cc79a7}.s4{fill:#56b4e9}.s5{fill:#d55e00}.s6{fill:#f0e442}.s7{fill:#7f7f7f}\
.l0{stroke:#0072b2}.l1{stroke:#e69f00}.l2{stroke:#009e73}.l3{stroke:#cc79a7}.l4{stroke:#56b4e9}.l5{stroke:#d55e00}.l6{stroke:#f0e442}.l7{stroke:#7f7f7f}";

/// The same for a page: light, dark, print.
pub(super) const PAGE_STYLE: &str = "\
svg text{font-family:'DejaVu Sans',Verdana,system-ui,sans-serif}\
svg .paper{fill:none}svg .text{fill:var(--ink);stroke:var(--ink)}svg .muted{fill:var(--muted);stroke:var(--line)}\
svg .band{fill:var(--band)}svg .faster{fill:var(--faster);stroke:var(--faster)}\
svg .slower{fill:var(--slower);stroke:var(--slower)}svg .same{fill:var(--same);stroke:var(--same)}\
svg .open{fill:var(--muted);stroke:var(--muted)}svg .onfill{fill:#ffffff}svg .onlight{fill:#1b1b1b}\
svg .s0{fill:#0072b2}svg .s1{fill:#e69f00}svg .s2{fill:#009e73}svg .s3{fill:#cc79a7}svg .s4{fill:#56b4e9}svg .s5{fill:#d55e00}svg .s6{fill:#f0e442}svg .s7{fill:#7f7f7f}\
svg .l0{stroke:#0072b2}svg .l1{stroke:#e69f00}svg .l2{stroke:#009e73}svg .l3{stroke:#cc79a7}svg .l4{stroke:#56b4e9}svg .l5{stroke:#d55e00}svg .l6{stroke:#f0e442}svg .l7{stroke:#7f7f7f}";

pub(super) fn document(figure: &Figure) -> String {
    let style = format!("<style>{OWN_STYLE}</style>");
    element(figure, &style, &format!("<rect class=\"paper\" width=\"{}\" height=\"{}\"/>", figure.width, figure.height))
}

pub(super) fn inline(figure: &Figure) -> String {
    element(figure, "", "")
}

fn element(figure: &Figure, style: &str, paper: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\
         <title>{2}</title><desc>{3}</desc>{style}{paper}\n",
        figure.width,
        figure.height.ceil(),
        escape(&figure.title),
        escape(&figure.caption)
    );
    for shape in &figure.shapes {
        write_shape(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

fn write_shape(out: &mut String, shape: &Shape) {
    let _ = match shape {
        Shape::Line { from, to, ink, width } => writeln!(
            out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{}\" stroke-width=\"{width}\"/>",
            from.0,
            from.1,
            to.0,
            to.1,
            stroked(*ink)
        ),
        Shape::Rect { at, size, ink } => writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"{}\" stroke=\"none\"/>",
            at.0,
            at.1,
            size.0.max(0.5),
            size.1,
            class(*ink)
        ),
        Shape::Mark { at: (x, y), mark, ink } => {
            let class = stroked(*ink);
            match mark {
                Mark::Circle => writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" class=\"{class}\"/>"),
                Mark::Dot => {
                    writeln!(
                        out,
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" class=\"{class}\" fill-opacity=\"0.7\" stroke=\"none\"/>"
                    )
                }
                Mark::Ring => writeln!(
                    out,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" class=\"{class}\" fill-opacity=\"0\" stroke-width=\"1.8\"/>"
                ),
                Mark::Square => {
                    writeln!(
                        out,
                        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" class=\"{class}\"/>",
                        x - 4.0,
                        y - 4.0
                    )
                }
                Mark::Diamond => writeln!(
                    out,
                    "<path d=\"M{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}Z\" class=\"{class}\"/>",
                    y - 5.5,
                    x + 5.5,
                    y + 5.5,
                    x - 5.5
                ),
            }
        }
        Shape::Text { at, text, size, anchor, ink, bold } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let weight = if *bold { " font-weight=\"bold\"" } else { "" };
            writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" class=\"{}\" stroke=\"none\" style=\"stroke:none\"{weight}>{}</text>",
                at.0,
                at.1,
                class(*ink),
                escape(text)
            )
        }
    };
}

/// The classes of a shape that has an outline. Those of a series fill only, so that bars which touch do not overlap.
fn stroked(ink: Ink) -> String {
    match ink {
        Ink::Series(n) => format!("{} l{}", class(ink), n % SERIES.len()),
        ink => class(ink).to_owned(),
    }
}

const SERIES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

fn class(ink: Ink) -> &'static str {
    match ink {
        Ink::Text => "text",
        Ink::Muted => "muted",
        Ink::Band => "band",
        Ink::Faster => "faster",
        Ink::Slower => "slower",
        Ink::Same => "same",
        Ink::Open => "open",
        // Orange, sky blue and yellow are too light for white text.
        Ink::OnSeries(n) => {
            if matches!(n % SERIES.len(), 1 | 4 | 6) {
                "onlight"
            } else {
                "onfill"
            }
        }
        Ink::Series(n) => SERIES[n % SERIES.len()],
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
