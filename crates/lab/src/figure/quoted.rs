//! A publication's numbers beside a run's, as its claims file asks for them. What was measured on different machines is never on one scale.

use super::{Anchor, Figure, Ink, Mark, Shape, text_width};
use crate::analysis::{Report, Row, Spread};
use crate::claims::{Claim, Claims, Drawing, DrawnRow, Form, Part};
use crate::units::time;

const LEFT: f64 = 250.0;
const BAR: f64 = 22.0;
/// The size of the note below.
const NOTE: f64 = 11.0;
const SCALES: &str = "What is quoted and what was measured here are from different machines, so lengths are to be compared within one heading.";
const SHARES: &str = "Each bar is a whole operation, and all are drawn equally long: only shares are to be compared.";
const SPREADS: &str = "Here each dot is the median of one process, the bar spans the middle half of all epochs and the stroke is the median.";
const TABLE: &str = "Different machines: no number of one column is to be divided by one of the other.";

/// A part with its number.
struct Valued<'a> {
    name: &'a str,
    value: Value,
}

enum Value {
    /// Nanoseconds, quoted.
    Quoted(f64),
    /// Nanoseconds, measured.
    Here { median_ns: f64, medians_ns: Vec<f64>, spread: Spread },
    /// Neither: a share, a count.
    Other(String),
    /// A cell of a table without a number.
    None,
}

impl Value {
    fn ns(&self) -> f64 {
        match self {
            Self::Quoted(ns) | Self::Here { median_ns: ns, .. } => *ns,
            Self::Other(_) | Self::None => 0.0,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Quoted(ns) | Self::Here { median_ns: ns, .. } => time(*ns),
            Self::Other(text) => text.clone(),
            Self::None => "–".to_owned(),
        }
    }
}

/// A row whose parts all have a number.
struct Ready<'a> {
    label: &'a str,
    is_quoted: bool,
    parts: Vec<Valued<'a>>,
}

impl Ready<'_> {
    fn whole(&self) -> f64 {
        self.parts.iter().map(|part| part.value.ns()).sum()
    }
}

/// The figures of a claims file for which the run has the numbers.
pub fn quoted(claims: &Claims, report: &Report) -> Vec<Figure> {
    claims.figures.iter().filter_map(|drawing| draw(drawing, claims, report)).collect()
}

fn draw(drawing: &Drawing, claims: &Claims, report: &Report) -> Option<Figure> {
    let rows: Vec<Ready> = drawing.rows.iter().map(|row| ready(row, claims, report)).collect::<Option<_>>()?;
    let how = match drawing.form {
        Form::Shares => SHARES,
        Form::Times => SCALES,
        Form::Spread => SPREADS,
        Form::Table => TABLE,
    };
    let caption = format!("{} {how} Quoted from {}.", drawing.note, claims.source);
    let mut figure = Figure::new(&drawing.name, &drawing.title, report, caption.trim());
    figure.heading((16.0, 26.0), drawing.title.clone());
    let mut y = match drawing.form {
        Form::Shares => shares(&mut figure, &rows),
        Form::Times => panels(&mut figure, &rows, &headings(drawing, claims, report), bars),
        Form::Spread => panels(&mut figure, &rows, &headings(drawing, claims, report), spreads),
        Form::Table => table(&mut figure, &rows),
    };
    // A picture leaves its page sooner or later; what makes the numbers what they are goes with it.
    y += 10.0;
    for line in wrapped(&format!("{} {how}", drawing.note), figure.width - 32.0) {
        y += 15.0;
        figure.shapes.push(Shape::Text {
            at: (16.0, y),
            text: line,
            size: NOTE,
            anchor: Anchor::Start,
            ink: Ink::Muted,
            bold: false,
        });
    }
    figure.height = y + 12.0;
    Some(figure)
}

/// A text in lines that are no wider than so much.
fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, NOTE) + text_width(word, NOTE) + NOTE < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Where the quoted numbers are from, and where the measured ones.
fn headings(drawing: &Drawing, claims: &Claims, report: &Report) -> [String; 2] {
    let quoted = drawing.rows.iter().flat_map(|row| &row.parts).flat_map(|part| &part.claims).next();
    let hardware = quoted.and_then(|what| claim(claims, what)).map_or("", |claim| claim.hardware.as_str());
    [format!("{} (quoted; {hardware})", claims.key), format!("here ({})", report.machine.cpu)]
}

fn claim<'a>(claims: &'a Claims, what: &str) -> Option<&'a Claim> {
    claims.claims.iter().find(|claim| claim.what == what)
}

fn ready<'a>(row: &'a DrawnRow, claims: &Claims, report: &Report) -> Option<Ready<'a>> {
    let measured = report.rows().find(|(task, found)| task.task == row.task && found.subject.starts_with(&row.subject));
    let parts = row.parts.iter().map(|part| {
        let value = match (part.claims.is_empty(), &measured) {
            (false, _) => quoted_value(part, claims)?,
            (true, Some((task, found))) if !part.quantity.is_empty() => {
                let counted = task.counted.iter().find(|counted| counted.subject == found.subject)?;
                Value::Other(counted.quantities.iter().find(|quantity| quantity.name == part.quantity)?.amount())
            }
            (true, Some((_, found))) => measured_value(part, found)?,
            (true, None) if row.task.is_empty() => Value::None,
            (true, None) => return None,
        };
        Some(Valued { name: &part.name, value })
    });
    Some(Ready { label: &row.label, is_quoted: row.task.is_empty(), parts: parts.collect::<Option<_>>()? })
}

fn quoted_value(part: &Part, claims: &Claims) -> Option<Value> {
    let found: Vec<&Claim> = part.claims.iter().map(|what| claim(claims, what)).collect::<Option<_>>()?;
    match (found.iter().map(|claim| claim.ns()).sum::<Option<f64>>(), &found[..]) {
        (Some(ns), _) => Some(Value::Quoted(ns)),
        (None, [one]) => Some(Value::Other(format!("{} {}", one.value, one.unit))),
        (None, _) => None,
    }
}

fn measured_value(part: &Part, row: &Row) -> Option<Value> {
    if part.phases.is_empty() {
        return Some(Value::Here {
            median_ns: row.median_ns,
            medians_ns: row.process_medians_ns.clone(),
            spread: row.spread,
        });
    }
    let phases = part.phases.iter().map(|name| row.phases.iter().find(|phase| phase.name == *name));
    let phases: Vec<_> = phases.collect::<Option<_>>()?;
    match &phases[..] {
        [phase] => Some(Value::Here {
            median_ns: phase.median_ns,
            medians_ns: phase.process_medians_ns.clone(),
            spread: phase.spread,
        }),
        // Quartiles of a sum are not the sums of quartiles.
        several => {
            let median_ns = several.iter().map(|phase| phase.median_ns).sum();
            Some(Value::Here { median_ns, medians_ns: Vec::new(), spread: Spread::default() })
        }
    }
}

/// Stacked bars, all of one length, with the times below each.
fn shares(figure: &mut Figure, rows: &[Ready]) -> f64 {
    let right = figure.width - 90.0;
    // The row with most parts has them in their order; of several, the first.
    let fullest = rows.iter().rev().max_by_key(|row| row.parts.len());
    let mut names: Vec<&str> = Vec::new();
    for part in fullest.into_iter().chain(rows).flat_map(|row| &row.parts) {
        if !names.contains(&part.name) {
            names.push(part.name);
        }
    }
    let (mut x, mut y) = (LEFT, 50.0);
    for (series, name) in names.iter().enumerate() {
        let width = 34.0 + text_width(name, 12.0);
        if x + width > right && x > LEFT {
            (x, y) = (LEFT, y + 18.0);
        }
        figure.rect((x, y - 10.0), (12.0, 12.0), Ink::Series(series));
        figure.text((x + 18.0, y), *name, Anchor::Start, Ink::Text);
        x += width;
    }
    y += 14.0;
    for row in rows {
        figure.text((LEFT - 10.0, y + BAR * 0.68), row.label, Anchor::End, Ink::Text);
        let (whole, mut x) = (row.whole(), LEFT);
        for part in &row.parts {
            let share = if whole > 0.0 { part.value.ns() / whole } else { 0.0 };
            let width = share * (right - LEFT);
            let series = names.iter().position(|name| *name == part.name).unwrap_or(0);
            figure.rect((x, y), (width, BAR), Ink::Series(series));
            let percent = format!("{:.1} %", share * 100.0);
            if text_width(&percent, 12.0) + 4.0 < width {
                figure.text((x + width / 2.0, y + BAR * 0.7), percent, Anchor::Middle, Ink::OnSeries(series));
            }
            x += width;
        }
        figure.text((right + 8.0, y + BAR * 0.7), time(whole), Anchor::Start, Ink::Text);
        y += BAR + 15.0;
        let times: Vec<String> = row.parts.iter().map(|part| format!("{} {}", part.name, part.value.shown())).collect();
        figure.text((LEFT, y), times.join(", "), Anchor::Start, Ink::Muted);
        y += 16.0;
    }
    y
}

/// What is quoted, then what was measured, each below its heading and on its own scale.
fn panels(
    figure: &mut Figure,
    rows: &[Ready],
    headings: &[String; 2],
    panel: fn(&mut Figure, &[&Ready], f64) -> f64,
) -> f64 {
    let mut y = 44.0;
    for (heading, quoted) in headings.iter().zip([true, false]) {
        let rows: Vec<&Ready> = rows.iter().filter(|row| row.is_quoted == quoted).collect();
        if rows.is_empty() {
            continue;
        }
        y += 8.0;
        figure.heading((16.0, y), heading.clone());
        y = panel(figure, &rows, y + 12.0) + 14.0;
    }
    y
}

/// The largest number that a value's mark has.
fn highest(value: &Value) -> f64 {
    match value {
        Value::Here { median_ns, medians_ns, spread } => {
            medians_ns.iter().copied().chain([*median_ns, spread.p75]).fold(0.0, f64::max)
        }
        other => other.ns(),
    }
}

fn bars(figure: &mut Figure, rows: &[&Ready], mut y: f64) -> f64 {
    let right = figure.width - 90.0;
    let longest = rows.iter().map(|row| row.whole()).fold(f64::MIN_POSITIVE, f64::max);
    for row in rows {
        figure.text((LEFT - 10.0, y + BAR * 0.68), row.label, Anchor::End, Ink::Text);
        let width = row.whole() / longest * (right - LEFT);
        figure.rect((LEFT, y), (width, BAR), if row.is_quoted { Ink::Open } else { Ink::Faster });
        figure.text((LEFT + width + 8.0, y + BAR * 0.7), time(row.whole()), Anchor::Start, Ink::Text);
        y += BAR + 6.0;
    }
    y
}

fn spreads(figure: &mut Figure, rows: &[&Ready], mut y: f64) -> f64 {
    let right = figure.width - 90.0;
    let longest =
        rows.iter().flat_map(|row| &row.parts).map(|part| highest(&part.value)).fold(f64::MIN_POSITIVE, f64::max);
    let at = |ns: f64| LEFT + ns / longest * (right - LEFT);
    // Grid lines stand behind marks, not behind words.
    let mut behind: Vec<(f64, f64)> = Vec::new();
    for row in rows {
        let middle = y + BAR / 2.0;
        behind.push((y, y + BAR));
        figure.text((LEFT - 10.0, middle + 4.0), row.label, Anchor::End, Ink::Text);
        let mut last = 0.0;
        for part in &row.parts {
            match &part.value {
                Value::Here { median_ns, medians_ns, spread } => {
                    figure.rect((at(spread.p25), middle - 6.0), (at(spread.p75) - at(spread.p25), 12.0), Ink::Band);
                    for median in medians_ns {
                        figure.mark((at(*median), middle), Mark::Dot, Ink::Faster);
                    }
                    figure.line((at(*median_ns), middle - 8.0), (at(*median_ns), middle + 8.0), Ink::Text, 1.6);
                    last = *median_ns;
                }
                value => {
                    figure.mark((at(value.ns()), middle), mark_of(part.name), Ink::Open);
                    last = value.ns();
                }
            }
        }
        // A row of several marks says them all; of one, its number.
        let names: Vec<String> = row.parts.iter().map(|part| format!("{} {}", part.name, part.value.shown())).collect();
        match row.parts.len() {
            1 => figure.text((right + 10.0, middle + 4.0), time(last), Anchor::Start, Ink::Text),
            _ => {
                y += 16.0;
                figure.text((LEFT, middle + 20.0), names.join(", "), Anchor::Start, Ink::Muted);
            }
        }
        y += BAR;
    }
    let step = round_step(longest);
    for ns in (0..).map(|n| f64::from(n) * step).take_while(|ns| *ns <= longest) {
        for (top, bottom) in &behind {
            let (from, to) = ((at(ns), *top), (at(ns), *bottom));
            figure.shapes.insert(0, Shape::Line { from, to, ink: Ink::Muted, width: 0.6 });
        }
        figure.text((at(ns), y + 14.0), if ns > 0.0 { time(ns) } else { "0".to_owned() }, Anchor::Middle, Ink::Muted);
    }
    y + 20.0
}

/// A round number, of which three to seven make the whole.
fn round_step(whole: f64) -> f64 {
    let decade = 10f64.powf(whole.log10().floor());
    [0.2, 0.5, 1.0, 2.0].map(|part| part * decade).into_iter().find(|step| whole / step <= 7.0).unwrap_or(decade)
}

/// Quoted numbers of one row differ in shape by what they are.
fn mark_of(name: &str) -> Mark {
    match name {
        "median" => Mark::Square,
        "minimum" | "maximum" => Mark::Ring,
        _ => Mark::Diamond,
    }
}

/// A line a row; the columns are the names of the parts.
fn table(figure: &mut Figure, rows: &[Ready]) -> f64 {
    let mut columns: Vec<&str> = Vec::new();
    for part in rows.iter().flat_map(|row| &row.parts) {
        if !columns.contains(&part.name) {
            columns.push(part.name);
        }
    }
    let from = 470.0;
    let step = (figure.width - from - 24.0) / columns.len().max(1) as f64;
    let at = |column: usize| from + step * (column as f64 + 1.0);
    let mut y = 54.0;
    for (column, name) in columns.iter().enumerate() {
        figure.shapes.push(Shape::Text {
            at: (at(column), y),
            text: (*name).to_owned(),
            size: 12.0,
            anchor: Anchor::End,
            ink: Ink::Text,
            bold: true,
        });
    }
    for row in rows {
        y += 8.0;
        figure.line((16.0, y), (figure.width - 16.0, y), Ink::Muted, 0.6);
        y += 16.0;
        figure.text((16.0, y), row.label, Anchor::Start, Ink::Text);
        for (column, name) in columns.iter().enumerate() {
            let part = row.parts.iter().find(|part| part.name == *name);
            let text = part.map_or_else(|| Value::None.shown(), |part| part.value.shown());
            figure.text((at(column), y), text, Anchor::End, Ink::Text);
        }
    }
    y + 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (whole, step) in [(1911.0, 500.0), (30.7e6, 5e6), (1e6, 2e5), (7.2, 2.0), (9.99, 2.0), (1.0, 0.2)] {
            assert!((round_step(whole) - step).abs() < 1e-9 * step, "{whole}: {}", round_step(whole));
        }
    }

    #[test]
    fn a_note_is_broken_between_words_and_loses_none() {
        let text = "a note of several words, which is longer than a line";
        let lines = wrapped(text, 150.0);
        assert!(lines.len() > 2 && lines.iter().all(|line| text_width(line, NOTE) <= 150.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }
}
