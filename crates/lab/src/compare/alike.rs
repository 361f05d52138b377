//! Whether two cells compare the same things: the same task, the same baseline, and one subject under one name.

use super::{Cell, words};
use crate::analysis::Row;
use crate::runfile::{Run, TIER};
use crate::{Provenance, Tuning};

/// Which baseline a run was told to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// None: it is the first subject of the task.
    Nobody,
    /// This one, by `--baseline`.
    ByName(String),
    /// The one of the run that it repeats.
    AsBefore,
}

impl Asked {
    /// By what the run's file says.
    pub(super) fn of(run: &Run) -> Self {
        match run.manifest.asked_baseline() {
            Some(name) => Self::ByName(name.to_owned()),
            None if run.manifest.repeats.is_some() => Self::AsBefore,
            None => Self::Nobody,
        }
    }

    /// The end of a clause about the baseline.
    fn told(&self) -> &'static str {
        match self {
            Self::Nobody => "",
            Self::ByName(_) => " (by --baseline)",
            Self::AsBefore => " (as in the run that it repeats)",
        }
    }
}

/// Why the two don't compare with the same thing, or are not the same task.
pub(super) fn unlike(one: &Cell, other: &Cell) -> Option<String> {
    if one.report.bytes != other.report.bytes || !is_one_task(one, other) {
        return Some(format!("the task is described in other words in {} than in {}", other.run, one.run));
    }
    let contracts =
        one.baseline().zip(other.baseline()).map(|(one, other)| (one.provenance.contract, other.provenance.contract));
    if let Some((Some(ours), Some(theirs))) = contracts.filter(|(ours, theirs)| ours != theirs) {
        let (run, later) = (&one.run, &other.run);
        return Some(format!(
            "the baseline's call is by version {ours} of its contract in {run} and by version {theirs} in {later}"
        ));
    }
    let (ours, theirs) = (one.baseline()?, other.baseline()?);
    if is_one_code(ours, theirs) && (ours.subject == theirs.subject || is_chosen(one, other)) {
        return None;
    }
    let told = |cell: &Cell, row: &Row| {
        let behind = back_end(row).map(|name| format!(" (on {name})")).unwrap_or_default();
        format!("{}{behind} in {}{}", row.subject, cell.run, cell.asked.told())
    };
    Some(format!("the baseline was {} and {}", told(one, ours), told(other, theirs)))
}

/// Whether the task is the same: under one contract of the baseline whatever its words, else by them.
fn is_one_task(one: &Cell, other: &Cell) -> bool {
    let has_contract = |cell: &Cell| cell.baseline().is_some_and(|row| row.provenance.contract.is_some());
    (has_contract(one) && has_contract(other)) || words::is_one_task(&one.report.what, &other.report.what)
}

/// Whether both baselines are one library's code, in whatever arm.
fn is_one_code(one: &Row, other: &Row) -> bool {
    library(&one.subject) == library(&other.subject) && back_end(one) == back_end(other)
}

/// Why no change leads from one build to the other: with another default tier they ran other arms.
pub(super) fn other_tier(one: &Cell, other: &Cell) -> Option<String> {
    let tier = |cell: &Cell| match &cell.tier {
        Some(tier) => format!("{TIER} was {tier} in {}", cell.run),
        None => format!("{TIER} was not set in {}", cell.run),
    };
    (one.tier != other.tier).then(|| format!("{} and {}", tier(one), tier(other)))
}

/// Whether a build on its own chose between arms: on one kind of machine, whose tier was not set otherwise.
fn is_by_build(one: &Cell, other: &Cell) -> bool {
    one.machine.same_as(&other.machine) && one.tier == other.tier
}

/// Whether nobody but a CPU, a tier or a build chose between two arms of the baseline.
fn is_chosen(one: &Cell, other: &Cell) -> bool {
    let by_cpu = !is_by_build(one, other);
    match (&one.asked, &other.asked) {
        (Asked::ByName(one), Asked::ByName(other)) => one == other,
        (Asked::ByName(_), _) | (_, Asked::ByName(_)) => false,
        (Asked::Nobody, Asked::Nobody) => true,
        _ => by_cpu,
    }
}

/// What a reader must know of two cells that compare the same things: by one contract the task has other words, and on one kind of machine each build chose an arm of
/// its own.
pub(super) fn remark(one: &Cell, other: &Cell) -> Option<String> {
    let (ours, theirs) = (&one.baseline()?.subject, &other.baseline()?.subject);
    let (run, later) = (&one.run, &other.run);
    let chosen = (ours != theirs && is_by_build(one, other))
        .then(|| format!("each build chose its own arm: the baseline was {ours} in {run} and {theirs} in {later}"));
    let (what, of_other) = (&one.report.what, &other.report.what);
    let reworded = (!words::is_one_task(what, of_other))
        .then(|| format!("by one contract, the task reads “{what}” in {run} and “{of_other}” in {later}"));
    let all: Vec<String> = chosen.into_iter().chain(reworded).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What a reader must know of a subject that is the same in both: one contract, and other words for it.
pub(super) fn reworded((cell, row): (&Cell, &Row), (other_cell, other): (&Cell, &Row)) -> Option<String> {
    let (one, two) = (&row.provenance, &other.provenance);
    (!words::are_alike(one, two)).then(|| {
        let (run, later) = (&cell.run, &other_cell.run);
        format!("by one contract, what is timed reads “{}” in {run} and “{}” in {later}", one.timed, two.timed)
    })
}

/// The library behind our interface, where the sentence about the timed call names one.
fn back_end(row: &Row) -> Option<&str> {
    let (_, behind) = row.provenance.timed.split_once("back end ")?;
    behind.split([' ', ')', ',', ';']).next()
}

/// Why the two are not the same subject, though they have one name. A name says the version; that of a program says nothing but its file's name.
pub(super) fn another((cell, row): &(&Cell, &Row), (other_cell, other): &(&Cell, &Row)) -> Option<String> {
    let (one, two) = (&row.provenance, &other.provenance);
    let differ = |what: &str, one: &str, two: &str| {
        (one != two).then(|| format!("{what} {one} in {} and {two} in {}", cell.run, other_cell.run))
    };
    let digest =
        |of: &Provenance| of.object_sha256.as_ref().map_or("unknown".to_owned(), |sha256| format!("{sha256:.12}"));
    let is_program = row.subject.starts_with("program-");
    let file = || differ("the program has the digest", &digest(one), &digest(two)).filter(|_| is_program);
    let tuning = || differ("the library is", tuned(&one.tuning), tuned(&two.tuning));
    let behind = || {
        differ("behind our interface is", back_end(row).unwrap_or("our code"), back_end(other).unwrap_or("our code"))
    };
    file().or_else(tuning).or_else(behind).or_else(|| words::difference(one, two, (&cell.run, &other_cell.run)))
}

/// Where and when it was tuned belongs to the machine; whether it was makes it another.
fn tuned(tuning: &Tuning) -> &'static str {
    match tuning {
        Tuning::NotApplicable => "one without thresholds",
        Tuning::Stock => "as shipped",
        Tuning::Tuned(_) => "tuned",
    }
}

/// A subject's name without its tier.
pub(super) fn library(subject: &str) -> &str {
    subject.split_once('@').map_or(subject, |(library, _)| library)
}
