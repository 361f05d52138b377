//! Which lints fire on a run.

use super::cpu::second_of;
use super::{Report, Row};
use crate::lint::{LINTS, Lint};
use crate::newest::newer_than;
use crate::plan::{QUANTA, asking_ns};
use crate::runfile::Run;
use crate::stats::median;
use crate::units::time;
use crate::verdict::{LEAST_FLOOR, Verdict};
use crate::{Evidence, Habit, Tuning};
use std::collections::{BTreeMap, BTreeSet};

/// So many values that are exactly the same are no accident.
pub(super) const ALIKE: usize = 3;

/// Below this part of its time in which it computes, a row's time is that of waiting.
const MOSTLY_WAITING: f64 = 0.2;

/// So many processes have no common median by chance.
const MANY: usize = 6;

/// All lints that fire on a run.
pub(super) fn of(run: &Run, report: &Report) -> Vec<Lint> {
    let mut lints = Vec::new();
    let mut add = |name: &'static str, task: &str, subject: &str, text: String| {
        debug_assert!(LINTS.iter().any(|lint| lint.name == name));
        lints.push(Lint { name, task: task.into(), subject: subject.into(), text });
    };

    if run.end.interrupted {
        add("interrupted", "", "", "the run was stopped before its plan was complete".into());
    }
    let during = &run.end.during;
    let cpus = run.manifest.machine.cpus;
    // Tasks whose work is done by processes of their own make such a load themselves.
    let has_helpers = run.tasks.iter().filter_map(|task| task.plan.as_ref()).any(|plan| plan.cpu);
    if during.is_loud() || (during.is_loaded(cpus) && !has_helpers) {
        let (others, steal, load) = (during.others_cpus, during.steal * 100.0, during.load);
        let text =
            format!("others used {others:.1} CPUs, steal {steal:.1} %, load {load:.1} on {cpus} CPUs at its end");
        add("busy-machine", "", "", text);
    }
    if let Some(lock) = run.manifest.tool.lock.as_ref().filter(|lock| lock.differs) {
        let text = format!("sha256 {:.12} is not that of Cargo.lock in the program's commit", lock.sha256);
        add("lock-differs", "", "", text);
    }
    if run.manifest.layout.is_none() && run.tasks.iter().any(|task| task.plan.is_some()) {
        let text = "how much code layout matters in this build is not known, and no part of the floor";
        add("layout-unknown", "", "", text.into());
    }
    for lost in &run.lost {
        add("process-lost", &lost.task, "", format!("process {}: {}", lost.process, lost.reason));
    }
    for task in &run.tasks {
        let least = run.manifest.clock_quantum_ns.saturating_mul(QUANTA) as f64;
        let blocks = run.blocks.iter().filter(|block| block.task == task.task);
        let epochs = blocks.flat_map(|block| block.ns.values());
        let shortest =
            epochs.filter_map(|ns| median(&ns.iter().map(|&ns| ns as f64).collect::<Vec<_>>())).reduce(f64::min);
        if let Some(shortest) = shortest.filter(|&shortest| shortest < least) {
            let quantum = run.manifest.clock_quantum_ns;
            add(
                "clock-too-coarse",
                &task.task,
                "",
                format!("an epoch takes {shortest:.0} ns and the clock has steps of {quantum} ns"),
            );
        }
    }

    let asked = run
        .subjects
        .iter()
        .map(|subject| ((subject.task.as_str(), subject.subject.as_str()), asking_ns(&subject.quantities)));
    let asked: BTreeMap<_, _> = asked.filter(|(_, asking)| *asking > 0.0).collect();
    let planned = run.tasks.iter().filter_map(|task| Some((task.task.as_str(), task.plan.as_ref()?.iterations)));
    let iterations: BTreeMap<_, _> = planned.collect();
    let quantum = run.manifest.clock_quantum_ns as f64;
    let mut medians: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (task, row) in report.rows() {
        medians.entry(row.median_ns.to_bits()).or_default().push(format!("{} of {}", row.subject, task.task));
        let provenance = &row.provenance;
        if let Some(residual) = row.residual.filter(|residual| residual.abs() > row.floor.max(0.01)) {
            let text = format!("the sum of the phases differs from the whole by {:+.1} %", residual * 100.0);
            add("parts-do-not-add-up", &task.task, &row.subject, text);
        }
        if let Some(gain) = row.follows_itself.filter(|gain| *gain > LEAST_FLOOR) {
            let text = format!("the baseline takes {:.1} % less time right behind its own second entry", gain * 100.0);
            add("follows-itself", &task.task, "", text);
        }
        let epoch = *iterations.get(task.task.as_str()).unwrap_or(&1) as f64;
        if let Some(apart) = apart(row).map(|ns| ns * epoch).filter(|apart| *apart <= quantum) {
            let (processes, _) = row.samples;
            let text = format!(
                "the medians of {processes} processes lie within {apart:.0} ns; the clock has steps of {quantum} ns"
            );
            add("identical-processes", &task.task, &row.subject, text);
        }
        if let Some(outcomes) = row.outcomes.filter(|outcomes| outcomes.successes < outcomes.attempts) {
            let failed = outcomes.attempts - outcomes.successes;
            let marked: usize = run
                .blocks
                .iter()
                .filter(|block| block.task == task.task)
                .filter_map(|block| Some(block.failed.get(&row.subject)?.len()))
                .sum();
            let text = format!(
                "{failed} of {} operations failed; {marked} rounds with failures have no time",
                outcomes.attempts
            );
            add("failed-work", &task.task, &row.subject, text);
        }
        if let Some(share) = computing(report, &task.task, row).filter(|share| *share < MOSTLY_WAITING) {
            let text = format!(
                "the processes that do the work compute in {:.1} % of the time; for the rest, something is waited for",
                share * 100.0
            );
            add("mostly-waiting", &task.task, &row.subject, text);
        }
        if row.verdict == Verdict::Control {
            continue; // the same library as the baseline, which has its own row
        }
        if let Some(asking) = asked.get(&(task.task.as_str(), row.subject.as_str())) {
            let whole = row.median_ns * epoch;
            let text = format!(
                "nothing proves that a program did the work; asking it takes {}, {:.2} % of an epoch, which its floor contains",
                time(*asking),
                asking / whole * 100.0
            );
            add("asked-over-pipes", &task.task, &row.subject, text);
        }
        if let Some(text) = &row.other_work {
            add("different-operation", &task.task, &row.subject, text.clone());
        }
        if let Some(text) = unlike(row, task.rows.first()) {
            add("unlike-conditions", &task.task, &row.subject, text);
        }
        let told = [provenance.not_at_its_best.clone(), beside_faster(row, &task.rows)].into_iter().flatten();
        for text in told {
            add("peer-not-at-its-best", &task.task, &row.subject, text);
        }
        if let Some(newest) = newer_than(&provenance.library, &provenance.version) {
            let text = format!(
                "version {}; {} is known (of {}, or found then)",
                provenance.version, newest.version, newest.date
            );
            add("old-peer", &task.task, &row.subject, text);
        }
        if let Some(text) = &provenance.insecure {
            add("insecure", &task.task, &row.subject, text.clone());
        }
        if provenance.tuning == Tuning::Stock {
            add("peer-untuned", &task.task, &row.subject, "can be tuned for this machine, but was not".into());
        }
        let ours = row.verdict == Verdict::Baseline || provenance.is_ours(&row.subject);
        if !ours && provenance.commit.is_none() && provenance.object_sha256.is_none() {
            add(
                "peer-commit-unknown",
                &task.task,
                &row.subject,
                "its commit, package and shared object are unknown".into(),
            );
        }
    }
    for rows in medians.into_values().filter(|rows| rows.len() >= ALIKE) {
        add("identical-values", "", "", format!("exactly the same median: {}", rows.join(", ")));
    }
    lints.extend(super::imported::lints(run));
    lints
}

/// The part of a row's time in which the processes that do its work compute, by the second table of its task. More than one, if several do at once.
fn computing(report: &Report, task: &str, row: &Row) -> Option<f64> {
    let second = second_of(task);
    let beside = report.tasks.iter().find(|other| other.task == second)?;
    let cpu = beside.rows.iter().find(|other| other.subject == row.subject)?;
    (row.median_ns > 0.0).then(|| cpu.median_ns / row.median_ns)
}

/// How far the medians of a row's processes lie apart, if a clock gave them and there are enough.
fn apart(row: &Row) -> Option<f64> {
    let of = row.process_medians_ns.iter().copied();
    let (least, most) = (of.clone().reduce(f64::min)?, of.reduce(f64::max)?);
    let is_clocked = row.provenance.evidence != Evidence::Simulated;
    (is_clocked && row.process_medians_ns.len() >= MANY).then_some(most - least)
}

/// In what the row's timed call differs from the baseline's, besides the work.
fn unlike(row: &Row, baseline: Option<&Row>) -> Option<String> {
    let (own, baseline) = (row.provenance.habits(), baseline?.provenance.habits());
    let only = |habits: &BTreeSet<Habit>, others, whose: &str| {
        let habits: Vec<_> = habits.difference(others).map(|habit| habit.describe()).collect();
        (!habits.is_empty()).then(|| format!("only {whose} {}", habits.join(", ")))
    };
    let told: Vec<_> =
        [only(&own, &baseline, "this one"), only(&baseline, &own, "the baseline")].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// What a faster row of the same work used and this one did not, by samples of both. Our own portable code is portable by its name.
fn beside_faster(row: &Row, rows: &[Row]) -> Option<String> {
    let own = row.used.as_ref()?.samples()?;
    if row.provenance.is_ours(&row.subject) || row.other_work.is_some() {
        return None;
    }
    let faster = rows.iter().filter(|other| other.other_work.is_none() && other.median_ns < row.median_ns);
    let shown = |other: &Row| {
        Some((
            other.median_ns,
            format!("{} of {}, which is faster", own.misses(other.used.as_ref()?.samples()?)?, other.subject),
        ))
    };
    faster.filter_map(shown).min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, text)| text)
}

/// The lint `different-machine`, which concerns several runs together.
pub fn across(reports: &[Report]) -> Option<Lint> {
    let (first, rest) = reports.split_first()?;
    let other = rest.iter().find(|other| !other.machine.same_as(&first.machine))?;
    Some(Lint {
        name: "different-machine",
        task: String::new(),
        subject: String::new(),
        text: format!("{} and {}: compare ratios, not times", first.machine.line(), other.machine.line()),
    })
}
