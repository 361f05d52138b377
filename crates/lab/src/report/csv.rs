//! CSV after RFC 4180: one line per row, nothing rounded. Quantities have lines of their own, which fill the last three
//! columns instead of the times.

use crate::analysis::Report;
use std::fmt::Write;

const HEAD: &str = "run,task,subject,baseline,evidence,median_ns,min_ns,p25_ns,p75_ns,p99_ns,bytes,ratio,low,high,floor,\
                    verdict,processes,rounds,reason,quantity,value,unit";

const COLUMNS: usize = 22;

pub(super) fn render(reports: &[Report]) -> String {
    let mut out = format!("{HEAD}\n");
    for report in reports {
        for task in &report.tasks {
            let baseline = task.rows.first().map_or("", |row| row.subject.as_str());
            for row in &task.rows {
                let optional = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
                let fields = [
                    report.run.clone(),
                    task.task.clone(),
                    row.subject.clone(),
                    baseline.to_owned(),
                    row.evidence.word().to_owned(),
                    row.median_ns.to_string(),
                    row.spread.min.to_string(),
                    row.spread.p25.to_string(),
                    row.spread.p75.to_string(),
                    optional(row.spread.p99),
                    task.bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
                    row.ratio.to_string(),
                    optional(row.interval.map(|interval| interval.low)),
                    optional(row.interval.map(|interval| interval.high)),
                    optional(Some(row.floor).filter(|floor| floor.is_finite())),
                    row.verdict.word().to_owned(),
                    row.samples.0.to_string(),
                    row.samples.1.to_string(),
                    row.provenance
                        .insecure
                        .as_ref()
                        .map(|why| format!("INSECURE: {why}"))
                        .or(row.advice.clone())
                        .unwrap_or_default(),
                    String::new(),
                    String::new(),
                    String::new(),
                ];
                line(&mut out, &fields);
            }
            for counted in &task.counted {
                for quantity in &counted.quantities {
                    let mut fields: [String; COLUMNS] = Default::default();
                    fields[0] = report.run.clone();
                    fields[1] = task.task.clone();
                    fields[2] = counted.subject.clone();
                    fields[3] = baseline.to_owned();
                    fields[4] = counted.evidence.word().to_owned();
                    fields[19] = quantity.name.clone();
                    fields[20] = quantity.value.to_string();
                    fields[21] = quantity.unit.clone();
                    line(&mut out, &fields);
                }
            }
            for refusal in &task.refusals {
                let mut fields: [String; COLUMNS] = Default::default();
                fields[0] = report.run.clone();
                fields[1] = task.task.clone();
                fields[2] = refusal.subject.clone();
                fields[15] = "refused".into();
                fields[18] = refusal.reason.clone();
                line(&mut out, &fields);
            }
        }
    }
    out
}

fn line(out: &mut String, fields: &[String]) {
    for (i, field) in fields.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        if field.contains([',', '"', '\n', '\r']) {
            let _ = write!(out, "{comma}\"{}\"", field.replace('"', "\"\""));
        } else {
            let _ = write!(out, "{comma}{field}");
        }
    }
    out.push('\n');
}
