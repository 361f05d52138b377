//! Which runs stand in one column, and copies of runs that are refused.

use super::alike::Asked;
use super::words::todays_name;
use crate::LabError;
use crate::analysis::Report;
use crate::machine::Machine;
use crate::runfile::{Block, Run, TIER, are_telling};
use crate::schedule::Schedule;
use crate::{Evidence, plan::control_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Runs of one kind of machine, with the same `CANDOR_CPU`, in which no task was measured twice.
#[derive(Clone, Debug)]
pub struct Column {
    /// `A`, `B`, …
    pub label: String,
    /// The runs.
    pub reports: Vec<Report>,
    /// What else the files say of each.
    pub(super) seals: Vec<Sealed>,
}

/// What a file says of its run and no report shows.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    /// The digest of its seal.
    pub(super) digest: String,
    /// The default tier that was asked for by name.
    pub(super) tier: Option<String>,
    /// Whom it was told to take for the baseline.
    pub(super) asked: Asked,
}

impl Sealed {
    fn of(run: &Run) -> Self {
        Self { digest: run.sha256.clone(), tier: run.manifest.settings.get(TIER).cloned(), asked: Asked::of(run) }
    }
}

impl Column {
    /// The kind of machine.
    pub fn machine(&self) -> &Machine {
        // A column is made for its first run.
        &self.reports[0].machine
    }

    /// The kind of machine in one line, with the default tier where that was asked for by name.
    pub fn line(&self) -> String {
        let machine = self.machine().line();
        self.tier().map_or(machine.clone(), |tier| format!("{machine}, {TIER}={tier}"))
    }

    /// The default tier of its runs, where it was asked for by name.
    pub fn tier(&self) -> Option<&str> {
        self.seals[0].tier.as_deref()
    }

    /// Names of the runs, joined by commas.
    pub fn runs(&self) -> String {
        self.reports.iter().map(|report| report.run.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// When its runs began: the first, and the last if there are several.
    pub fn dates(&self) -> String {
        let dates = || self.reports.iter().map(|report| report.date.as_str());
        match (dates().min(), dates().max()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (first, _) => first.unwrap_or_default().to_owned(),
        }
    }

    /// The commits of the programs that measured, each once.
    pub fn commits(&self) -> String {
        super::unique(self.reports.iter().map(|report| report.commit.as_str())).join(", ")
    }
}

/// The runs in the order in which columns are made of them: machines as they were given, and the runs of each by the time at which they began. The later of two
/// builds is the one that was measured later, however a shell sorted their files.
fn in_order(runs: &[(PathBuf, Run)]) -> Vec<&Run> {
    let machine = |run: &Run| runs.iter().position(|(_, first)| first.manifest.machine.same_as(&run.manifest.machine));
    let mut runs: Vec<(usize, &Run)> =
        runs.iter().enumerate().map(|(at, (_, run))| (machine(run).unwrap_or(at), run)).collect();
    runs.sort_by(|(one, a), (other, b)| (one, &a.manifest.date).cmp(&(other, &b.manifest.date)));
    runs.into_iter().map(|(_, run)| run).collect()
}

/// The columns of these runs. Runs of one kind of machine share a column if no two of them measured the same task. If some did, a column holds runs of
/// one build only, and a second run of a task by the same build begins another one.
pub(super) fn of(runs: &[(PathBuf, Run)]) -> Vec<Column> {
    let tasks =
        |run: &Run| -> BTreeSet<String> { run.tasks.iter().map(|task| todays_name(&task.task).to_owned()).collect() };
    let same_machine = |one: &Run, other: &Run| one.manifest.machine.same_as(&other.manifest.machine);
    let tier = |run: &Run| run.manifest.settings.get(TIER).cloned();
    let same_setting = |one: &Run, other: &Run| same_machine(one, other) && tier(one) == tier(other);
    let disjoint = |one: &Run, other: &Run| tasks(one).is_disjoint(&tasks(other));
    let repeats = |run: &Run| {
        let of_machine: Vec<&Run> =
            runs.iter().map(|(_, other)| other).filter(|other| same_setting(run, other)).collect();
        of_machine.iter().enumerate().any(|(at, one)| of_machine[..at].iter().any(|other| !disjoint(one, other)))
    };
    let mut columns: Vec<Vec<&Run>> = Vec::new();
    for run in in_order(runs) {
        let repeats = repeats(run);
        let fits = |column: &&mut Vec<&Run>| {
            column.iter().all(|other| {
                let one_build =
                    run.manifest.tool == other.manifest.tool && run.manifest.paired == other.manifest.paired;
                same_setting(run, other) && disjoint(run, other) && (one_build || !repeats)
            })
        };
        match columns.iter_mut().find(fits) {
            Some(column) => column.push(run),
            None => columns.push(vec![run]),
        }
    }
    let column = |(at, runs): (usize, Vec<&Run>)| Column {
        label: label(at),
        reports: runs.iter().map(|run| report(run)).collect(),
        seals: runs.iter().map(|run| Sealed::of(run)).collect(),
    };
    columns.into_iter().enumerate().map(column).collect()
}

/// The report of a run, whose tasks have the names of today.
fn report(run: &Run) -> Report {
    let mut report = Report::of(run);
    for task in &mut report.tasks {
        let refused = task.refusals.iter_mut().map(|refusal| &mut refusal.task);
        refused.chain([&mut task.task]).for_each(|name| *name = todays_name(name).to_owned());
    }
    report.lints.iter_mut().for_each(|lint| lint.task = todays_name(&lint.task).to_owned());
    report
}

/// A to Z, then A2 to Z2 and so on.
fn label(at: usize) -> String {
    let letter = char::from(b'A' + (at % 26) as u8);
    if at < 26 { letter.to_string() } else { format!("{letter}{}", at / 26 + 1) }
}

/// Refuses a run that has times of another one, though it is another run by its seal: somebody copied a process, or a subject's part of one. The very same run
/// may be given twice; that compares nothing.
pub(super) fn refuse_copies(runs: &[(PathBuf, Run)]) -> Result<(), LabError> {
    let mut whole: BTreeMap<(&str, Vec<&Vec<u64>>), &Run> = BTreeMap::new();
    let mut parts: BTreeMap<(&str, &Vec<u64>), (&Run, &str)> = BTreeMap::new();
    for (path, run) in runs {
        for block in &run.blocks {
            let refused = |why: String| LabError::RunFile { path: path.clone(), line: line_of(run, block), why };
            let Block { process, task, .. } = block;
            let clocked = clocked(run, block);
            if clocked.is_empty() {
                continue;
            }
            let times = clocked.iter().map(|(_, ns)| *ns).collect();
            let other = whole.entry((task, times)).or_insert(run);
            if other.sha256 != run.sha256 {
                return Err(refused(format!(
                    "process {process} of task {task} has the very times of a process in {}: one is a copy of the other",
                    other.name
                )));
            }
            for (name, ns) in clocked.into_iter().filter(|(_, ns)| are_telling(ns, run.manifest.clock_quantum_ns)) {
                let (other, theirs) = parts.entry((task, ns)).or_insert((run, name));
                if other.sha256 != run.sha256 {
                    return Err(refused(format!(
                        "{name} has in process {process} of task {task} the very times of {theirs} in {}: one is a copy of the other",
                        other.name
                    )));
                }
            }
        }
    }
    Ok(())
}

/// The epochs that a clock gave, each with its subject. Virtual times may be the same in two runs.
fn clocked<'a>(run: &Run, block: &'a Block) -> Vec<(&'a str, &'a Vec<u64>)> {
    let is_virtual = |name: &str| {
        let mut subjects = run.subjects.iter().filter(|subject| subject.task == block.task);
        subjects.any(|subject| {
            let named = subject.subject == name || control_of(&subject.subject) == name;
            named && subject.provenance.evidence == Evidence::Simulated
        })
    };
    block.ns.iter().filter(|(name, _)| !is_virtual(name)).map(|(name, ns)| (name.as_str(), ns)).collect()
}

/// The line of a block in its file. It follows from the schedule, as the reader has checked.
fn line_of(run: &Run, block: &Block) -> usize {
    let planned: Vec<&str> =
        run.tasks.iter().filter(|task| task.plan.is_some()).map(|task| task.task.as_str()).collect();
    let mut schedule = Schedule::new(run.manifest.seed, run.tasks.len(), planned.len(), run.manifest.processes);
    let before = schedule.position(|due| planned[due.plan] == block.task && due.process == block.process);
    1 + run.tasks.len() + run.subjects.len() + run.refusals.len() + before.unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_letters_and_each_is_another() {
        let labels: Vec<String> = (0..60).map(label).collect();
        assert_eq!((labels[0].as_str(), labels[25].as_str(), labels[26].as_str()), ("A", "Z", "A2"));
        assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len());
    }
}
