//! Simulated work of the form `…/<place>/<way>`, such as circuits over a topology by a handshake: every place by every way.
//!
//! Such rows have no peers and no verdicts. What is asked of them is what one way costs more than the first one at each place.

use super::heat::{Cell, HeatMap};
use super::{Anchor, Figure, Ink, LogAxis, phases, text_width};
use crate::Evidence;
use crate::analysis::{Report, Row};
use crate::units::time;

const ROW: f64 = 19.0;
const OVERHEAD: &str = "SIMULATED in virtual time. Each cell: how much longer the median is than that of the first column at the same place, in percent and in milliseconds.";
const STACK: &str = "SIMULATED in virtual time. Each bar is the mean of whole operations, its parts the means of their phases, which add up. Losses make a mean larger than its median.";
const SPREAD: &str = "SIMULATED in virtual time. The bar spans the middle half of all operations, the line the whole of them; the stroke is the median.";

/// A place and its ways, in the order of the run.
type Place<'a> = (&'a str, Vec<(&'a str, &'a Row)>);

/// Whether a row stands in these figures rather than in those of measurements.
pub(super) fn is_simulated(row: &Row) -> bool {
    row.evidence == Evidence::Simulated
}

/// Overhead, phases and distributions, if there are simulated rows.
pub(super) fn draw(report: &Report) -> Vec<Figure> {
    let places = places(report);
    if places.is_empty() {
        return Vec::new();
    }
    [overhead(report, &places), stacks(report, &places), spreads(report, &places)].into_iter().flatten().collect()
}

/// The baselines of simulated tasks by the last but one part of their names.
fn places(report: &Report) -> Vec<Place<'_>> {
    let mut places: Vec<Place<'_>> = Vec::new();
    for task in &report.tasks {
        let Some(row) = task.rows.first().filter(|row| is_simulated(row)) else { continue };
        let Some((place, way)) = task.task.rsplit_once('/') else { continue };
        let place = place.rsplit('/').next().unwrap_or(place);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, ways)) => ways.push((way, row)),
            None => places.push((place, vec![(way, row)])),
        }
    }
    places
}

/// `None` if no place has two ways.
fn overhead(report: &Report, places: &[Place<'_>]) -> Option<Figure> {
    let (_, longest) = places.iter().max_by_key(|(_, ways)| ways.len())?;
    let columns: Vec<&str> = longest.iter().map(|(way, _)| *way).collect();
    let first = *columns.first().filter(|_| columns.len() > 1)?;
    let rows = places.iter().filter_map(|(place, ways)| {
        let of = |way: &str| ways.iter().find(|(known, _)| *known == way).map(|(_, row)| row.median_ns);
        let base = of(first)?;
        let cells = columns.iter().map(|way| {
            let more = of(way)? - base;
            let percent = more / base * 100.0;
            let lines = match *way == first {
                true => vec![time(base)],
                false => vec![format!("{percent:+.2} %"), format!("{:+.3} ms", more / 1e6)],
            };
            Some(Cell { value: percent, lines })
        });
        Some(((*place).to_owned(), cells.collect()))
    });
    let map = HeatMap { columns: columns.iter().map(|&way| way.to_owned()).collect(), rows: rows.collect() };
    map.draw(Figure::new("overhead", &format!("What each costs more than {first}"), report, OVERHEAD))
}

fn stacks(report: &Report, places: &[Place<'_>]) -> Option<Figure> {
    let mut figure = Figure::new("phases-simulated", "Where the time goes, simulated", report, STACK);
    figure.heading((16.0, 26.0), figure.title.clone());
    let (left, right) = (left_of(places), figure.width - 90.0);
    let mut y = 44.0;
    for (place, ways) in places {
        let rows: Vec<&Row> = ways.iter().map(|(_, row)| *row).filter(|row| !row.phases.is_empty()).collect();
        let parts = |row: &Row| phases::parts(row, |phase| phase.spread.mean);
        let longest = rows.iter().map(|row| phases::whole(&parts(row))).fold(0.0, f64::max);
        if longest <= 0.0 {
            continue;
        }
        y += 16.0;
        figure.heading((16.0, y), *place);
        y = phases::legend(&mut figure, &rows, left, right, y);
        let names = phases::names(rows.iter().copied());
        for (way, row) in ways {
            y = phases::bar(&mut figure, way, &parts(row), &names, longest, (left, right), y);
        }
    }
    figure.height = y + 8.0;
    (y > 44.0).then_some(figure)
}

fn spreads(report: &Report, places: &[Place<'_>]) -> Option<Figure> {
    let mut figure = Figure::new("distributions-simulated", "Time of an operation, simulated", report, SPREAD);
    figure.heading((16.0, 26.0), figure.title.clone());
    let (left, right) = (left_of(places), figure.width - 90.0);
    let mut y = 44.0;
    for (place, ways) in places {
        let values = ways.iter().flat_map(|(_, row)| [row.spread.min, row.spread.max]);
        let Some(axis) = LogAxis::over(values, left, right) else { continue };
        y += 16.0;
        figure.heading((16.0, y), *place);
        y += 8.0;
        for (way, row) in ways {
            let middle = y + ROW / 2.0;
            figure.text((left - 10.0, middle + 4.0), *way, Anchor::End, Ink::Text);
            figure.line(
                (axis.at(row.spread.min), middle),
                (axis.at(row.spread.max).max(axis.at(row.spread.min) + 1.0), middle),
                Ink::Open,
                1.0,
            );
            let (from, to) = (axis.at(row.spread.p25), axis.at(row.spread.p75));
            figure.rect((from, middle - 5.0), (to - from, 10.0), Ink::Series(0));
            let x = axis.at(row.median_ns);
            figure.line((x, middle - 7.0), (x, middle + 7.0), Ink::Text, 1.6);
            figure.text((right + 10.0, middle + 4.0), time(row.median_ns), Anchor::Start, Ink::Text);
            y += ROW;
        }
        for tick in axis.ticks(64.0) {
            figure.text((axis.at(tick), y + 14.0), time(tick), Anchor::Middle, Ink::Muted);
        }
        y += 20.0;
    }
    figure.height = y + 12.0;
    (y > 44.0).then_some(figure)
}

fn left_of(places: &[Place<'_>]) -> f64 {
    places.iter().flat_map(|(_, ways)| ways).map(|(way, _)| text_width(way, 12.0)).fold(60.0, f64::max) + 32.0
}
