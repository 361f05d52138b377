//! The terminal: a table a task, the reasons of those without a time, then what is doubtful.

use super::{interval, ratio, resolves};
use crate::analysis::{self, Report, Row, TaskReport};
use crate::claims::Beside;
use crate::lint::Lint;
use crate::units::{rate, time};
use crate::verdict::Verdict;
use std::fmt::Write;

pub(super) fn render(reports: &[Report], claims: &[Beside]) -> String {
    let mut out = String::new();
    for report in reports {
        let _ = writeln!(out, "run {}, {}", report.run, report.date);
        let _ = writeln!(out, "{}", report.machine.line());
        let _ = writeln!(out, "{}\n", report.conditions);
        for task in &report.tasks {
            out.push_str(&table(task));
            out.push('\n');
        }
        out.push_str(&trials(report));
        out.push_str(&lints(&report.lints));
    }
    if let Some(lint) = analysis::across(reports) {
        let _ = writeln!(out, "! {}: {}", lint.name, lint.text);
    }
    out.push_str(&quoted(claims));
    out
}

/// Claims, quoted; never divided by anything.
fn quoted(claims: &[Beside]) -> String {
    let mut out = String::new();
    for beside in claims {
        let claim = &beside.claim;
        let _ =
            writeln!(out, "\nquoted: {} {}: {} {} ({})", beside.key, claim.place, claim.value, claim.unit, claim.what);
        match &beside.here {
            Some(here) => {
                let _ = writeln!(out, "  here: {} ({} of {})", here.found.shown(), here.subject, here.task);
            }
            None => out.push_str("  here: not measured in this run\n"),
        }
        for (name, text) in &beside.lints {
            let _ = writeln!(out, "  ! {name}: {text}");
        }
        if let Some(doubt) = &claim.doubt {
            let _ = writeln!(out, "  {doubt}");
        }
    }
    out
}

fn table(task: &TaskReport) -> String {
    let mut lines = vec![vec![
        task.task.clone(),
        "median".into(),
        if task.bytes.is_some() { "rate".into() } else { String::new() },
        "ratio".into(),
        "interval".into(),
        "baseline is".into(),
    ]];
    lines.extend(task.rows.iter().map(|row| cells(task, row)));
    let widths: Vec<usize> =
        (0..6).map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for line in &lines {
        let _ = write!(out, "{:<width$}", line[0], width = widths[0]);
        for column in 1..5 {
            if widths[column] > 0 {
                let _ = write!(out, "  {:>width$}", line[column], width = widths[column]);
            }
        }
        let _ = writeln!(out, "  {}", line[5]);
    }
    let mut said: Vec<&str> = Vec::new();
    for advice in task.rows.iter().filter_map(|row| row.advice.as_deref()) {
        if !said.contains(&advice) {
            said.push(advice);
        }
    }
    for refusal in &task.refusals {
        let _ = writeln!(out, "  {:<width$}  {}", refusal.subject, refusal.reason, width = widths[0].max(2) - 2);
    }
    for row in task.rows.iter().filter(|row| !row.phases.is_empty() && row.verdict != Verdict::Control) {
        let whole: f64 = row.phases.iter().map(|phase| phase.median_ns).sum();
        let phases = row.phases.iter().map(|phase| {
            format!("{} {} ({:.0} %)", phase.name, time(phase.median_ns), phase.median_ns / whole * 100.0)
        });
        let _ = writeln!(
            out,
            "  {:<width$}  {}",
            row.label(),
            phases.collect::<Vec<_>>().join(", "),
            width = widths[0].max(2) - 2
        );
    }
    for counted in &task.counted {
        let quantities = counted.quantities.iter().map(|quantity| format!("{} {}", quantity.name, quantity.amount()));
        let all = quantities.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "  {:<width$}  {all}", counted.label, width = widths[0].max(2) - 2);
    }
    for advice in said {
        let _ = writeln!(out, "  can't tell: {advice}");
    }
    out
}

fn cells(task: &TaskReport, row: &Row) -> Vec<String> {
    vec![
        format!("  {}", row.label()),
        time(row.median_ns),
        row.throughput(task.bytes).map(rate).unwrap_or_default(),
        if row.verdict == Verdict::Baseline { "1".into() } else { ratio(row, row.ratio) },
        if row.verdict == Verdict::Baseline { String::new() } else { interval(row).unwrap_or_else(|| "none".into()) },
        match row.verdict {
            Verdict::Baseline => "(the baseline)".into(),
            Verdict::Control => format!("(control: this run {})", resolves(row)),
            verdict => verdict.word().to_owned(),
        },
    ]
}

/// A self-test's counts.
fn trials(report: &Report) -> String {
    let mut out = String::new();
    if !report.trials.is_empty() {
        let _ = writeln!(
            out,
            "{:<24}{:>7}{:>8}{:>8}{:>8}{:>6}{:>12}{:>14}",
            "trials of", "truth", "trials", "faster", "slower", "same", "can't tell", "false claims"
        );
    }
    for count in &report.trials {
        let truth = count.truth.map_or("?".into(), |truth| format!("{truth:.3}"));
        let _ = writeln!(
            out,
            "{:<24}{truth:>7}{:>8}{:>8}{:>8}{:>6}{:>12}{:>14}",
            count.name,
            count.trials,
            count.faster,
            count.slower,
            count.same,
            count.cant_tell,
            count.false_claims()
        );
    }
    out
}

/// Lints, those of the same name and text together.
fn lints(lints: &[Lint]) -> String {
    let mut out = String::new();
    let mut said: Vec<(&str, &str)> = Vec::new();
    for lint in lints {
        if said.contains(&(lint.name, &lint.text)) {
            continue;
        }
        said.push((lint.name, &lint.text));
        let alike = lints.iter().filter(|other| (other.name, &other.text) == (lint.name, &lint.text)).count();
        let place = [lint.task.as_str(), lint.subject.as_str()].into_iter().filter(|place| !place.is_empty());
        let place = place.collect::<Vec<_>>().join(" ");
        let more = if alike > 1 { format!(" (and {} more)", alike - 1) } else { String::new() };
        let colon = if place.is_empty() { "" } else { ": " };
        let _ = writeln!(out, "! {}: {place}{colon}{}{more}", lint.name, lint.text);
    }
    out
}
