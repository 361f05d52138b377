//! From a run to the rows of a report. Everything is derived from the run file alone.

mod beside;
mod cpu;
mod imported;
mod lints;

pub use beside::beside;

pub use lints::across;

use crate::lint::Lint;
use crate::machine::Machine;
use crate::plan::{TaskPlan, asking_ns, control_of};
use crate::runfile::{Block, Paired, RefusalRecord, Run, SubjectRecord, TaskRecord, Tool};
use crate::stats::{Interval, deviation, fewest_processes, mean, median, needed_for_quantile, quantile};
use crate::succession;
use crate::trial::{self, Count};
use crate::verdict::{self, Finding, LEVEL, Shown, Verdict};
use crate::{Evidence, Outcomes, Provenance, Quantity, Used};
use std::collections::BTreeMap;

/// The advice where a run was stopped before a task was done.
pub(crate) const STOPPED: &str = "the run was stopped before its plan was complete: run it again to the end";

/// Everything that a report shows of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The run file's name without its extension.
    pub run: String,
    /// The digest of its seal.
    pub sha256: String,
    /// When it began, UTC.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// The commit of the program, with a mark if its tree was not clean.
    pub commit: String,
    /// The program.
    pub tool: Tool,
    /// The builds that the run pairs.
    pub paired: Option<Paired>,
    /// Processes, duration and noise, in one line; of an import, where it comes from.
    pub conditions: String,
    /// Whether nothing was measured: the figures are another tool's.
    pub is_import: bool,
    /// How many comparisons share the error level of 5 %.
    pub comparisons: usize,
    /// The tasks, in the order of the plan.
    pub tasks: Vec<TaskReport>,
    /// The trials of a self-test, counted.
    pub trials: Vec<Count>,
    /// The lints that fired.
    pub lints: Vec<Lint>,
}

/// A task's part of a report.
#[derive(Clone, Debug)]
pub struct TaskReport {
    /// The task's name.
    pub task: String,
    /// Exactly what is done.
    pub what: String,
    /// Bytes worked through per operation.
    pub bytes: Option<u64>,
    /// The baseline first, the control last.
    pub rows: Vec<Row>,
    /// What each subject counted.
    pub counted: Vec<Counted>,
    /// Subjects without a time, each with the reason.
    pub refusals: Vec<RefusalRecord>,
    /// What the rows were derived from.
    pub epochs: Epochs,
}

/// The epochs of a task that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Epochs {
    /// Operations in each.
    pub iterations: u64,
    /// Wall nanoseconds of each: by subject, for each process, in the order of rounds. Rounds in which the work failed are left out.
    pub ns: BTreeMap<String, Vec<Vec<u64>>>,
}

impl Epochs {
    fn of(run: &Run, task: &TaskRecord) -> Self {
        let mut epochs = Self { iterations: task.plan.as_ref().map_or(0, |plan| plan.iterations), ns: BTreeMap::new() };
        for block in run.blocks.iter().filter(|block| block.task == task.task) {
            for (subject, ns) in &block.ns {
                let worked = block.of_rounds_that_worked(subject, ns).into_iter().map(|ns| ns as u64);
                epochs.ns.entry(subject.clone()).or_default().push(worked.collect());
            }
        }
        epochs
    }
}

/// A subject's row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The subject's name.
    pub subject: String,
    /// Its origin.
    pub provenance: Provenance,
    /// The kind of evidence.
    pub evidence: Evidence,
    /// How its work differs from the baseline's, if it does.
    pub other_work: Option<String>,
    /// Median over processes of each process's median, in nanoseconds per operation.
    pub median_ns: f64,
    /// Each process's median, in nanoseconds per operation, in the order of processes.
    pub process_medians_ns: Vec<f64>,
    /// How far all epochs of the row spread.
    pub spread: Spread,
    /// How many times faster the baseline is. Above 1, the baseline is faster.
    pub ratio: f64,
    /// The interval of `ratio`, if there were enough processes.
    pub interval: Option<Interval>,
    /// The smallest difference that the run can claim, as a fraction: 0.008 is 0.8 %.
    pub floor: f64,
    /// The verdict about the baseline.
    pub verdict: Verdict,
    /// For `can't tell`: what would settle it.
    pub advice: Option<String>,
    /// The phases in order.
    pub phases: Vec<Phase>,
    /// How much the sum of the phases differs from the whole, as a fraction of the whole.
    pub residual: Option<f64>,
    /// Of the control: how much less time its code takes right behind itself, as a fraction, if it does.
    pub follows_itself: Option<f64>,
    /// Attempts and successes over all processes, for work that can fail.
    pub outcomes: Option<Outcomes>,
    /// What instructions it used, where the run says that. The control is the baseline's code and has none of its own.
    pub used: Option<Used>,
    /// The number of processes, and of rounds in each.
    pub samples: (usize, usize),
}

/// How far the epochs of a row spread, in nanoseconds per operation. All epochs of all processes count alike; the median of a row is
/// another, that of its processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many epochs there are.
    pub epochs: usize,
    /// Their mean. A single interrupt can move it: verdicts never use it.
    pub mean: f64,
    /// Their standard deviation (n − 1), if there are two.
    pub deviation: Option<f64>,
    /// The smallest.
    pub min: f64,
    /// First quartile.
    pub p25: f64,
    /// Third quartile.
    pub p75: f64,
    /// The 95th percentile, if there are at least 200 epochs.
    pub p95: Option<f64>,
    /// The 99th percentile, if there are at least 1000.
    pub p99: Option<f64>,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Its numbers by the names that CSV and JSON have for them.
    pub(crate) fn named(&self) -> [(&'static str, Option<f64>); 8] {
        [
            ("mean_ns", Some(self.mean)),
            ("sd_ns", self.deviation),
            ("min_ns", Some(self.min)),
            ("p25_ns", Some(self.p25)),
            ("p75_ns", Some(self.p75)),
            ("p95_ns", self.p95),
            ("p99_ns", self.p99),
            ("max_ns", Some(self.max)),
        ]
    }
}

/// A phase of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Nanoseconds per operation.
    pub median_ns: f64,
    /// Each process's median, in nanoseconds per operation.
    pub process_medians_ns: Vec<f64>,
    /// How far the phase's epochs spread.
    pub spread: Spread,
}

/// What a subject counted: sizes, counts and its success rate.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The subject's name.
    pub subject: String,
    /// The name to show.
    pub label: String,
    /// The kind of evidence. Never `measured-paired`, because a size has no rounds.
    pub evidence: Evidence,
    /// The import that it comes from, where that is another file than the run's.
    pub run: Option<String>,
    /// The import's machine, in one line.
    pub machine: Option<String>,
    /// In the order in which the subject gives them.
    pub quantities: Vec<Quantity>,
}

/// The name to show for a subject: insecure schemes, simulated times and other tools' figures are marked wherever they appear.
fn label(subject: &str, provenance: &Provenance) -> String {
    let insecure = if provenance.insecure.is_some() { " INSECURE" } else { "" };
    let evidence = match provenance.evidence {
        Evidence::Simulated => " SIMULATED",
        Evidence::Imported => " IMPORTED",
        _ => "",
    };
    format!("{subject}{insecure}{evidence}")
}

impl Row {
    /// The name to show: insecure schemes and simulated times are marked wherever they appear.
    pub fn label(&self) -> String {
        label(&self.subject, &self.provenance)
    }

    /// What a reader must know of a row of another build whose words for the task are others, and whose contract is the same.
    pub fn reworded(&self) -> Option<String> {
        let words = self.provenance.described.as_ref().filter(|_| self.other_work.is_none())?;
        Some(format!("by one contract, that build describes the task as: {words}"))
    }

    /// Bytes per second, if the task has a number of bytes.
    pub fn throughput(&self, bytes: Option<u64>) -> Option<f64> {
        bytes.map(|bytes| bytes as f64 * 1e9 / self.median_ns)
    }
}

impl Report {
    /// The report of a run.
    pub fn of(run: &Run) -> Self {
        let measured = run;
        let run = &*cpu::beside_times(measured);
        let manifest = &run.manifest;
        let level = LEVEL / manifest.comparisons.max(1) as f64;
        let tasks = run.tasks.iter().map(|task| {
            let rows = task.plan.as_ref().map_or(Vec::new(), |plan| rows(run, task, plan, level));
            TaskReport {
                task: task.task.clone(),
                what: task.what.clone(),
                bytes: task.bytes,
                counted: counted(run, task),
                refusals: refusals(run, task, &rows),
                epochs: Epochs::of(run, task),
                rows,
            }
        });
        let dirty = if manifest.tool.dirty { "+dirty" } else { "" };
        let mut report = Self {
            run: run.name.clone(),
            sha256: run.sha256.clone(),
            date: manifest.date.clone(),
            machine: manifest.machine.clone(),
            commit: manifest.tool.commit.as_ref().map_or("unknown".into(), |commit| format!("{commit}{dirty}")),
            tool: manifest.tool.clone(),
            paired: manifest.paired.clone(),
            is_import: run.is_import(),
            comparisons: manifest.comparisons,
            conditions: run.imported_from().unwrap_or_else(|| {
                format!(
                    "{} processes per task, {:.0} s, others used {:.1} CPUs, steal {:.1} %, load {:.1}",
                    manifest.processes,
                    run.end.seconds,
                    run.end.during.others_cpus,
                    run.end.during.steal * 100.0,
                    run.end.during.load
                )
            }),
            tasks: tasks.collect(),
            trials: trial::count(&run.trials),
            lints: Vec::new(),
        };
        report.lints = lints::of(measured, &report);
        report
    }

    /// All rows, each with its task.
    pub fn rows(&self) -> impl Iterator<Item = (&TaskReport, &Row)> {
        self.tasks.iter().flat_map(|task| task.rows.iter().map(move |row| (task, row)))
    }
}

/// The subjects without a time: those that were refused, and those that failed in every round.
fn refusals(run: &Run, task: &TaskRecord, rows: &[Row]) -> Vec<RefusalRecord> {
    let mut refusals: Vec<_> = run.refusals.iter().filter(|refusal| refusal.task == task.task).cloned().collect();
    let failed = |subject: &String| {
        let mut blocks = run.blocks.iter().filter(|block| block.task == task.task);
        blocks.any(|block| block.failed.contains_key(subject)) && !rows.iter().any(|row| row.subject == *subject)
    };
    let planned = task.plan.iter().flat_map(|plan| &plan.subjects);
    refusals.extend(planned.filter(|subject| failed(subject)).map(|subject| RefusalRecord {
        task: task.task.clone(),
        subject: subject.clone(),
        reason: "its work or the baseline's failed in every round".into(),
    }));
    refusals
}

/// What each subject of a task counted, with the success rate of those that can fail.
fn counted(run: &Run, task: &TaskRecord) -> Vec<Counted> {
    let of_subject = |subject: &SubjectRecord| {
        let mut quantities = subject.quantities.clone();
        let blocks = run.blocks.iter().filter(|block| block.task == task.task);
        quantities.extend(outcomes(blocks, &subject.subject).into_iter().flat_map(successes));
        let evidence = match subject.provenance.evidence {
            Evidence::MeasuredPaired => Evidence::MeasuredAlone,
            other => other,
        };
        let label = label(&subject.subject, &subject.provenance);
        Counted { subject: subject.subject.clone(), label, evidence, run: None, machine: None, quantities }
    };
    let subjects = run.subjects.iter().filter(|subject| subject.task == task.task).map(of_subject);
    subjects.filter(|counted| !counted.quantities.is_empty()).collect()
}

/// How often a subject tried and succeeded in these processes.
fn outcomes<'a>(blocks: impl Iterator<Item = &'a Block>, subject: &str) -> Option<Outcomes> {
    blocks.filter_map(|block| block.outcomes.get(subject).copied()).reduce(Outcomes::plus)
}

/// The success rate, the lower end of its Clopper–Pearson interval, and the number of attempts.
fn successes(outcomes: Outcomes) -> Vec<Quantity> {
    let Some(rate) = outcomes.rate() else { return Vec::new() };
    vec![
        Quantity::new("success rate", rate * 100.0, "%"),
        Quantity::new("success rate at least (95 %)", outcomes.at_least() * 100.0, "%"),
        Quantity::new("attempts", outcomes.attempts as f64, "times"),
    ]
}

fn rows(run: &Run, task: &TaskRecord, plan: &TaskPlan, level: f64) -> Vec<Row> {
    let control = control_of(plan.baseline());
    let needed = [plan.baseline(), control.as_str()];
    let blocks: Vec<&Block> = run.blocks.iter().filter(|block| block.task == task.task).collect();
    let blocks: Vec<&Block> =
        blocks.into_iter().filter(|block| needed.iter().all(|&name| block.ns.contains_key(name))).collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    let known: BTreeMap<&str, &SubjectRecord> =
        run.subjects.iter().filter(|s| s.task == task.task).map(|s| (s.subject.as_str(), s)).collect();

    // Processes that died, and rounds in which work failed, count against every claim.
    let lost = run.lost.iter().filter(|lost| lost.task == task.task).count();
    let against_baseline = |subject: &str| -> Option<Finding> {
        let shown = blocks.iter().map(|block| block.shown(subject, plan.baseline()));
        Finding::of(&shown.chain(std::iter::repeat_n(Shown::NOTHING, lost)).collect::<Vec<_>>(), level)
    };
    let layout = run.manifest.layout.as_ref().map_or(0.0, |layout| layout.floor);
    let follows_itself = succession::follows_itself(&blocks, lost, plan.baseline(), &control);
    let floor = verdict::floor(against_baseline(&control), layout, follows_itself);
    let stopped_early = run.end.interrupted && blocks.len() < run.manifest.processes;

    let baseline = known.get(plan.baseline()).map(|subject| &subject.provenance);
    let mut names: Vec<&str> = plan.subjects.iter().map(String::as_str).filter(|name| *name != control).collect();
    names.push(&control);
    let asked_baseline = median(&medians_of(&blocks, plan.baseline()))
        .map_or(0.0, |ns| asking_share(known.get(plan.baseline()).copied(), plan, ns));
    let row = |name: &str| {
        let record = known.get(name.trim_end_matches("#2")).copied();
        let provenance = record.map(|subject| subject.provenance.clone()).unwrap_or_default();
        let medians = medians_of(&blocks, name);
        let all: Vec<f64> = blocks.iter().filter_map(|block| per_operation(block, name)).flatten().collect();
        let finding = against_baseline(name)?;
        let estimate = finding.estimate;
        let (phases, residual) = phases(&blocks, name);
        let of_builds = run.manifest.paired.is_some().then(|| other_build(&provenance, baseline?)).flatten();
        let other_work = other_work(&provenance, baseline).or(of_builds);
        let median_ns = median(&medians)?;
        // What asking a program over pipes takes of its epochs is nobody's work.
        let asking = asking_share(record, plan, median_ns) + asked_baseline;
        let floor = floor.plus(asking.ln_1p());
        let verdict = match name {
            _ if name == plan.baseline() => Verdict::Baseline,
            _ if name == control => Verdict::Control,
            _ if provenance.evidence != Evidence::MeasuredPaired => Verdict::None,
            _ if other_work.is_some() => Verdict::None,
            _ if stopped_early => Verdict::CantTell,
            _ => verdict::judge(&finding, floor),
        };
        let advice = (verdict == Verdict::CantTell).then(|| match stopped_early {
            true => STOPPED.to_owned(),
            false => verdict::advice(&finding, floor, medians.len(), fewest_processes(run.manifest.comparisons)),
        });
        Some(Row {
            subject: name.to_owned(),
            evidence: provenance.evidence,
            provenance,
            other_work,
            median_ns,
            spread: spread(&all)?,
            ratio: estimate.centre.exp(),
            interval: estimate.interval.map(|interval| interval.map(f64::exp)),
            floor: floor.most.exp_m1(),
            verdict,
            advice,
            phases,
            residual,
            follows_itself: follows_itself.filter(|gain| name == control && gain.is_finite()).map(f64::exp_m1),
            outcomes: outcomes(blocks.iter().copied(), name),
            used: known.get(name).and_then(|subject| subject.used.clone()),
            samples: (medians.len(), plan.rounds),
            process_medians_ns: medians,
        })
    };
    names.into_iter().filter_map(row).collect()
}

/// The median of each process, in nanoseconds per operation.
fn medians_of(blocks: &[&Block], subject: &str) -> Vec<f64> {
    blocks.iter().filter_map(|block| median(&per_operation(block, subject)?)).collect()
}

/// How much of an epoch asking takes, if the subject is a program, as a fraction of the rest.
fn asking_share(subject: Option<&SubjectRecord>, plan: &TaskPlan, median_ns: f64) -> f64 {
    let asking = subject.map_or(0.0, |subject| asking_ns(&subject.quantities));
    let work = (median_ns * plan.iterations as f64 - asking).max(1.0);
    if asking > 0.0 { asking / work } else { 0.0 }
}

/// How a subject's work differs from that of a baseline with these words about its own. Two with the same words do the same work.
fn other_work(subject: &Provenance, baseline: Option<&Provenance>) -> Option<String> {
    let baseline = baseline.and_then(|baseline| baseline.different_operation.as_deref());
    match (subject.different_operation.as_deref(), baseline) {
        (one, other) if one == other => None,
        (Some(words), _) => Some(words.to_owned()),
        (None, Some(words)) => Some(format!("the baseline: {words}")),
        (None, None) => None,
    }
}

/// How the work of another build differs from that of the one that measures: by the versions of their contracts where both declare one, else by their words for the task.
fn other_build(subject: &Provenance, baseline: &Provenance) -> Option<String> {
    match (subject.contract, baseline.contract) {
        (Some(one), Some(other)) if one == other => None,
        (Some(one), Some(other)) => {
            Some(format!("its call is by version {one} of its contract, and the baseline's by version {other}"))
        }
        _ => subject.described.as_ref().map(|words| format!("of that build the task is: {words}")),
    }
}

fn per_operation(block: &Block, subject: &str) -> Option<Vec<f64>> {
    let epochs = block.of_rounds_that_worked(subject, block.ns.get(subject)?);
    Some(epochs.into_iter().map(|ns| ns / block.iterations as f64).collect())
}

fn spread(all: &[f64]) -> Option<Spread> {
    let percentile = |p| if all.len() >= needed_for_quantile(p) { quantile(all, p) } else { None };
    Some(Spread {
        epochs: all.len(),
        mean: mean(all)?,
        deviation: deviation(all),
        min: quantile(all, 0.0)?,
        p25: quantile(all, 0.25)?,
        p75: quantile(all, 0.75)?,
        p95: percentile(0.95),
        p99: percentile(0.99),
        max: quantile(all, 1.0)?,
    })
}

/// The phases' medians, and how much their sum differs from the whole (paired by round, median over processes).
fn phases(blocks: &[&Block], subject: &str) -> (Vec<Phase>, Option<f64>) {
    let Some(first) = blocks.iter().find_map(|block| block.phases.get(subject)) else { return (Vec::new(), None) };
    let phase = |(i, name): (usize, &String)| {
        let epochs = |block: &&Block| -> Option<Vec<f64>> {
            let epochs = block.of_rounds_that_worked(subject, block.phases.get(subject)?.ns.get(i)?);
            Some(epochs.into_iter().map(|ns| ns / block.iterations as f64).collect())
        };
        let by_process: Vec<Vec<f64>> = blocks.iter().filter_map(epochs).collect();
        let medians: Vec<f64> = by_process.iter().filter_map(|epochs| median(epochs)).collect();
        let spread = spread(&by_process.concat())?;
        Some(Phase { name: name.clone(), median_ns: median(&medians)?, process_medians_ns: medians, spread })
    };
    let phases = first.names.iter().enumerate().filter_map(phase).collect();
    let residuals = blocks.iter().filter_map(|block| {
        let worked = |ns: &Vec<u64>| block.of_rounds_that_worked(subject, ns);
        let whole = worked(block.ns.get(subject)?);
        let parts: Vec<Vec<f64>> = block.phases.get(subject)?.ns.iter().map(worked).collect();
        let sums = (0..whole.len()).map(|round| parts.iter().map(|row| row[round]).sum::<f64>());
        let ratios: Vec<f64> = sums.zip(&whole).map(|(sum, whole)| sum / whole - 1.0).collect();
        median(&ratios)
    });
    (phases, median(&residuals.collect::<Vec<_>>()))
}
