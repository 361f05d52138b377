//! Text: a table for each task, the reasons of subjects without a time, then lints.

use super::{interval, ratio, resolves};
use crate::Quantity;
use crate::analysis::{self, Report, Row, TaskReport};
use crate::claims::Beside;
use crate::lint::Lint;
use crate::table::{Align, Table, paragraph};
use crate::units::{rate, time};
use crate::verdict::Verdict;

pub(super) fn render(reports: &[Report], claims: &[Beside], columns: Option<usize>) -> String {
    let mut out = String::new();
    for report in reports {
        out += &paragraph("", &format!("run {}, {}", report.run, report.date), columns);
        out += &paragraph("", &report.machine.line(), columns);
        out += &paragraph("", &report.conditions, columns);
        out.push('\n');
        for task in &report.tasks {
            out += &times(task, columns);
            out += &remarks(task, columns);
            out.push('\n');
        }
        out += &trials(report, columns);
        out += &lints(&report.lints, columns);
    }
    if let Some(lint) = analysis::across(reports) {
        out += &paragraph("! ", &format!("{}: {}", lint.name, lint.text), columns);
    }
    for beside in claims {
        out += &quoted(beside, columns);
    }
    out
}

/// A quoted claim and the row that stands beside it.
fn quoted(beside: &Beside, columns: Option<usize>) -> String {
    let claim = &beside.claim;
    let quote = format!("quoted: {} {}: {} {} ({})", beside.key, claim.place, claim.value, claim.unit, claim.what);
    let here = beside.here.as_ref().map_or("here: not measured in this run".to_owned(), |here| {
        format!("here: {} ({} of {})", here.found.shown(), here.subject, here.place())
    });
    let mut out = format!("\n{}{}", paragraph("", &quote, columns), paragraph("  ", &here, columns));
    for (name, text) in &beside.lints {
        out += &paragraph("  ! ", &format!("{name}: {text}"), columns);
    }
    if let Some(doubt) = &claim.doubt {
        out += &paragraph("  ", doubt, columns);
    }
    out
}

/// The table of times. Where the terminal has no room for a verdict beside the numbers, they stand below the names.
fn times(task: &TaskReport, columns: Option<usize>) -> String {
    if task.rows.is_empty() && !task.counted.is_empty() {
        return paragraph("", &task.task, columns);
    }
    let (left, right) = (Align::Left, Align::Right);
    let rates = task.bytes.is_some();
    let aligned = if rates { vec![right; 4] } else { vec![right; 3] };
    let mut heads = vec!["median", "rate", "ratio", "interval"];
    heads.retain(|head| rates || *head != "rate");

    let mut table = Table::new(&[&[left], &aligned[..], &[left]].concat());
    table.row([&[task.task.as_str()], &heads[..], &["baseline is"]].concat());
    for row in &task.rows {
        let cells = [vec![format!("  {}", row.label())], numbers(task, row), vec![verdict(row)]].concat();
        table.row(cells);
    }
    if columns.is_none_or(|columns| table.fits(columns)) {
        return table.text(columns);
    }

    let mut names = Table::new(&[left, left]);
    let mut below = Table::new(&[&aligned[..], &[left]].concat());
    names.row([task.task.as_str(), "baseline is"]);
    below.row(heads.iter().map(|head| format!("    {head}")));
    for row in &task.rows {
        names.row([format!("  {}", row.label()), verdict(row)]);
        below.row(numbers(task, row));
    }
    let rows = names.rows(columns).into_iter().zip(below.rows(columns));
    rows.map(|(name, numbers)| name + &numbers).collect()
}

/// What stands below a table: refusals, phases, quantities, and what would settle an open verdict.
fn remarks(task: &TaskReport, columns: Option<usize>) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut remark = |subject: &str, text: String| table.row([format!("  {subject}"), text]);
    for refusal in &task.refusals {
        remark(&refusal.subject, refusal.reason.clone());
    }
    for row in task.rows.iter().filter(|row| !row.phases.is_empty() && row.verdict != Verdict::Control) {
        let whole: f64 = row.phases.iter().map(|phase| phase.median_ns).sum();
        let phases = row.phases.iter().map(|phase| {
            format!("{} {} ({:.0} %)", phase.name, time(phase.median_ns), phase.median_ns / whole * 100.0)
        });
        remark(&row.label(), format!("phases: {}", phases.collect::<Vec<_>>().join(", ")));
    }
    for row in &task.rows {
        if let Some(text) = row.other_work.as_ref().filter(|_| row.verdict == Verdict::None) {
            remark(&row.label(), format!("does other work: {text}"));
        }
        if let Some(text) = row.reworded() {
            remark(&row.label(), text);
        }
    }
    let common = common(task);
    if !common.is_empty() {
        remark("all subjects", amounts(common.iter().copied()));
    }
    for counted in &task.counted {
        let own: Vec<&Quantity> = counted.quantities.iter().filter(|quantity| !common.contains(quantity)).collect();
        if !own.is_empty() {
            remark(&counted.label, amounts(own.into_iter()));
        }
    }
    let mut advice: Vec<(&str, Vec<String>)> = Vec::new();
    for (row, text) in task.rows.iter().filter_map(|row| Some((row, row.advice.as_deref()?))) {
        match advice.iter_mut().find(|(said, _)| *said == text) {
            Some((_, rows)) => rows.push(row.label()),
            None => advice.push((text, vec![row.label()])),
        }
    }
    let advice = advice.into_iter().map(|(text, rows)| {
        let said = format!("can't tell for {}: {text}", rows.join(", "));
        paragraph("  ", &said, columns)
    });
    table.text(columns) + &advice.collect::<String>()
}

/// What two subjects or more counted, all of them the same.
fn common(task: &TaskReport) -> Vec<&Quantity> {
    let subjects = task.rows.iter().filter(|row| row.verdict != Verdict::Control).count();
    let all = task.counted.len() > 1 && task.counted.len() == subjects;
    let Some((first, others)) = task.counted.split_first().filter(|_| all) else { return Vec::new() };
    let of_all = |quantity: &&Quantity| others.iter().all(|counted| counted.quantities.contains(quantity));
    first.quantities.iter().filter(of_all).collect()
}

fn amounts<'a>(quantities: impl Iterator<Item = &'a Quantity>) -> String {
    quantities.map(|quantity| format!("{} {}", quantity.name, quantity.amount())).collect::<Vec<_>>().join(", ")
}

/// Median, rate if the task has one, ratio and interval.
fn numbers(task: &TaskReport, row: &Row) -> Vec<String> {
    let compared = row.verdict != Verdict::Baseline;
    let mut cells = vec![time(row.median_ns)];
    cells.extend(row.throughput(task.bytes).map(rate));
    cells.push(if compared { ratio(row, row.ratio) } else { "1".into() });
    cells.push(if compared { interval(row).unwrap_or_else(|| "none".into()) } else { String::new() });
    cells
}

fn verdict(row: &Row) -> String {
    match row.verdict {
        Verdict::Baseline => "(the baseline)".into(),
        Verdict::Control => format!("(control: this run {})", resolves(row)),
        verdict => verdict.word().to_owned(),
    }
}

/// A self-test's counts.
fn trials(report: &Report, columns: Option<usize>) -> String {
    if report.trials.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[&[Align::Left], &[Align::Right; 7][..], &[Align::Left]].concat());
    table.row([
        "trials of",
        "truth",
        "trials",
        "faster",
        "slower",
        "same",
        "can't tell",
        "lost processes",
        "false claims",
    ]);
    for count in &report.trials {
        let truth = count.truth.map_or("?".into(), |truth| format!("{truth:.3}"));
        let counts =
            [count.trials, count.faster, count.slower, count.same, count.cant_tell, count.lost, count.false_claims()];
        let counts = counts.iter().map(usize::to_string);
        table.row([count.name.clone(), truth].into_iter().chain(counts));
    }
    table.text(columns)
}

/// The lints; those with the same name and text are printed once.
fn lints(lints: &[Lint], columns: Option<usize>) -> String {
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
        out += &paragraph("! ", &format!("{}: {place}{colon}{}{more}", lint.name, lint.text), columns);
    }
    out
}
