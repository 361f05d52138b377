//! Whether two cells compare the same things: the same task, the same baseline, and one subject under one name.

use super::Cell;
use crate::analysis::Row;
use crate::runfile::{Run, TIER};
use crate::{Provenance, Tuning};

/// Whom a run was told to take for the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nobody: it is the first subject of the task.
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
    if (&one.report.what, one.report.bytes) != (&other.report.what, other.report.bytes) {
        return Some(format!("the task is described in other words in {} than in {}", other.run, one.run));
    }
    if one.tier != other.tier {
        let tier = |cell: &Cell| match &cell.tier {
            Some(tier) => format!("{TIER} was {tier} in {}", cell.run),
            None => format!("{TIER} was not set in {}", cell.run),
        };
        return Some(format!("{} and {}", tier(one), tier(other)));
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

/// Whether both baselines are one library's code, in whatever arm.
fn is_one_code(one: &Row, other: &Row) -> bool {
    library(&one.subject) == library(&other.subject) && back_end(one) == back_end(other)
}

/// Whether nobody but a CPU or a build chose between two arms of the baseline.
fn is_chosen(one: &Cell, other: &Cell) -> bool {
    let by_cpu = !one.machine.same_as(&other.machine);
    match (&one.asked, &other.asked) {
        (Asked::ByName(one), Asked::ByName(other)) => one == other,
        (Asked::ByName(_), _) | (_, Asked::ByName(_)) => false,
        (Asked::Nobody, Asked::Nobody) => true,
        _ => by_cpu,
    }
}

/// What a reader must know of two cells that compare the same things: on one kind of machine, each build chose an arm of its own.
pub(super) fn remark(one: &Cell, other: &Cell) -> Option<String> {
    let (ours, theirs) = (&one.baseline()?.subject, &other.baseline()?.subject);
    let differ = ours != theirs && one.machine.same_as(&other.machine);
    differ.then(|| {
        let (run, later) = (&one.run, &other.run);
        format!("each build chose its own arm: the baseline was {ours} in {run} and {theirs} in {later}")
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
    let timed = || differ("what is timed reads", &format!("“{}”", one.timed), &format!("“{}”", two.timed));
    file().or_else(tuning).or_else(timed)
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
