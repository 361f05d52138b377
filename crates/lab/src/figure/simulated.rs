//! Simulated work of the form `…/<place>/<way>`, such as circuits over a topology by a handshake: every place by every way.
//!
//! Such rows have no peers and no verdicts. What is asked of them is what one way costs more than the first one at each place.

use super::heat::{Cell, HeatMap};
use super::{Anchor, Figure, Ink, LogAxis, phases, text_width};
use crate::Evidence;
use crate::analysis::{Report, Row};
use crate::stats::sign_interval;
use crate::units::time;

const ROW: f64 = 19.0;
const OVERHEAD: &str = "SIMULATED in virtual time. Each cell: how much longer the median is than that of the first column at the same place, in percent and in milliseconds. In brackets and without colour: the 95 % interval of the difference holds zero, or there were too few processes for one, so that it may be luck.";
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
        let of = |way: &str| ways.iter().find(|(known, _)| *known == way).map(|(_, row)| *row);
        let base = of(first)?;
        let cells = columns.iter().map(|way| {
            let row = of(way)?;
            let more = row.median_ns - base.median_ns;
            let percent = more / base.median_ns * 100.0;
            let lines = [format!("{percent:+.2} %"), format!("{:+.3} ms", more / 1e6)];
            Some(match *way == first {
                true => Cell { value: 0.0, lines: vec![time(base.median_ns)] },
                false if is_luck(base, row) => Cell { value: 0.0, lines: lines.map(|line| format!("({line})")).into() },
                false => Cell { value: percent, lines: lines.into() },
            })
        });
        Some(((*place).to_owned(), cells.collect()))
    });
    let map = HeatMap { columns: columns.iter().map(|&way| way.to_owned()).collect(), rows: rows.collect() };
    map.draw(Figure::new("overhead", &format!("What each costs more than {first}"), report, OVERHEAD))
}

/// Whether the difference of two medians may be nothing but luck: losses and costs are drawn for each row apart, so that nothing pairs them. The interval goes from
/// one end of the interval of either median over processes, each at 97.5 %, to the opposite end of the other, and holds the difference with 95 % or more.
fn is_luck(base: &Row, row: &Row) -> bool {
    let interval = |row: &Row| sign_interval(&row.process_medians_ns, 0.025);
    let (Some(base), Some(row)) = (interval(base), interval(row)) else { return true };
    // Where nothing is drawn, the same is the same.
    (row.low - base.high <= 0.0 && row.high - base.low >= 0.0) && !(base.half_width() == 0.0 && row.half_width() == 0.0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provenance;
    use crate::analysis::{Epochs, Phase, Spread, TaskReport};
    use crate::verdict::Verdict;

    const MS: f64 = 1e6;

    /// A row whose processes have these medians, in ms, and whose two phases share its time as one to three.
    fn row(medians: &[f64]) -> Row {
        let median_ns = medians[medians.len() / 2] * MS;
        let spread = Spread {
            mean: median_ns,
            min: median_ns / 2.0,
            p25: median_ns * 0.9,
            p75: median_ns * 1.1,
            max: median_ns * 4.0,
            ..Spread::default()
        };
        let phase = |name: &str, share: f64| Phase {
            name: name.into(),
            median_ns: median_ns * share,
            process_medians_ns: vec![median_ns * share],
            spread: Spread { mean: median_ns * share, ..Spread::default() },
        };
        Row {
            other_work: None,
            subject: "candor@auto".into(),
            provenance: Provenance::default(),
            evidence: Evidence::Simulated,
            median_ns,
            process_medians_ns: medians.iter().map(|ms| ms * MS).collect(),
            spread,
            ratio: 1.0,
            interval: None,
            floor: 0.01,
            verdict: Verdict::Baseline,
            advice: None,
            phases: vec![phase("hop1", 0.25), phase("hop2", 0.75)],
            residual: None,
            follows_itself: None,
            outcomes: None,
            used: None,
            samples: (medians.len(), 1),
        }
    }

    fn report(tasks: &[(&str, &[f64])]) -> Report {
        let tasks = tasks.iter().map(|(name, medians)| TaskReport {
            task: (*name).into(),
            what: String::new(),
            bytes: None,
            rows: vec![row(medians)],
            counted: Vec::new(),
            refusals: Vec::new(),
            epochs: Epochs::default(),
        });
        crate::figure::sample(tasks.collect())
    }

    /// Nine processes about a median, `by` ms apart.
    fn about(median: f64, by: f64) -> Vec<f64> {
        (-4..=4).map(|at| median + f64::from(at) * by).collect()
    }

    fn three() -> Vec<Figure> {
        let (base, more, lucky) = (about(100.0, 0.1), about(110.0, 0.1), about(101.0, 2.0));
        let tasks = [
            ("circuit/leo/ntor", &base[..]),
            ("circuit/leo/hybrid", &more),
            ("circuit/leo/lucky", &lucky),
            ("circuit/geo/ntor", &base),
            ("circuit/geo/hybrid", &base[..3]),
        ];
        draw(&report(&tasks))
    }

    #[test]
    fn overhead_has_a_colour_where_it_is_no_luck_and_brackets_where_it_may_be() {
        let figures = three();
        let svg = figures[0].svg();
        let count = |what: &str| svg.matches(what).count();
        assert!(svg.contains(">+10.00 %<") && svg.contains(">+10.000 ms<"), "{svg}");
        assert!(svg.contains(">(+1.00 %)<") && svg.contains(">(+1.000 ms)<"), "an interval that holds zero: {svg}");
        assert!(svg.contains(">(-0.30 %)<"), "three processes make no interval: {svg}");
        // The darkest for the one overhead; the two first columns and the two that may be luck have the palest.
        assert_eq!((count("class=\"h6\""), count("class=\"h0\"")), (1, 4), "{svg}");
    }

    #[test]
    fn what_is_no_luck_for_sure_needs_intervals_that_are_apart() {
        let luck = |base: &[f64], other: &[f64]| is_luck(&row(base), &row(other));
        assert!(!luck(&about(100.0, 0.1), &about(101.0, 0.1)) && !luck(&about(101.0, 0.1), &about(100.0, 0.1)));
        assert!(luck(&about(100.0, 0.1), &about(100.2, 0.1)));
        // Without losses and drawn costs there is no luck, and no difference is one.
        assert!(!luck(&about(100.0, 0.0), &about(100.0, 0.0)));
    }

    #[test]
    fn a_stack_has_each_phase_by_its_mean_and_a_distribution_its_quartiles() {
        let figures = three();
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["overhead", "phases-simulated", "distributions-simulated"]);
        let (stack, spread) = (figures[1].svg(), figures[2].svg());
        for text in ["SIMULATED in virtual time.", "hop1", "hop2", "hybrid", "leo", "geo"] {
            assert!(stack.contains(text), "{text}: {stack}");
        }
        // Widths of the two parts of the longest bar.
        let widths = |svg: &str| {
            let width = |rect: &str| rect.split_once("width=\"")?.1.split('"').next()?.parse::<f64>().ok();
            svg.split("<rect").skip(1).filter_map(width).collect::<Vec<_>>()
        };
        let is_there =
            |ratio: f64, svg: &str| widths(svg).windows(2).any(|pair| (pair[1] / pair[0] - ratio).abs() < 0.02);
        assert!(is_there(3.0, &stack), "one to three: {:?}", widths(&stack));
        assert!(spread.contains("110.0 ms") || spread.contains("110 ms"), "{spread}");
        assert!(draw(&report(&[])).is_empty());
    }

    #[cfg(feature = "figures")]
    #[test]
    fn all_three_can_be_drawn_as_png_and_pdf() {
        for figure in three() {
            assert!(crate::figure::png(&figure).unwrap().starts_with(b"\x89PNG"), "{}", figure.name);
            assert!(crate::figure::pdf(&figure).unwrap().starts_with(b"%PDF"), "{}", figure.name);
        }
    }
}
