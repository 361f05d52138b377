//! A comparison for other programs.
//!
//! JSON is one object with `schema` and `kind: "comparison"`. A row is a subject of a task; it has a cell for each column that measured it, in which `ratio` says
//! how many times faster that column's baseline is. A change is about the later build: its `ratio` says how many times faster that one is.

use super::super::csv::line;
use super::super::json::number;
use crate::analysis::{Report, Row};
use crate::compare::{Change, Comparison, Fate, Grounds, Line, Quoted, SharedTask};
use serde_json::{Value, json};

const HEAD: [&str; 21] = [
    "kind",
    "task",
    "subject",
    "column",
    "run",
    "date",
    "cpu",
    "commit",
    "baseline",
    "evidence",
    "phase",
    "quantity",
    "median_ns",
    "ratio",
    "low",
    "high",
    "floor",
    "verdict",
    "together",
    "reason",
    "broken",
];

/// One line for each row and column, then its phases, quantities and changes. `kind` says which; a quantity has its amount as `reason`.
pub(super) fn csv(comparison: &Comparison) -> String {
    let mut out = String::new();
    line(&mut out, HEAD.iter().map(|&name| name.to_owned()));
    let mut put = |fields: &[(&str, String)]| {
        debug_assert!(fields.iter().all(|(name, _)| HEAD.contains(name)));
        let value = |name: &&str| {
            fields.iter().find(|(known, _)| known == name).map_or_else(String::new, |(_, value)| value.clone())
        };
        line(&mut out, HEAD.iter().map(value));
    };
    for task in &comparison.tasks {
        for (at, cell) in task.filled() {
            let column = &comparison.columns[at];
            let of_cell = |kind: &str, subject: &str| {
                vec![
                    ("kind", kind.to_owned()),
                    ("task", task.task.clone()),
                    ("subject", subject.to_owned()),
                    ("column", column.label.clone()),
                    ("run", cell.run.clone()),
                    ("date", of_run(comparison, &cell.run, |report| &report.date)),
                    ("cpu", column.machine().short_name()),
                    ("commit", of_run(comparison, &cell.run, |report| &report.commit)),
                    ("baseline", cell.baseline().map_or_else(String::new, |row| row.subject.clone())),
                ]
            };
            for row in &cell.report.rows {
                let mut fields = of_cell("row", &row.subject);
                fields.extend([
                    ("evidence", row.evidence.word().to_owned()),
                    ("median_ns", row.median_ns.to_string()),
                    ("ratio", row.ratio.to_string()),
                    ("verdict", row.verdict.word().to_owned()),
                ]);
                fields.extend(
                    row.interval
                        .iter()
                        .flat_map(|between| [("low", between.low.to_string()), ("high", between.high.to_string())]),
                );
                fields.extend(
                    Some(row.floor).filter(|floor| floor.is_finite()).map(|floor| ("floor", floor.to_string())),
                );
                if let Some(known) = task.rows.iter().find(|known| known.subject == row.subject) {
                    fields.push(("together", known.fate.word().to_owned()));
                    fields.extend(reason(known).map(|why| ("reason", why)));
                }
                put(&fields);
                for phase in &row.phases {
                    let mut fields = of_cell("phase", &row.subject);
                    let evidence = ("evidence", row.evidence.word().to_owned());
                    let median = ("median_ns", phase.median_ns.to_string());
                    fields.extend([evidence, ("phase", phase.name.clone()), median]);
                    put(&fields);
                }
            }
            for counted in &cell.report.counted {
                for quantity in &counted.quantities {
                    let mut fields = of_cell("quantity", &counted.subject);
                    let evidence = ("evidence", counted.evidence.word().to_owned());
                    fields.extend([evidence, ("quantity", quantity.name.clone()), ("reason", quantity.amount())]);
                    put(&fields);
                }
            }
            for refusal in &cell.report.refusals {
                let mut fields = of_cell("refusal", &refusal.subject);
                fields.push(("reason", refusal.reason.clone()));
                put(&fields);
            }
        }
    }
    for change in &comparison.changes {
        let label = |at: usize| comparison.columns[at].label.as_str();
        let mut fields = vec![
            ("kind", "change".to_owned()),
            ("task", change.task.clone()),
            ("column", label(change.columns.1).to_owned()),
            ("date", change.dates.1.clone()),
            ("evidence", change.grounds.word().to_owned()),
            ("baseline", change.from.clone()),
            ("commit", change.to.clone()),
            ("verdict", change.verdict.word().to_owned()),
        ];
        fields.extend(change.ratio.map(|ratio| ("ratio", ratio.to_string())));
        fields.extend(
            change
                .interval
                .iter()
                .flat_map(|between| [("low", between.low.to_string()), ("high", between.high.to_string())]),
        );
        fields.extend(Some(change.floor).filter(|floor| floor.is_finite()).map(|floor| ("floor", floor.to_string())));
        fields.extend(change.advice.clone().map(|advice| ("reason", advice)));
        fields.extend(change.broken.then(|| ("broken", "broken".to_owned())));
        put(&fields);
    }
    out
}

pub(super) fn json(comparison: &Comparison, quoted: &[Quoted]) -> String {
    let columns = comparison.columns.iter().map(|column| {
        let runs: Vec<Value> = column
            .reports
            .iter()
            .map(|report| json!({ "run": report.run, "date": report.date, "commit": report.commit, "paired": report.paired }))
            .collect();
        json!({ "column": column.label, "cpu": column.machine().short_name(), "machine": column.machine(), "tier": column.tier(), "runs": runs })
    });
    let mut value = json!({
        "schema": 1,
        "kind": "comparison",
        "columns": columns.collect::<Vec<_>>(),
        "rows": comparison.tasks.iter().flat_map(|task| rows(comparison, task)).collect::<Vec<_>>(),
        "baselines": comparison.tasks.iter().map(|task| baselines(comparison, task)).collect::<Vec<_>>(),
        "quantities": comparison.tasks.iter().flat_map(|task| quantities(comparison, task)).collect::<Vec<_>>(),
        "changes": comparison.changes.iter().map(|change| changed(comparison, change)).collect::<Vec<_>>(),
        "different_machines": comparison.spans_machines(),
        "doubts": comparison.doubts(),
        "left_out_tasks": comparison.left_out,
    });
    if !quoted.is_empty() {
        value["claims"] = json!(quoted);
    }
    format!("{value:#}\n")
}

fn of_run(comparison: &Comparison, run: &str, what: fn(&Report) -> &String) -> String {
    let mut reports = comparison.reports().filter(|(_, report)| report.run == run);
    reports.next().map_or_else(String::new, |(_, report)| what(report).clone())
}

/// Why a row is not compared, or what is to be known of it.
fn reason(known: &Line) -> Option<String> {
    match &known.fate {
        Fate::NotCompared(why) => Some(why.clone()),
        _ => (!known.remarks.is_empty()).then(|| known.remarks.join("; ")),
    }
}

fn rows<'a>(comparison: &'a Comparison, task: &'a SharedTask) -> impl Iterator<Item = Value> + 'a {
    task.rows.iter().map(move |known| {
        let cells: Vec<Value> = task
            .filled()
            .filter_map(|(at, cell)| {
                let baseline = cell.baseline().map(|row| row.subject.clone());
                let mut value = self::cell(cell.row(&known.subject)?);
                value["column"] = json!(comparison.columns[at].label);
                value["run"] = json!(cell.run);
                value["baseline"] = json!(baseline);
                Some(value)
            })
            .collect();
        json!({ "task": task.task, "subject": known.subject, "together": known.fate.word(), "reason": reason(known), "cells": cells })
    })
}

fn baselines(comparison: &Comparison, task: &SharedTask) -> Value {
    let cells: Vec<Value> = task
        .filled()
        .filter_map(|(at, found)| {
            let mut value = cell(found.baseline()?);
            value["column"] = json!(comparison.columns[at].label);
            value["run"] = json!(found.run);
            value["subject"] = json!(found.baseline()?.subject);
            Some(value)
        })
        .collect();
    json!({ "task": task.task, "what": task.what, "bytes": task.bytes, "cells": cells })
}

fn cell(row: &Row) -> Value {
    let phases: Vec<Value> =
        row.phases.iter().map(|phase| json!({ "phase": phase.name, "median_ns": phase.median_ns })).collect();
    json!({
        "evidence": row.evidence,
        "median_ns": row.median_ns,
        "ratio": row.ratio,
        "low": row.interval.map(|interval| interval.low),
        "high": row.interval.map(|interval| interval.high),
        "floor": Some(row.floor).filter(|floor| floor.is_finite()),
        "verdict": row.verdict,
        "phases": phases,
    })
}

fn quantities<'a>(comparison: &'a Comparison, task: &'a SharedTask) -> impl Iterator<Item = Value> + 'a {
    task.filled().flat_map(move |(at, cell)| {
        cell.report.counted.iter().flat_map(move |counted| {
            counted.quantities.iter().map(move |quantity| {
                json!({
                    "task": task.task,
                    "subject": counted.subject,
                    "column": comparison.columns[at].label,
                    "run": cell.run,
                    "evidence": counted.evidence,
                    "quantity": quantity.name,
                    "value": number(quantity.value),
                    "unit": quantity.unit,
                })
            })
        })
    })
}

fn changed(comparison: &Comparison, change: &Change) -> Value {
    let label = |at: usize| comparison.columns[at].label.as_str();
    let bridges = match &change.grounds {
        Grounds::Paired => None,
        Grounds::Bridges(bridges) => Some(bridges),
    };
    json!({
        "task": change.task,
        "columns": [label(change.columns.0), label(change.columns.1)],
        "from": change.from,
        "to": change.to,
        "dates": change.dates,
        "evidence": change.grounds.word(),
        "bridges": bridges,
        "ratio": change.ratio,
        "low": change.interval.map(|interval| interval.low),
        "high": change.interval.map(|interval| interval.high),
        "floor": Some(change.floor).filter(|floor| floor.is_finite()),
        "verdict": change.verdict,
        "advice": change.advice,
        "broken": change.broken,
    })
}
