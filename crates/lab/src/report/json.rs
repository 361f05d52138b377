//! JSON, schema 1: an object for one run, an array for several. Each run has its own `claims`.
//!
//! `ratio` says how many times faster the baseline is than the subject; above 1, the baseline is faster. `low` and `high` are
//! null if there were too few processes for an interval, `floor` if there was no control.
//!
//! `tasks` says of each task what exactly is done. `cpu` is the kind of CPU, as it stands in names of runs; `machine` says more.
//!
//! Quantities have rows of their own, with `quantity`, `value` and `unit` instead of a time, a ratio and a verdict. Those of an import that stand in a run's table
//! have `run`, the import's file.

use crate::analysis::{Report, Row, Spread, TaskReport};
use crate::claims::Beside;
use serde_json::{Map, Value, json};

pub(super) fn render(reports: &[Report], claims: &[Beside]) -> String {
    let value = match reports {
        [one] => object(one, claims),
        many => Value::Array(many.iter().map(|report| object(report, claims)).collect()),
    };
    format!("{value:#}\n")
}

fn object(report: &Report, claims: &[Beside]) -> Value {
    let refusals = report.tasks.iter().flat_map(|task| &task.refusals);
    let refusals = refusals.map(|out| json!({ "task": out.task, "subject": out.subject, "reason": out.reason }));
    let lints = report.lints.iter();
    let lints = lints.map(|l| json!({ "lint": l.name, "task": l.task, "subject": l.subject, "text": l.text }));
    let mut value = json!({
        "schema": 1,
        "run": report.run,
        "date": report.date,
        "commit": report.commit,
        "cpu": report.machine.short_name(),
        "machine": report.machine,
        "tasks": report.tasks.iter().map(|task| json!({ "task": task.task, "what": task.what })).collect::<Vec<_>>(),
        "rows": report.tasks.iter().flat_map(rows).collect::<Vec<_>>(),
        "refusals": refusals.collect::<Vec<_>>(),
        "lints": lints.collect::<Vec<_>>(),
    });
    if !report.trials.is_empty() {
        value["trials"] = json!(report.trials);
    }
    let claims: Vec<&Beside> = claims.iter().filter(|beside| beside.run == report.run).collect();
    if !claims.is_empty() {
        value["claims"] = json!(claims);
    }
    value
}

/// The times of a task, then its quantities.
fn rows(task: &TaskReport) -> Vec<Value> {
    let counted = task.counted.iter().flat_map(|counted| {
        counted.quantities.iter().map(|quantity| {
            let mut row = json!({
                "task": task.task,
                "subject": counted.subject,
                "baseline_task": task.task,
                "baseline": task.rows.first().map(|row| &row.subject),
                "evidence": counted.evidence,
                "quantity": quantity.name,
                "value": number(quantity.value),
                "unit": quantity.unit,
            });
            // The file that it comes from, if that is not the run's own.
            if let Some(import) = &counted.run {
                row["run"] = json!(import);
            }
            row
        })
    });
    task.rows.iter().map(|subject| row(task, subject)).chain(counted).collect()
}

/// Whole numbers without a point: 1408 rather than 1408.0.
pub(super) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

/// The spread of all epochs; null where there are too few.
fn spread(spread: &Spread) -> Value {
    let mut object: Map<String, Value> =
        spread.named().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    object.insert("epochs".into(), json!(spread.epochs));
    Value::Object(object)
}

fn row(task: &TaskReport, row: &Row) -> Value {
    let phases = row
        .phases
        .iter()
        .map(|phase| json!({ "phase": phase.name, "median_ns": phase.median_ns, "spread": spread(&phase.spread) }));
    let mut value = json!({
        "task": task.task,
        "subject": row.subject,
        "baseline_task": task.task,
        "baseline": task.rows.first().map(|row| &row.subject),
        "evidence": row.evidence,
        "median_ns": row.median_ns,
        "spread": spread(&row.spread),
        "ratio": row.ratio,
        "low": row.interval.map(|interval| interval.low),
        "high": row.interval.map(|interval| interval.high),
        "floor": Some(row.floor).filter(|floor| floor.is_finite()),
        "verdict": row.verdict,
        "phases": phases.collect::<Vec<_>>(),
        "provenance": row.provenance,
    });
    if let Some(outcomes) = row.outcomes {
        let (attempts, successes) = (outcomes.attempts, outcomes.successes);
        value["outcomes"] = json!({ "attempts": attempts, "successes": successes, "at_least": outcomes.at_least() });
    }
    if let Some(used) = &row.used {
        value["used"] = json!(used);
    }
    if let Some(bytes) = task.bytes {
        value["bytes"] = json!(bytes);
    }
    if let Some(advice) = &row.advice {
        value["advice"] = json!(advice);
    }
    value
}
