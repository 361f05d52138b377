//! What became of the baseline from one build to another on the same machine.
//!
//! A run with `--against` pairs the builds: the row of the other build says it. Two runs pair nothing, but each paired its build with the same other
//! library. If that *bridge* is the same in both, the change of the ratio to it is the change of the baseline. It is known no better than both ratios
//! are: the intervals are subtracted end from opposite end, and the floors are added.

use super::alike::{library, other_tier, remark, unlike};
use super::{Cell, Column, SharedTask, no_verdict, words};
use crate::Evidence;
use crate::analysis::{Report, Row, STOPPED};
use crate::paired::{NO_TASK, is_of};
use crate::remote::NO_SUBJECT;
use crate::runfile::{Build, RefusalRecord, Tool};
use crate::stats::Interval;
use crate::verdict::{self, SAME_MARGIN, Verdict};
use serde::Serialize;

/// What became of a task's baseline from one build to another.
#[derive(Clone, Debug)]
pub struct Change {
    /// The task.
    pub task: String,
    /// The columns of the earlier and the later build: the same if one run paired them.
    pub columns: (usize, usize),
    /// The earlier build.
    pub from: String,
    /// The later build.
    pub to: String,
    /// When the runs of both began: twice the same if one run paired them.
    pub dates: (String, String),
    /// How many times faster the later build is. `None` if no bridge leads from one to the other, or if they do other work.
    pub ratio: Option<f64>,
    /// The interval of `ratio`.
    pub interval: Option<Interval>,
    /// The smallest difference that could have been claimed, as a fraction.
    pub floor: f64,
    /// The verdict about the later build.
    pub verdict: Verdict,
    /// How that is known.
    pub grounds: Grounds,
    /// Why nothing can be told, how a build failed, and what else a reader must know.
    pub advice: Option<String>,
    /// Whether a build failed at the task: it refused the work, gave a wrong answer, lost a process, or does other work.
    pub broken: bool,
}

impl Change {
    /// A change of which nothing is known yet.
    fn unknown(from: &Side<'_>, to: &Side<'_>) -> Self {
        Self {
            task: to.cell.report.task.clone(),
            columns: (from.column, to.column),
            from: from.report.commit.clone(),
            to: to.report.commit.clone(),
            dates: (from.report.date.clone(), to.report.date.clone()),
            ratio: None,
            interval: None,
            floor: f64::INFINITY,
            verdict: Verdict::CantTell,
            grounds: Grounds::Bridges(Vec::new()),
            advice: None,
            broken: false,
        }
    }

    /// Whether there is a verdict about the later build.
    pub fn is_told(&self) -> bool {
        matches!(self.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same)
    }
}

/// The advice where there is no more to say.
const NOTHING: &str = "nothing of it was measured";

/// How a change is known.
#[derive(Clone, Debug)]
pub enum Grounds {
    /// Both builds were measured in the same rounds.
    Paired,
    /// Each build was measured in the same rounds as these, which are the same in both runs. The first gives the verdict and the numbers, unless they
    /// contradict each other.
    Bridges(Vec<Bridge>),
}

impl Grounds {
    /// The word that files have for the kind of evidence.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Paired => Evidence::MeasuredPaired.word(),
            Self::Bridges(_) => "bridged",
        }
    }
}

/// A subject that two runs have in common, and the change of the baseline as seen from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bridge {
    /// The subject's name.
    pub subject: String,
    /// How many times faster the later build is, seen from here.
    pub ratio: f64,
    /// The interval of `ratio`.
    pub interval: Interval,
    /// The sum of both floors, as a fraction.
    pub floor: f64,
    /// What it says of the later build.
    pub verdict: Verdict,
}

/// Whether a run of this column measured the task with two builds.
pub(super) fn is_paired(column: &Column, cell: &Cell) -> bool {
    column.reports.iter().any(|report| report.run == cell.run && report.paired.is_some())
}

/// A task in the run of a column.
#[derive(Clone, Copy)]
struct Side<'a> {
    column: usize,
    report: &'a Report,
    cell: &'a Cell,
}

/// All changes of a task: in each paired run, and from the first run on a machine, by the same tier if there is one, to each later one of the same. A column may be the first for one task and
/// not for another, so it is the dates that say which is earlier.
pub(super) fn of(columns: &[Column], task: &SharedTask) -> Vec<Change> {
    let sides = task.filled().filter_map(|(column, cell)| {
        let report = columns[column].reports.iter().find(|report| report.run == cell.run)?;
        Some(Side { column, report, cell })
    });
    let mut sides: Vec<Side<'_>> = sides.collect();
    sides.sort_by_key(|side| &side.report.date);
    let mut changes = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        changes.extend(paired(side));
        let earlier = || sides[..at].iter().filter(|first| first.report.machine.same_as(&side.report.machine));
        let first = earlier().find(|first| first.cell.tier == side.cell.tier).or_else(|| earlier().next());
        changes
            .extend(first.filter(|first| first.cell.digest != side.cell.digest).and_then(|first| bridged(first, side)));
    }
    changes
}

/// What the rows of the other builds say: a change for each of them, also where a build has no row.
fn paired(side: &Side<'_>) -> Vec<Change> {
    let Side { report, cell, .. } = *side;
    let Some(paired) = &report.paired else { return Vec::new() };
    let lost = lost(report, cell);
    let of = |build: &Build| {
        let change = Change {
            from: build.name.clone(),
            to: paired.own.clone(),
            grounds: Grounds::Paired,
            broken: lost.is_some(),
            ..Change::unknown(side, side)
        };
        match cell.report.rows.iter().find(|row| is_of(&row.subject, &build.name)) {
            Some(row) if row.verdict == Verdict::None => {
                Change { verdict: Verdict::None, advice: both(no_verdict(row), lost.clone()), broken: true, ..change }
            }
            Some(row) => Change {
                ratio: Some(row.ratio),
                interval: row.interval,
                floor: row.floor,
                verdict: row.verdict,
                advice: both(both(row.advice.clone(), row.reworded()), lost.clone()),
                ..change
            },
            None => {
                // If it is the one that measures, the other was not measured for its sake.
                let builds = [&paired.own, &build.name];
                let mut refused = builds.into_iter().filter_map(|build| refusal(cell, |name| is_of(name, build)));
                let refused = refused.next();
                let is_new = |refused: &RefusalRecord| refused.reason == NO_TASK || refused.reason == NO_SUBJECT;
                let why = refused.map(|refused| format!("{}: {}", refused.subject, refused.reason));
                Change {
                    advice: both(why, lost.clone()).or_else(|| Some(NOTHING.into())),
                    broken: lost.is_some() || refused.is_some_and(|refused| !is_new(refused)),
                    ..change
                }
            }
        }
    };
    paired.others.iter().map(of).collect()
}

/// Why the first subject with such a name has no time.
fn refusal(cell: &Cell, is_wanted: impl Fn(&str) -> bool) -> Option<&RefusalRecord> {
    cell.report.refusals.iter().find(|refusal| is_wanted(&refusal.subject))
}

/// Which processes of a task were lost, and how the first of them.
fn lost(report: &Report, cell: &Cell) -> Option<String> {
    let mut lost = report.lints.iter().filter(|lint| lint.name == "process-lost" && lint.task == cell.report.task);
    let first = &lost.next()?.text;
    Some(match lost.count() {
        0 => format!("lost {first}"),
        more => format!("lost {first}; and {more} more"),
    })
}

fn both(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

/// What other libraries say. `None` between two runs of one program, which did not change whatever they show, and where there are no others.
fn bridged(from: &Side<'_>, to: &Side<'_>) -> Option<Change> {
    let (earlier, later) = (from.report, to.report);
    // A run that pairs builds has no other subjects, and an import was not measured by any.
    let has_bridges = |report: &Report| report.paired.is_none() && !report.is_import;
    if is_one_program(&earlier.tool, &later.tool) || !has_bridges(earlier) || !has_bridges(later) {
        return None;
    }
    let mut change = Change::unknown(from, to);
    for (cell, other) in [(from.cell, to.cell), (to.cell, from.cell)] {
        if cell.baseline().is_none() {
            let name = other.baseline().map_or("", |row| library(&row.subject));
            let refused = refusal(cell, |subject| library(subject) == name).or(cell.report.refusals.first());
            let advice = match refused {
                Some(refused) => format!("{} in {}: {}", refused.subject, cell.run, refused.reason),
                None => format!("{NOTHING} in {}", cell.run),
            };
            return Some(Change { advice: Some(advice), broken: refused.is_some(), ..change });
        }
    }
    if let Some(why) = other_tier(from.cell, to.cell).or_else(|| unlike(from.cell, to.cell)) {
        return Some(Change { advice: Some(why), ..change });
    }
    let mut bridges = Vec::new();
    let mut doubts = Vec::new();
    for row in &from.cell.report.rows {
        let Some(other) = to.cell.row(&row.subject) else { continue };
        match is_bridge(row, other, from.cell, (&earlier.tool, &later.tool)) {
            Ok(()) => bridges.extend(bridge(row, other)),
            Err(why) => doubts.extend(why),
        }
    }
    let Together { verdict, shown, advice } = together(&bridges);
    if let Some(shown) = shown {
        bridges[..=shown].rotate_right(1);
        let Bridge { ratio, interval, floor, .. } = bridges[0];
        (change.ratio, change.interval, change.floor) = (Some(ratio), Some(interval), floor);
    }
    change.verdict = verdict;
    change.advice = advice.map(|advice| match doubts.first().filter(|_| bridges.is_empty()) {
        Some(doubt) => format!("{advice}: {doubt}"),
        None => advice.to_owned(),
    });
    change.advice = both(change.advice, remark(from.cell, to.cell));
    change.grounds = Grounds::Bridges(bridges);
    Some(change)
}

/// Whether both are one program: the same file, or where early runs don't say that, one built from the same clean tree in the same way.
fn is_one_program(one: &Tool, other: &Tool) -> bool {
    one == other && (one.sha256.is_some() || (one.commit.is_some() && !one.dirty))
}

/// Whether a row leads from one run to the other: its subject is a library of its own, and the same in both. If it seems to be and is not, the error says why.
fn is_bridge(row: &Row, other: &Row, cell: &Cell, (earlier, later): (&Tool, &Tool)) -> Result<(), Option<String>> {
    let judged =
        |row: &Row| matches!(row.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same | Verdict::CantTell);
    if !judged(row) || !judged(other) {
        return Err(None);
    }
    let (one, two) = (&row.provenance, &other.provenance);
    let ours = one.is_ours(&row.subject);
    let of_baseline = cell.baseline().is_some_and(|baseline| {
        let of = &baseline.provenance;
        of.library == one.library && of.is_ours(&baseline.subject) == ours
    });
    if ours || of_baseline {
        return Err(None); // it changes with the build
    }
    let differs = |what: &str| Err(Some(format!("{} has another {what} in the later run", row.subject)));
    if (&one.library, &one.version, &one.commit, &one.object_sha256)
        != (&two.library, &two.version, &two.commit, &two.object_sha256)
    {
        return differs("version or digest");
    }
    if one.commit.is_none() && one.object_sha256.is_none() {
        return Err(Some(format!("the commit, package and shared object of {} are unknown", row.subject)));
    }
    if (&one.build, &one.arm, &one.tuning, one.threads) != (&two.build, &two.arm, &two.tuning, two.threads) {
        return differs("build, arm or tuning");
    }
    if let Some(why) = words::difference(one, two, ("the earlier run", "the later one")) {
        return Err(Some(format!("{}: {why}", row.subject)));
    }
    // What is linked in is compiled anew with each build.
    if one.object_sha256.is_none() && (&earlier.rustc, &earlier.build) != (&later.rustc, &later.build) {
        return differs("compiler or flags");
    }
    Ok(())
}

/// The change as seen from a bridge. `None` without intervals.
fn bridge(row: &Row, other: &Row) -> Option<Bridge> {
    let (interval, floor) =
        difference((row.interval?.map(f64::ln), row.floor), (other.interval?.map(f64::ln), other.floor));
    let complete = [row, other].iter().all(|row| row.advice.as_deref() != Some(STOPPED));
    Some(Bridge {
        subject: row.subject.clone(),
        ratio: other.ratio / row.ratio,
        interval: interval.map(f64::exp),
        floor: floor.exp_m1(),
        verdict: if complete { verdict::judge_interval(interval, floor) } else { Verdict::CantTell },
    })
}

/// How far one log-ratio may be from another, each with its interval and the floor of its run: the interval of the difference, and what both runs can't resolve.
fn difference((before, earlier): (Interval, f64), (after, later): (Interval, f64)) -> (Interval, f64) {
    let interval = Interval { low: after.low - before.high, high: after.high - before.low };
    (interval, earlier.ln_1p() + later.ln_1p())
}

/// What several bridges say together.
struct Together {
    verdict: Verdict,
    /// The place of the one that says it, of several the one with the narrowest interval. `None` where they contradict each other.
    shown: Option<usize>,
    advice: Option<&'static str>,
}

/// What the bridges say together: the same change must be possible for all of them.
fn together(bridges: &[Bridge]) -> Together {
    let open = |shown, advice| Together { verdict: Verdict::CantTell, shown, advice: Some(advice) };
    if bridges.is_empty() {
        return open(None, "no subject is the same in both runs; `candor run --against` pairs two builds");
    }
    let low = bridges.iter().map(|bridge| bridge.interval.low).fold(0.0, f64::max);
    let high = bridges.iter().map(|bridge| bridge.interval.high).fold(f64::INFINITY, f64::min);
    let widest = bridges.iter().map(|bridge| bridge.floor).fold(SAME_MARGIN, f64::max);
    if low > high * (1.0 + widest) || bridges.iter().any(|one| bridges.iter().any(|other| contradict(one, other))) {
        return open(None, "the other libraries disagree: one of them was faster or slower itself");
    }
    let narrowest = |verdict: Verdict| {
        let saying = bridges.iter().enumerate().filter(|(_, bridge)| bridge.verdict == verdict);
        let width = |(_, bridge): &(usize, &Bridge)| bridge.interval.half_width();
        saying.min_by(|one, other| width(one).total_cmp(&width(other))).map(|(at, _)| at)
    };
    let said = [Verdict::Slower, Verdict::Faster, Verdict::Same].into_iter().find_map(|verdict| {
        let shown = narrowest(verdict)?;
        Some(Together { verdict, shown: Some(shown), advice: None })
    });
    said.unwrap_or_else(|| {
        let advice = "the intervals of both runs leave room; `candor run --against` pairs two builds";
        open(narrowest(Verdict::CantTell), advice)
    })
}

/// Whether two bridges have verdicts that can't both be right.
fn contradict(one: &Bridge, other: &Bridge) -> bool {
    let apart = one.interval.high < other.interval.low || other.interval.high < one.interval.low;
    match (one.verdict, other.verdict) {
        (Verdict::Slower, Verdict::Faster) => true,
        (Verdict::Slower | Verdict::Faster, Verdict::Same) => apart,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(low: f64, high: f64) -> Bridge {
        let floor: f64 = 0.01;
        let interval = Interval { low, high };
        let verdict = verdict::judge_interval(interval.map(f64::ln), floor.ln_1p());
        Bridge { subject: "peer".into(), ratio: (low * high).sqrt(), interval, floor, verdict }
    }

    #[test]
    fn a_difference_is_known_no_better_than_both_of_its_ends() {
        let ends = |low: f64, high: f64| Interval { low, high };
        let (interval, floor) = difference((ends(0.10, 0.12), 0.01), (ends(0.30, 0.31), 0.02));
        assert!((interval.low - 0.18).abs() < 1e-12 && (interval.high - 0.21).abs() < 1e-12, "{interval:?}");
        assert!((floor.exp() - 1.01 * 1.02).abs() < 1e-12);
    }

    #[test]
    fn bridges_that_agree_give_a_verdict_and_those_that_don_t_give_none() {
        let said = |bridges: &[Bridge]| together(bridges).verdict;
        assert_eq!(said(&[]), Verdict::CantTell);
        assert_eq!(said(&[seen(0.94, 0.96)]), Verdict::Slower);
        assert_eq!(said(&[seen(0.94, 0.96), seen(0.93, 0.99), seen(0.90, 1.05)]), Verdict::Slower);
        assert_eq!(said(&[seen(1.04, 1.06)]), Verdict::Faster);
        assert_eq!(said(&[seen(0.995, 1.004), seen(0.9, 1.1)]), Verdict::Same);
        assert_eq!(said(&[seen(0.94, 0.96), seen(1.04, 1.06)]), Verdict::CantTell);
        // One library got slower itself: seen from it, the baseline seems to be 8 % faster, and seen from the others it is the same.
        assert_eq!(said(&[seen(1.07, 1.09), seen(0.999, 1.001), seen(0.998, 1.002)]), Verdict::CantTell);
        // One that can't tell by itself leaves no room for what another says.
        assert_eq!(said(&[seen(1.03, 1.05), seen(0.90, 0.996)]), Verdict::CantTell);
        // What is within 2 % may be slower by less than that, but not by more.
        assert_eq!(said(&[seen(0.981, 0.999), seen(0.96, 0.985)]), Verdict::Slower);
        assert_eq!(said(&[seen(0.985, 0.999), seen(0.96, 0.980)]), Verdict::CantTell);
    }

    #[test]
    fn the_numbers_are_those_of_the_bridge_that_gives_the_verdict() {
        let shown = |bridges: &[Bridge]| together(bridges).shown;
        assert_eq!(shown(&[seen(0.95, 0.982), seen(0.981, 0.985), seen(0.93, 0.984)]), Some(1), "the narrowest");
        let same_within = seen(0.981, 0.992);
        assert_eq!(same_within.verdict, Verdict::Same);
        assert_eq!(shown(&[same_within, seen(0.95, 0.985), seen(0.93, 0.984)]), Some(1));
        assert_eq!(shown(&[seen(0.9, 1.1), seen(0.95, 1.05)]), Some(1), "nobody can tell");
        assert_eq!(shown(&[seen(0.94, 0.96), seen(1.04, 1.06)]), None);
    }
}
