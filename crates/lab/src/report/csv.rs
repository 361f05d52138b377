//! CSV after RFC 4180: one line per row, nothing rounded. Phases have lines of their own, which name the phase, and so have quantities, which
//! fill the last three columns instead of the times.

use crate::analysis::{Report, Spread, TaskReport};
use std::fmt::Write;

const HEAD: [&str; 27] = [
    "run",
    "task",
    "subject",
    "baseline",
    "evidence",
    "phase",
    "median_ns",
    "mean_ns",
    "sd_ns",
    "min_ns",
    "p25_ns",
    "p75_ns",
    "p95_ns",
    "p99_ns",
    "max_ns",
    "bytes",
    "ratio",
    "low",
    "high",
    "floor",
    "verdict",
    "processes",
    "rounds",
    "reason",
    "quantity",
    "value",
    "unit",
];

pub(super) fn render(reports: &[Report]) -> String {
    let mut out = String::new();
    line(&mut out, HEAD.iter().map(|&name| name.to_owned()));
    for report in reports {
        for task in &report.tasks {
            for fields in lines(report, task) {
                line(&mut out, HEAD.iter().map(|name| fields.get(name)));
            }
        }
    }
    out
}

/// What a line has, by column; the others are empty.
#[derive(Clone, Default)]
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    #[must_use]
    fn with(mut self, column: &'static str, value: impl ToString) -> Self {
        debug_assert!(HEAD.contains(&column), "{column}");
        self.0.push((column, value.to_string()));
        self
    }

    #[must_use]
    fn with_some(self, column: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(column, value),
            None => self,
        }
    }

    #[must_use]
    fn times(self, median_ns: f64, spread: &Spread) -> Self {
        let fields = self.with("median_ns", median_ns);
        spread.named().into_iter().fold(fields, |fields, (column, value)| fields.with_some(column, value))
    }

    fn get(&self, column: &str) -> String {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

/// A task's lines: each row with its phases, then what was counted, then the refusals.
fn lines(report: &Report, task: &TaskReport) -> Vec<Fields> {
    let of_task = Fields::default().with("run", &report.run).with("task", &task.task);
    let baseline = task.rows.first().map_or("", |row| row.subject.as_str());
    let mut lines = Vec::new();
    for row in &task.rows {
        let of_row = of_task.clone().with("subject", &row.subject).with("baseline", baseline);
        let of_row = of_row.with("evidence", row.evidence.word());
        let insecure = row.provenance.insecure.as_ref().map(|why| format!("INSECURE: {why}"));
        let fields = of_row.clone().times(row.median_ns, &row.spread).with_some("bytes", task.bytes);
        let fields = fields.with("ratio", row.ratio).with_some("low", row.interval.map(|interval| interval.low));
        let fields = fields.with_some("high", row.interval.map(|interval| interval.high));
        let fields = fields.with_some("floor", Some(row.floor).filter(|floor| floor.is_finite()));
        let fields = fields.with("verdict", row.verdict.word()).with("processes", row.samples.0);
        lines.push(fields.with("rounds", row.samples.1).with_some("reason", insecure.or(row.advice.clone())));
        for phase in &row.phases {
            lines.push(of_row.clone().with("phase", &phase.name).times(phase.median_ns, &phase.spread));
        }
    }
    for counted in &task.counted {
        let of_subject =
            Fields::default().with("run", counted.run.as_ref().unwrap_or(&report.run)).with("task", &task.task);
        let of_subject = of_subject.with("subject", &counted.subject).with("baseline", baseline);
        let of_subject = of_subject.with("evidence", counted.evidence.word());
        for quantity in &counted.quantities {
            let fields = of_subject.clone().with("quantity", &quantity.name).with("value", quantity.value);
            lines.push(fields.with("unit", &quantity.unit));
        }
    }
    for refusal in &task.refusals {
        let fields = of_task.clone().with("subject", &refusal.subject).with("verdict", "refused");
        lines.push(fields.with("reason", &refusal.reason));
    }
    lines
}

/// Writes a line, with quotes where a field needs them.
pub(super) fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.enumerate() {
        let comma = if i == 0 { "" } else { "," };
        if field.contains([',', '"', '\n', '\r']) {
            let _ = write!(out, "{comma}\"{}\"", field.replace('"', "\"\""));
        } else {
            let _ = write!(out, "{comma}{field}");
        }
    }
    out.push('\n');
}
