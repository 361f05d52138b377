//! Virtual time beside the kernel's TCP: do they agree?

use super::measured::{circuit_json, measure, ns, packets, packets_json};
use super::network::Measured;
use super::sky;
use crate::Failure;
use crate::cli::{CircuitArguments, ListFormat};
use crate::commands::circuit::costs::Found;
use crate::commands::circuit::{self, figures, ms};
use crate::output::{Talk, columns, print};
use candor_lab::stats::{Interval, clopper_pearson, median, sign_interval};
use candor_lab::table::{Align, Table, paragraph};
use candor_links::model::Loss;
use candor_links::simulator::{Outcome, Plan, Start, World};
use candor_links::survey::Summary;
use candor_network::HandshakeType;
use candor_testbed::Counts;
use serde_json::{Value, json};
use std::iter::once;

/// Simulated circuits for each that is measured: they cost little, and the interval is then that of the measurement.
const MORE: u32 = 10;
/// How far apart medians may be without losses: the larger of these, in ms and as a share.
const CLOSE: (f64, f64) = (2.0, 0.05);
/// How far apart they may be with losses, as a share.
const CLOSE_WITH_LOSS: f64 = 0.15;
/// Rows and characters of a distribution.
const BINS: usize = 10;
const BAR: usize = 40;

/// What was simulated and measured on one topology.
struct Report {
    plan: Plan,
    loses: bool,
    rows: Vec<Row>,
    counts: Counts,
}

/// The same for one handshake.
struct Row {
    handshake: HandshakeType,
    simulated: Vec<Outcome>,
    measured: Measured,
    difference: Option<Difference>,
}

/// Measured median minus simulated median.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Difference {
    ms: f64,
    /// As a share of the simulated one.
    share: f64,
    /// Likewise, at 95 %.
    interval: Interval,
}

impl Difference {
    /// Of times in ms. `None` if there are too few for an interval.
    ///
    /// The interval is exact and a little wide: it goes from one end of the interval of either median, each at 97.5 %, to the opposite end of the other.
    fn of(simulated: &[f64], measured: &[f64]) -> Option<Self> {
        let base = median(simulated)?;
        let ms = median(measured)? - base;
        let [of_simulated, of_measured] = [sign_interval(simulated, 0.025)?, sign_interval(measured, 0.025)?];
        let interval = Interval { low: of_measured.low - of_simulated.high, high: of_measured.high - of_simulated.low };
        Some(Self { ms, share: ms / base, interval: interval.map(|ms| ms / base) })
    }

    /// Whether the two agree, by the rule for links with or without loss. `None` if that can't be told from so many circuits.
    fn agrees(self, loses: bool) -> Option<bool> {
        if !loses {
            return Some(self.ms.abs() <= CLOSE.0 || self.share.abs() <= CLOSE.1);
        }
        let Interval { low, high } = self.interval;
        let within = low >= -CLOSE_WITH_LOSS && high <= CLOSE_WITH_LOSS;
        let beyond = low > CLOSE_WITH_LOSS || high < -CLOSE_WITH_LOSS;
        (within || beyond).then_some(within)
    }
}

/// Whether as large a share of circuits was built on both sides, as far as their numbers tell.
fn as_many_built(simulated: &[Outcome], measured: &[Outcome]) -> bool {
    let [one, other] = [simulated, measured].map(|outcomes| {
        let built = outcomes.iter().filter(|outcome| outcome.built.is_some()).count();
        clopper_pearson(built as u64, outcomes.len() as u64)
    });
    one.low <= other.high && other.low <= one.high
}

pub(super) fn execute(
    arguments: &CircuitArguments,
    plan: &Plan,
    handshakes: &[HandshakeType],
    costs: &Found,
    talk: Talk,
) -> Result<(), Failure> {
    let mut reports = Vec::new();
    for name in once(arguments.topology()).chain(arguments.more.iter().map(String::as_str)) {
        let topology = circuit::topology(arguments, name)?;
        let topology = if arguments.lossless { topology.lossless() } else { topology };
        let plan = Plan { begin: topology.begins(), topology, fetch: None, ..plan.clone() };
        let report = compare(plan, handshakes, arguments.circuits, talk)?;
        // Each as soon as it is there: all of them may take hours.
        if matches!(arguments.format, ListFormat::Text) {
            print(&report.text(costs)?)?;
        }
        let rows =
            report.rows.iter().map(|row| (row.handshake, [times(&row.simulated), times(&row.measured.outcomes)]));
        figures::write_both(arguments, &report.plan, &costs.says, rows.collect(), talk)?;
        reports.push(report);
    }
    match arguments.format {
        ListFormat::Text => Ok(()),
        ListFormat::Json => {
            let reports = reports.iter().map(|report| report.json(costs)).collect::<Result<Vec<_>, _>>()?;
            print(&format!("{:#}\n", json!({ "schema": 1, "evidence": "simulated and measured", "reports": reports })))
        }
    }
}

fn compare(plan: Plan, handshakes: &[HandshakeType], circuits: u32, talk: Talk) -> Result<Report, Failure> {
    let (rows, counts) = measure(&plan, handshakes, circuits, talk)?;
    let set = plan.set.as_deref();
    let loses = plan.topology.links.iter().any(|link| link.profiles(set).iter().any(|way| way.loss != Loss::None));
    let rows = rows.into_iter().map(|(handshake, measured)| {
        let plan = Plan { handshake, ..plan.clone() };
        let simulated = match plan.topology.flight() {
            Some(_) => sky::simulated(&plan, &measured.begins, MORE)?,
            None => {
                let mut world = World::new(&plan)?;
                (0..circuits.saturating_mul(MORE)).map(|_| world.build()).collect()
            }
        };
        let difference = Difference::of(&times(&simulated), &times(&measured.outcomes));
        Ok::<_, Failure>(Row { handshake, simulated, measured, difference })
    });
    let rows = rows.collect::<Result<_, _>>()?;
    Ok(Report { plan, loses, rows, counts })
}

/// Times to circuit in ms, of those that were built.
fn times(outcomes: &[Outcome]) -> Vec<f64> {
    outcomes.iter().filter_map(|outcome| outcome.built).map(|built| built.as_secs_f64() * 1e3).collect()
}

impl Report {
    fn text(&self, costs: &Found) -> Result<String, Failure> {
        let (wide, plan) = (columns(), &self.plan);
        let set = plan.set.as_ref().map(|set| format!(", set {set}")).unwrap_or_default();
        let start = if plan.start == Start::Cold { "links are made" } else { "links are there" };
        let loss = if self.loses { "with losses" } else { "without losses" };
        let mut text = format!("{}{set}: {}\n", plan.topology.name, plan.topology.title);
        let heading = format!(
            "SIMULATED in virtual time and MEASURED over TUN devices: {start}, {loss}, seed {}. Medians of the time to circuit in ms. Delays alone{}: {}. \
             Simulated computation: {}. {}",
            plan.seed,
            sky::at_the_beginning(plan),
            ms(Some(plan.delays_alone()?)),
            costs.says,
            packets(&self.counts)
        );
        text += &paragraph("", &heading, wide);
        text += &costs.warning(wide);
        text.push('\n');
        let mut table = Table::new(&[&[Align::Left][..], &[Align::Right; 7], &[Align::Left]].concat());
        let heads =
            ["handshake", "simulated", "circuits", "measured", "circuits", "difference", "%", "95 % interval, %"];
        table.row([&heads[..], &["verdict"]].concat());
        for row in &self.rows {
            let (simulated, measured) = (Summary::of(&row.simulated), row.measured.summary());
            let of = |summary: &Summary| format!("{}/{}", summary.built.count(), summary.circuits);
            let of_difference = |text: &dyn Fn(Difference) -> String| row.difference.map_or("-".to_owned(), text);
            table.row([
                row.handshake.to_string(),
                ms(simulated.built.median()),
                of(&simulated),
                ms(measured.built.median()),
                of(&measured),
                of_difference(&|difference| format!("{:+.2}", difference.ms)),
                of_difference(&|difference| format!("{:+.1}", 100.0 * difference.share)),
                of_difference(&|Difference { interval, .. }| {
                    format!("{:+.1} to {:+.1}", 100.0 * interval.low, 100.0 * interval.high)
                }),
                self.verdict(row).to_owned(),
            ]);
        }
        text += &table.text(wide);
        text += "\nBy phase, simulated / measured:\n";
        let mut table = Table::new(&[&[Align::Left][..], &[Align::Right; 4], &[Align::Left]].concat());
        table.row(["handshake", "link", "hop 1", "hop 2", "hop 3", ""]);
        for row in &self.rows {
            let summaries = [Summary::of(&row.simulated), row.measured.summary()];
            let both = |of: &dyn Fn(&Summary) -> String| summaries.each_ref().map(of).join(" / ");
            let hop = |hop: usize| both(&|summary| ms(summary.hops[hop].median()));
            table.row([row.handshake.to_string(), both(&|summary| ms(summary.link.median())), hop(0), hop(1), hop(2)]);
        }
        text += &table.text(wide);
        text += &sky::text(plan, &self.series(), wide);
        if self.loses {
            for row in &self.rows {
                text += &format!("\n{}: share of circuits by time to circuit in ms\n", row.handshake);
                text += &distribution(&times(&row.simulated), &times(&row.measured.outcomes));
            }
        }
        let rule = match self.loses {
            false => "They agree if medians are within 2 ms or 5 % of each other",
            true => "They agree if the interval of the difference lies within ±15 %, and differ if it lies outside",
        };
        let rule = format!("{rule}; they differ as well if the shares of circuits that were built do.");
        text += &paragraph("", &format!("\n{rule}\n"), wide);
        text.push('\n');
        Ok(text)
    }

    /// Each handshake's circuits by their times: measured, and the first of those that were simulated at the same instant.
    fn series(&self) -> Vec<sky::Series<'_>> {
        let series = self.rows.iter().flat_map(|row| {
            let begins = &row.measured.begins;
            let measured = row.measured.outcomes.iter().map(|outcome| outcome.built).collect();
            let simulated = row.simulated.iter().step_by(MORE as usize).map(|outcome| outcome.built).collect();
            let titles = [format!("{} measured", row.handshake), "simulated".to_owned()];
            titles.into_iter().zip([measured, simulated]).map(move |(title, times)| sky::Series {
                title,
                begins,
                times,
            })
        });
        series.collect()
    }

    fn verdict(&self, row: &Row) -> &'static str {
        match row.difference.map(|difference| difference.agrees(self.loses)) {
            _ if !as_many_built(&row.simulated, &row.measured.outcomes) => "DIFFER in circuits built",
            Some(Some(true)) => "agree",
            Some(Some(false)) => "DIFFER",
            Some(None) => "can't tell",
            None => "too few",
        }
    }

    fn json(&self, costs: &Found) -> Result<Value, Failure> {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let difference = row.difference.map(|Difference { ms, share, interval }| {
                    json!({ "ms": ms, "share": share, "interval": [interval.low, interval.high] })
                });
                let (simulated, measured) = (Summary::of(&row.simulated), row.measured.summary());
                let side = |summary: &Summary, circuits: Vec<Value>| {
                    json!({
                        "median_ns": ns(summary.built.median()), "built": summary.built.count(), "begun": summary.circuits,
                        "circuits": circuits,
                    })
                };
                // While satellites pass, as many of these as of those begin with each that was measured.
                let begin = |index: usize| row.measured.begins.get(index / MORE as usize).copied();
                let begin = |index| self.plan.topology.flight().and_then(|_| begin(index));
                let circuits = row.simulated.iter().enumerate().map(|(index, outcome)| circuit_json(outcome, begin(index)));
                json!({
                    "handshake": row.handshake.name(), "difference": difference, "verdict": self.verdict(row),
                    "failures": row.measured.failures, "measured": side(&measured, row.measured.json(&self.plan)),
                    "simulated": side(&simulated, circuits.collect()),
                })
            })
            .collect();
        Ok(json!({
            "topology": self.plan.topology.name, "set": self.plan.set, "cold": self.plan.start == Start::Cold, "losses": self.loses,
            "seed": self.plan.seed, "costs": costs.says, "warning": costs.elsewhere(), "delays_alone_ns": ns(Some(self.plan.delays_alone()?)),
            "packets": packets_json(&self.counts), "rows": rows,
        }))
    }
}

/// A histogram of both with the same bins, each wider than the one before by the same factor, since losses cost times of very different lengths.
fn distribution(simulated: &[f64], measured: &[f64]) -> String {
    let all = || simulated.iter().chain(measured);
    let least = all().copied().fold(f64::INFINITY, f64::min);
    let most = all().copied().fold(0.0, f64::max);
    if !(least > 0.0 && most > least) {
        return String::new();
    }
    let bin_of = |time: f64| {
        let share = (time / least).ln() / (most / least).ln();
        ((share * BINS as f64) as usize).min(BINS - 1)
    };
    let edge = |bin: usize| least * (most / least).powf(bin as f64 / BINS as f64);
    let shares = [simulated, measured].map(|times| {
        let mut shares = [0.0; BINS];
        times.iter().for_each(|time| shares[bin_of(*time)] += 1.0 / times.len() as f64);
        shares
    });
    let mut table = Table::new(&[Align::Right, Align::Left, Align::Right, Align::Left]);
    for bin in 0..BINS {
        for (side, shares) in ["simulated", "measured"].into_iter().zip(&shares) {
            let range = format!("{:.0} – {:.0}", edge(bin), edge(bin + 1));
            let bar = "█".repeat((shares[bin] * BAR as f64).round() as usize);
            let range = if side == "simulated" { range } else { String::new() };
            table.row([range, side.to_owned(), format!("{:.1} %", 100.0 * shares[bin]), bar]);
        }
    }
    table.text(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` times evenly about `middle`.
    fn about(middle: f64, count: usize) -> Vec<f64> {
        (0..count).map(|at| middle + 10.0 * (at as f64 / (count - 1) as f64 - 0.5)).collect()
    }

    #[test]
    fn the_interval_holds_the_difference_and_gets_narrower_with_more_circuits() {
        let difference = |count| Difference::of(&about(100.0, 10 * count), &about(103.0, count)).unwrap();
        let (few, many) = (difference(100), difference(1000));
        for found in [few, many] {
            assert!((found.ms - 3.0).abs() < 0.01 && (found.share - 0.03).abs() < 1e-4, "{found:?}");
            assert!(found.interval.contains(0.03));
        }
        assert!(many.interval.half_width() < few.interval.half_width() / 2.0);
        assert_eq!(Difference::of(&about(1.0, 100), &about(1.0, 5)), None, "too few");
        assert_eq!(Difference::of(&[], &about(1.0, 100)), None);
    }

    #[test]
    fn the_interval_goes_from_one_end_of_one_median_to_the_opposite_end_of_the_other() {
        // Of twenty values at 97.5 %: the fifth to the sixteenth.
        let twenty = |first: u32| (first..first + 20).map(f64::from).collect::<Vec<_>>();
        let found = Difference::of(&twenty(1), &twenty(101)).unwrap();
        assert_eq!(
            (found.ms, found.interval.map(|share| (share * 10.5).round())),
            (100.0, Interval { low: 89.0, high: 111.0 })
        );
    }

    #[test]
    fn without_losses_two_milliseconds_or_five_percent_agree() {
        let agrees = |base: f64, more: f64| {
            Difference::of(&vec![base; 100], &vec![base + more; 100]).unwrap().agrees(false) == Some(true)
        };
        assert!(agrees(10.0, 1.9) && agrees(10.0, -1.9) && agrees(200.0, 9.9));
        assert!(!agrees(10.0, 2.1) && !agrees(10.0, -2.1) && !agrees(200.0, 10.1));
    }

    #[test]
    fn with_losses_the_whole_interval_decides_and_a_wide_one_nothing() {
        let agrees = |low: f64, high: f64| {
            let interval = Interval { low, high };
            Difference { ms: 99.0, share: (low + high) / 2.0, interval }.agrees(true)
        };
        assert_eq!([agrees(-0.01, 0.01), agrees(-0.15, 0.15)], [Some(true); 2]);
        assert_eq!([agrees(0.16, 0.5), agrees(-0.5, -0.16)], [Some(false); 2]);
        assert_eq!([agrees(0.14, 0.5), agrees(-0.5, -0.14), agrees(-0.5, 0.5)], [None; 3]);
    }

    #[test]
    fn circuits_that_fail_on_one_side_only_are_a_difference() {
        let outcomes = |built: usize, failed: usize| {
            let whole = Outcome { built: Some(std::time::Duration::from_millis(9)), ..Outcome::default() };
            [vec![whole; built], vec![Outcome::default(); failed]].concat()
        };
        assert!(as_many_built(&outcomes(1000, 0), &outcomes(100, 0)));
        assert!(as_many_built(&outcomes(990, 10), &outcomes(97, 3)));
        assert!(!as_many_built(&outcomes(1000, 0), &outcomes(50, 50)));
    }

    #[test]
    fn a_distribution_counts_everything_once() {
        let text = distribution(&[10.0, 10.0, 10.0, 1000.0], &[100.0, 100.0]);
        let share = |side: &str| -> f64 {
            let lines = text.lines().filter(|line| line.contains(side));
            lines
                .map(|line| line.split('%').next().unwrap().split_whitespace().last().unwrap().parse::<f64>().unwrap())
                .sum()
        };
        assert_eq!((share("simulated"), share("measured")), (100.0, 100.0), "{text}");
        assert!(text.trim_start().starts_with("10 – 16") && text.contains("75.0 %"), "{text}");
        assert_eq!(distribution(&[1.0], &[1.0]), "", "all the same");
    }
}
