//! Markdown, for a README, a review or a pull request.

use super::{amount, interval, quantity_names, ratio, resolves};
use crate::analysis::{self, Report, TaskReport};
use crate::claims::Beside;
use crate::units::{rate, time};
use crate::verdict::Verdict;
use std::fmt::Write;

pub(super) fn render(reports: &[Report], claims: &[Beside]) -> String {
    let mut out = String::new();
    for report in reports {
        let _ = writeln!(out, "## Run {}\n", report.run);
        let _ = writeln!(
            out,
            "{}. {}. candor {}. {}.\n",
            report.machine.line(),
            report.date,
            report.commit,
            report.conditions
        );
        for task in &report.tasks {
            let _ = writeln!(out, "### {}\n\n{}\n", task.task, task.what);
            let rates = task.bytes.is_some();
            let _ = writeln!(
                out,
                "| subject | median |{} ratio | interval | baseline is |",
                if rates { " rate |" } else { "" }
            );
            let _ = writeln!(out, "|---|--:|{}--:|:-:|---|", if rates { "--:|" } else { "" });
            for row in &task.rows {
                let verdict = match row.verdict {
                    Verdict::Baseline => "(the baseline)".into(),
                    Verdict::Control => format!("(control: {})", resolves(row)),
                    Verdict::CantTell => format!("can't tell: {}", row.advice.as_deref().unwrap_or_default()),
                    verdict => verdict.word().to_owned(),
                };
                let insecure = if row.provenance.insecure.is_some() { " **INSECURE**" } else { "" };
                let rate = row.throughput(task.bytes).map(|r| format!(" {} |", rate(r))).unwrap_or_default();
                let _ = writeln!(
                    out,
                    "| {}{insecure} | {} |{rate} {} | {} | {verdict} |",
                    row.subject,
                    time(row.median_ns),
                    ratio(row, row.ratio),
                    interval(row).unwrap_or_else(|| "none".into()),
                );
            }
            for refusal in &task.refusals {
                let _ = writeln!(
                    out,
                    "| {} | – |{} – | – | {} |",
                    refusal.subject,
                    if rates { " – |" } else { "" },
                    escape(&refusal.reason)
                );
            }
            for row in task.rows.iter().filter(|row| !row.phases.is_empty() && row.verdict != Verdict::Control) {
                let phases = row.phases.iter().map(|phase| format!("{} {}", phase.name, time(phase.median_ns)));
                let _ = write!(out, "\nPhases of {}: {}.", row.label(), phases.collect::<Vec<_>>().join(", "));
            }
            out.push('\n');
            counted(&mut out, task);
        }
        if !report.trials.is_empty() {
            let _ = writeln!(
                out,
                "| trials of | true ratio | trials | faster | slower | same | can't tell | lost processes | false claims |"
            );
            let _ = writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|");
        }
        for count in &report.trials {
            let truth = count.truth.map_or("?".into(), |truth| format!("{truth:.3}"));
            let _ = writeln!(
                out,
                "| {} | {truth} | {} | {} | {} | {} | {} | {} | {} |",
                count.name,
                count.trials,
                count.faster,
                count.slower,
                count.same,
                count.cant_tell,
                count.lost,
                count.false_claims()
            );
        }
        for lint in &report.lints {
            let _ = writeln!(out, "- `{}` {} {}: {}", lint.name, lint.task, lint.subject, lint.text);
        }
        if !report.lints.is_empty() {
            out.push('\n');
        }
    }
    if let Some(lint) = analysis::across(reports) {
        let _ = writeln!(out, "- `{}`: {}", lint.name, lint.text);
    }
    if !claims.is_empty() {
        out.push_str("\n## Quoted\n\n| source | what | quoted | here | why not to compare |\n|---|---|--:|---|---|\n");
    }
    for beside in claims {
        let claim = &beside.claim;
        let here = beside.here.as_ref().map_or("not measured".into(), |here| {
            format!("{} ({} of {})", here.found.shown(), here.subject, here.place())
        });
        let mut doubts: Vec<String> = beside.lints.iter().map(|(name, text)| format!("`{name}`: {text}")).collect();
        doubts.extend(claim.doubt.clone());
        let _ = writeln!(
            out,
            "| {}, {} | {} | {} {} | {here} | {} |",
            escape(&beside.source),
            escape(&claim.place),
            escape(&claim.what),
            claim.value,
            claim.unit,
            escape(&doubts.join("; "))
        );
    }
    out
}

/// The quantities: a column for each, a line for each subject.
fn counted(out: &mut String, task: &TaskReport) {
    let names = quantity_names(task);
    if names.is_empty() {
        return;
    }
    let heads: Vec<String> = names.iter().map(|name| escape(name)).collect();
    let _ = writeln!(out, "\n| counted | {} | evidence |\n|---|{}---|", heads.join(" | "), "--:|".repeat(names.len()));
    for counted in &task.counted {
        let cells: Vec<String> =
            names.iter().map(|name| amount(counted, name).map_or("–".into(), |cell| escape(&cell))).collect();
        let _ = writeln!(out, "| {} | {} | {} |", counted.label, cells.join(" | "), counted.evidence.word());
    }
    out.push('\n');
}

/// Keeps text from ending the cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
