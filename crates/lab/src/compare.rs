//! Runs side by side: what reproduces, what flips, and what can't be told.
//!
//! A ratio in a run is of two subjects in the same rounds. Nothing was paired between two runs, so times of two runs are never divided by each other,
//! not even on one machine: each run's ratios stand beside the other runs' ratios. Of two builds on one machine, [`Change`] says what became of the
//! baseline, either because the run paired the builds or by a subject that is the same in both.

mod alike;
mod change;
mod columns;
mod quoted;
mod words;

pub use change::{Bridge, Change, Grounds};
pub use columns::Column;
pub use quoted::Quoted;
pub use words::{differing_work, todays_name};

use crate::analysis::{Report, Row, TaskReport};
use crate::machine::Machine;
use crate::runfile::{RefusalRecord, Run, TIER, refuse_namesakes};
use crate::verdict::Verdict;
use crate::{Evidence, LabError, Quantity};
use alike::{another, remark, reworded, unlike};
use columns::Sealed;
use std::path::PathBuf;

/// Several runs, side by side.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// A machine, a tier of it that was set by `CANDOR_CPU`, or a build each: machines in the order in which they were given, builds of a machine in that in which they were measured.
    pub columns: Vec<Column>,
    /// The tasks that at least two columns have, or that a run has of two builds.
    pub tasks: Vec<SharedTask>,
    /// How many other tasks the runs have.
    pub left_out: usize,
    /// What became of each task's baseline from one build to another on the same machine.
    pub changes: Vec<Change>,
}

/// A task in several columns.
#[derive(Clone, Debug)]
pub struct SharedTask {
    /// The task's name.
    pub task: String,
    /// What is done, as the first of the columns says it.
    pub what: String,
    /// Bytes worked through per operation.
    pub bytes: Option<u64>,
    /// The task in each column that has it.
    pub cells: Vec<Option<Cell>>,
    /// The subjects, without the baselines and their second entries, in the order in which they appear.
    pub rows: Vec<Line>,
}

/// A task in a column.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The run.
    pub run: String,
    /// The digest of its seal.
    digest: String,
    /// The kind of machine.
    machine: Machine,
    /// The default tier that was asked for by name.
    tier: Option<String>,
    /// Whom the run was told to take for the baseline.
    asked: alike::Asked,
    /// Rows and quantities.
    pub report: TaskReport,
}

/// A subject in several columns.
#[derive(Clone, Debug)]
pub struct Line {
    /// The subject's name.
    pub subject: String,
    /// What the columns say together.
    pub fate: Fate,
    /// What a reader must know of the columns that were compared.
    pub remarks: Vec<String>,
}

/// What several columns say together of the baseline and a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The same verdict in each.
    Reproduces,
    /// The baseline is faster in one and slower in another.
    Flips,
    /// There is a difference in one, and in another there is none of 2 %.
    Differs,
    /// The evidence of one of them supports no verdict.
    CantTell,
    /// The columns hold one and the same run: nothing was measured twice.
    OneRun,
    /// Fewer than two columns have it.
    Alone,
    /// The columns don't have the same comparison: says why.
    NotCompared(String),
}

impl Fate {
    /// The word that tables show.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Reproduces => "reproduces",
            Self::Flips => "flips",
            Self::Differs => "differs",
            Self::CantTell => "can't tell",
            Self::OneRun => "one run",
            Self::Alone => "measured once",
            Self::NotCompared(_) => "not compared",
        }
    }
}

impl Cell {
    /// The row of a subject.
    pub fn row(&self, subject: &str) -> Option<&Row> {
        self.report.rows.iter().find(|row| row.subject == subject)
    }

    /// The baseline's row. `None` if nothing was measured.
    pub fn baseline(&self) -> Option<&Row> {
        self.report.rows.first()
    }

    /// Why the subject has no time.
    pub fn refusal(&self, subject: &str) -> Option<&RefusalRecord> {
        self.report.refusals.iter().find(|refusal| refusal.subject == subject)
    }
}

impl SharedTask {
    /// The row of a subject in each column.
    pub fn of(&self, subject: &str) -> Vec<Option<&Row>> {
        self.cells.iter().map(|cell| cell.as_ref()?.row(subject)).collect()
    }

    /// The cells that there are, each with the index of its column.
    pub fn filled(&self) -> impl Iterator<Item = (usize, &Cell)> {
        self.cells.iter().enumerate().filter_map(|(at, cell)| Some((at, cell.as_ref()?)))
    }

    /// The names of all phases that a subject has in any column, in their order.
    pub fn phases(&self, subject: &str) -> Vec<&str> {
        let rows = self.filled().filter_map(|(_, cell)| cell.row(subject));
        unique(rows.flat_map(|row| row.phases.iter().map(|phase| phase.name.as_str())))
    }

    /// All subjects that counted something, each as it is shown, with what it counted.
    pub fn counted(&self) -> Vec<(&str, &str)> {
        let counted = self.filled().flat_map(|(_, cell)| &cell.report.counted);
        unique(counted.flat_map(|counted| {
            counted.quantities.iter().map(|quantity| (counted.label.as_str(), quantity.name.as_str()))
        }))
    }

    /// What a subject that is shown so counted under that name in each column, and the kind of evidence.
    pub fn amounts(&self, label: &str, quantity: &str) -> Vec<Option<(&Quantity, Evidence)>> {
        let amounts = self.cells.iter().map(|cell| {
            let counted = cell.as_ref()?.report.counted.iter().find(|counted| counted.label == label)?;
            let found = counted.quantities.iter().find(|found| found.name == quantity)?;
            Some((found, counted.evidence))
        });
        amounts.collect()
    }
}

/// Each item once, in the order in which it first appears.
fn unique<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut seen, item| {
        if !seen.contains(&item) {
            seen.push(item);
        }
        seen
    })
}

impl Comparison {
    /// Sets runs side by side. Each comes with the path that it was read from.
    ///
    /// # Errors
    ///
    /// A run that has the times of another is refused with the line, and so is one that has another's name, and a self-test. So are runs that have nothing in common.
    pub fn of(runs: &[(PathBuf, Run)]) -> Result<Self, LabError> {
        refuse_namesakes(runs.iter().map(|(path, run)| (path.as_path(), run)))?;
        columns::refuse_copies(runs)?;
        let refused = |path: &PathBuf| {
            let why = "a self-test has trials and no tasks to compare; `candor report` shows them".into();
            LabError::RunFile { path: path.clone(), line: 1, why }
        };
        if let Some((path, _)) = runs.iter().find(|(_, run)| run.tasks.is_empty()) {
            return Err(refused(path));
        }
        let columns = columns::of(runs);
        let of_columns = || columns.iter().flat_map(|column| &column.reports);
        let names = unique(of_columns().flat_map(|report| report.tasks.iter().map(|task| task.task.as_str())));
        let mut all: Vec<SharedTask> = names.iter().map(|name| beside(&columns, name)).collect();
        all.retain(|task| {
            let paired = |(at, cell): (usize, &Cell)| change::is_paired(&columns[at], cell);
            task.filled().count() > 1 || task.filled().any(paired)
        });
        if all.is_empty() {
            return Err(LabError::NothingToCompare(match (runs, &columns[..]) {
                ([_], _) => {
                    "one run of one build; give two runs, or one that was made with `candor run --against`".into()
                }
                (_, [_]) => {
                    "the runs were made on one kind of machine, and no two of them measured the same task".into()
                }
                _ => "the runs have no task in common".into(),
            }));
        }
        let changes = all.iter().flat_map(|task| change::of(&columns, task)).collect();
        Ok(Self { left_out: names.len() - all.len(), tasks: all, changes, columns })
    }

    /// All reports, each with the index of its column.
    pub fn reports(&self) -> impl Iterator<Item = (usize, &Report)> {
        self.columns.iter().enumerate().flat_map(|(at, column)| column.reports.iter().map(move |report| (at, report)))
    }

    /// Whether the columns are of several kinds of machine.
    pub fn spans_machines(&self) -> bool {
        self.columns.iter().any(|column| !column.machine().same_as(self.columns[0].machine()))
    }

    /// Whether several columns are of one kind of machine.
    pub fn repeats_machines(&self) -> bool {
        let earlier =
            |at: usize, machine: &Machine| self.columns[..at].iter().any(|one| one.machine().same_as(machine));
        self.columns.iter().enumerate().any(|(at, column)| earlier(at, column.machine()))
    }

    /// In what runs on one kind of machine differ in its settings, and in `CANDOR_CPU`: their ratios may differ for that.
    pub fn doubts(&self) -> Vec<String> {
        let mut first: Vec<(&Report, &Option<String>)> = Vec::new();
        let mut doubts = Vec::new();
        for column in &self.columns {
            for (report, Sealed { tier, .. }) in column.reports.iter().zip(&column.seals) {
                let known = first.iter().copied().find(|(known, _)| known.machine.same_as(&report.machine));
                let Some((known, of_known)) = known else {
                    first.push((report, tier));
                    continue;
                };
                let mut unlike = known.machine.unlike(&report.machine);
                if tier != of_known {
                    let told = |tier: &Option<String>| tier.clone().unwrap_or("not set".into());
                    unlike.push((TIER, told(of_known), told(tier)));
                }
                let unlike: Vec<String> =
                    unlike.into_iter().map(|(what, one, two)| format!("{what} {one} and {two}")).collect();
                if !unlike.is_empty() {
                    let (one, two) = (&known.run, &report.run);
                    doubts.push(format!(
                        "one kind of machine, set in two ways in {one} and {two}: {}",
                        unlike.join(", ")
                    ));
                }
            }
        }
        doubts
    }

    /// How many rows have that fate.
    pub fn count(&self, fate: impl Fn(&Fate) -> bool) -> usize {
        self.tasks.iter().flat_map(|task| &task.rows).filter(|row| fate(&row.fate)).count()
    }

    /// The tasks whose baseline is slower by a later build than by an earlier one, each with both builds.
    pub fn slower(&self) -> Vec<String> {
        let slower = self.changes.iter().filter(|change| change.verdict == Verdict::Slower);
        slower.map(|change| format!("{} ({} after {})", change.task, change.to, change.from)).collect()
    }

    /// Whether there are changes, and a verdict about each: only then is nothing slower that is not among [`slower`](Self::slower).
    pub fn tells_of_changes(&self) -> bool {
        !self.changes.is_empty() && self.untold().is_empty()
    }

    /// The tasks of which a change has no verdict.
    pub fn untold(&self) -> Vec<&str> {
        unique(self.changes.iter().filter(|change| !change.is_told()).map(|change| change.task.as_str()))
    }

    /// The tasks at which a build failed, each with how.
    pub fn broken(&self) -> Vec<String> {
        let broken = self.changes.iter().filter(|change| change.broken);
        broken
            .map(|change| format!("{} ({})", change.task, change.advice.as_deref().unwrap_or("without a word")))
            .collect()
    }

    /// The rows whose verdict flips.
    pub fn flips(&self) -> Vec<String> {
        let rows = self.tasks.iter().flat_map(|task| task.rows.iter().map(move |row| (&task.task, row)));
        rows.filter(|(_, row)| row.fate == Fate::Flips).map(|(task, row)| format!("{task} {}", row.subject)).collect()
    }

    /// Whether any verdict stands in two columns.
    pub fn tells_of_fates(&self) -> bool {
        self.count(|fate| matches!(fate, Fate::Reproduces | Fate::Flips | Fate::Differs)) > 0
    }

    /// How many changes have that verdict.
    pub fn changed(&self, verdict: Verdict) -> usize {
        self.changes.iter().filter(|change| change.verdict == verdict).count()
    }
}

fn beside(columns: &[Column], name: &str) -> SharedTask {
    let cell = |column: &Column| {
        let mut reports = column.reports.iter().zip(&column.seals);
        reports.find_map(|(report, seal)| {
            let report_of_task = report.tasks.iter().find(|task| task.task == name)?;
            Some(Cell {
                run: report.run.clone(),
                digest: seal.digest.clone(),
                machine: report.machine.clone(),
                tier: seal.tier.clone(),
                asked: seal.asked.clone(),
                report: report_of_task.clone(),
            })
        })
    };
    let cells: Vec<Option<Cell>> = columns.iter().map(cell).collect();
    let first = cells.iter().flatten().next().map(|cell| &cell.report);
    let subjects = unique(cells.iter().flatten().flat_map(|cell| {
        let compared = cell.report.rows.iter().filter(|row| !is_the_baselines(row));
        compared.map(|row| row.subject.clone())
    }));
    let rows = subjects.into_iter().map(|subject| {
        let cells: Vec<&Cell> = cells.iter().flatten().filter(|cell| cell.row(&subject).is_some()).collect();
        let fate = fate(&subject, &cells);
        let is_compared = matches!(fate, Fate::Reproduces | Fate::Flips | Fate::Differs | Fate::CantTell);
        let others = cells.iter().skip(1).filter(|_| is_compared);
        let told = others.flat_map(|other| {
            let rows = cells[0].row(&subject).zip(other.row(&subject));
            let reworded = rows.and_then(|(row, theirs)| reworded((cells[0], row), (other, theirs)));
            [remark(cells[0], other), reworded]
        });
        let remarks = unique(told.flatten());
        Line { subject, fate, remarks }
    });
    SharedTask {
        task: name.to_owned(),
        what: first.map_or_else(String::new, |task| task.what.clone()),
        bytes: first.and_then(|task| task.bytes),
        rows: rows.collect(),
        cells,
    }
}

/// Whether the row is the baseline's or that of its second entry.
fn is_the_baselines(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Baseline | Verdict::Control)
}

fn fate(subject: &str, cells: &[&Cell]) -> Fate {
    let found = cells.iter().filter_map(|cell| Some((*cell, cell.row(subject)?)));
    let found: Vec<(&Cell, &Row)> = found.filter(|(_, row)| !is_the_baselines(row)).collect();
    let [first, others @ ..] = &found[..] else { return Fate::Alone };
    if others.is_empty() {
        return Fate::Alone;
    }
    if unique(found.iter().map(|(cell, _)| &cell.digest)).len() == 1 {
        return Fate::OneRun;
    }
    if let Some(why) = others.iter().find_map(|other| unlike(first.0, other.0).or_else(|| another(first, other))) {
        return Fate::NotCompared(why);
    }
    if let Some(why) = found.iter().find_map(|(_, row)| no_verdict(row)) {
        return Fate::NotCompared(why);
    }
    let verdicts = unique(found.iter().map(|(_, row)| row.verdict));
    let claims = || verdicts.iter().filter(|verdict| **verdict != Verdict::CantTell);
    match (claims().count(), verdicts.contains(&Verdict::CantTell)) {
        _ if claims().any(|verdict| *verdict == Verdict::Faster) && verdicts.contains(&Verdict::Slower) => Fate::Flips,
        (2.., _) => Fate::Differs,
        (1, false) => Fate::Reproduces,
        _ => Fate::CantTell,
    }
}

/// Why a row has no verdict by itself. `None` if it has one, be it that the evidence doesn't tell.
pub(crate) fn no_verdict(row: &Row) -> Option<String> {
    let other = row.other_work.as_ref().map(|work| format!("does other work: {work}"));
    let why = || other.unwrap_or_else(|| "not measured in the same rounds as the baseline".into());
    (row.verdict == Verdict::None).then(why)
}
