//! One self-contained web page: no scripts, no requests, light and dark, fit for printing.

use super::{amount, interval, quantity_names, ratio, resolves};
use crate::Used;
use crate::analysis::{self, Report, Row, TaskReport};
use crate::claims::Beside;
use crate::figure::{self, escape};
use crate::lint::LINTS;
use crate::units::{rate, time};
use crate::verdict::Verdict;
use std::fmt::Write;

const STYLE: &str = "\
:root{--paper:#fff;--ink:#1b1b1b;--muted:#5c5c5c;--line:#d4d4d4;--band:#e6e6e6;--faster:#0067a3;--slower:#b84e00;\
--same:#00785a;color-scheme:light dark}\
@media(prefers-color-scheme:dark){:root{--paper:#16181b;--ink:#e8e8e8;--muted:#a6a6a6;--line:#3a3d42;--band:#2c3036;\
--faster:#63b7ea;--slower:#f0935a;--same:#4fc9a4}}\
@media print{:root{--paper:#fff;--ink:#000;--muted:#444;--line:#bbb;--band:#e6e6e6;--faster:#0067a3;--slower:#b84e00;--same:#00785a}\
section,figure{break-inside:avoid}}\
*{box-sizing:border-box}body{margin:0 auto;padding:2rem 1.25rem;max-width:60rem;background:var(--paper);color:var(--ink);\
font:16px/1.5 system-ui,'DejaVu Sans',sans-serif}\
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .2rem}p{margin:.3rem 0 .8rem}.muted{color:var(--muted)}\
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}\
th,td{padding:.28rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\
th:first-child,td:first-child,th.words,td.words{text-align:left}td.words{white-space:normal}\
th{font-weight:600;color:var(--muted)}.faster{color:var(--faster);font-weight:600}.slower{color:var(--slower);font-weight:600}\
.same{color:var(--same);font-weight:600}.insecure{color:var(--slower);font-weight:700}\
figure{margin:1.5rem 0}figure svg{width:100%;min-width:54rem;height:auto}figcaption{font-size:.85rem;color:var(--muted)}\
@media print{figure svg{min-width:0}}details{margin:.4rem 0}summary{cursor:pointer;color:var(--muted);font-size:.9rem}code{font-size:.92em}";

pub(super) fn render(reports: &[Report], claims: &[Beside]) -> String {
    let title = reports.first().map_or("no run".into(), |report| format!("candor {}", report.run));
    let mut out = begin(&title);
    for report in reports {
        page(&mut out, report);
    }
    if let Some(lint) = analysis::across(reports) {
        let _ = writeln!(out, "<p><strong>{}</strong>: {}</p>", lint.name, escape(&lint.text));
    }
    quoted(&mut out, claims);
    out.push_str(
        "<h2>How to read this</h2>\n<p>The subjects of a table worked on the same inputs in interleaved rounds in fresh processes, and \
         checked one another’s answers. A row without a verdict does other work than the baseline, which <em>Doubts</em> describes, or was \
         not measured in the same rounds. <em>ratio</em> is the subject’s time divided by the baseline’s: above 1, the baseline is faster. The \
         baseline is in every table twice; the difference between its two rows is the error of the run, and no smaller difference is \
         claimed. The interval is the exact sign-test interval over processes, at an error level of 5 % shared by all comparisons of \
         the run. METHOD.md in candor’s repository explains the method.</p>\n</main>\n</body>\n</html>\n",
    );
    out
}

/// A page up to its body, without the text.
pub(super) fn begin(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>{STYLE}{}</style>\n</head>\n<body>\n<main>\n",
        escape(title),
        figure::style()
    )
}

fn page(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "<h1>Run <code>{}</code></h1>\n<p class=\"muted\">{} · {} · candor {} · {}</p>",
        escape(&report.run),
        escape(&report.machine.line()),
        escape(&report.date),
        escape(&report.commit),
        escape(&report.conditions)
    );
    for figure in figure::figures(report) {
        let _ = writeln!(
            out,
            "<figure>\n<div class=\"scroll\" tabindex=\"0\">{}</div><figcaption>{}</figcaption>\n</figure>",
            figure.svg_inline(),
            escape(&figure.caption)
        );
    }
    for task in &report.tasks {
        table(out, task);
    }
    trials(out, report);
    if !report.lints.is_empty() {
        out.push_str("<section><h2>Doubts</h2>\n<div class=\"scroll\" tabindex=\"0\"><table><tr><th>lint</th><th class=\"words\">where</th><th class=\"words\">what</th></tr>\n");
        for lint in &report.lints {
            let why = LINTS.iter().find(|known| known.name == lint.name).map_or("", |known| known.why);
            let _ = writeln!(
                out,
                "<tr><td><abbr title=\"{}\">{}</abbr></td><td class=\"words\">{} {}</td><td class=\"words\">{}</td></tr>",
                escape(why),
                lint.name,
                escape(&lint.task),
                escape(&lint.subject),
                escape(&lint.text)
            );
        }
        out.push_str("</table></div></section>\n");
    }
}

/// The counts of a self-test.
fn trials(out: &mut String, report: &Report) {
    if report.trials.is_empty() {
        return;
    }
    out.push_str(
        "<section><h2>Trials whose true result is known</h2>\n<div class=\"scroll\" tabindex=\"0\"><table><tr><th>trials of</th>",
    );
    for head in ["true ratio", "trials", "faster", "slower", "same", "can't tell", "lost processes", "false claims"] {
        let _ = write!(out, "<th>{head}</th>");
    }
    out.push_str("</tr>\n");
    for count in &report.trials {
        let truth = count.truth.map_or("?".into(), |truth| format!("{truth:.3}"));
        let _ = write!(out, "<tr><td>{}</td><td>{truth}</td>", escape(&count.name));
        for n in
            [count.trials, count.faster, count.slower, count.same, count.cant_tell, count.lost, count.false_claims()]
        {
            let _ = write!(out, "<td>{n}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div></section>\n");
}

fn table(out: &mut String, task: &TaskReport) {
    let rates = if task.bytes.is_some() { "<th>rate</th>" } else { "" };
    let _ = writeln!(
        out,
        "<section><h2>{}</h2>\n<p class=\"muted\">{}</p>\n<div class=\"scroll\" tabindex=\"0\"><table><tr><th>subject</th><th>median</th>{rates}\
         <th>ratio</th><th>interval</th><th class=\"words\">baseline is</th></tr>",
        escape(&task.task),
        escape(&task.what)
    );
    for row in &task.rows {
        let rate = row.throughput(task.bytes).map(|r| format!("<td>{}</td>", rate(r))).unwrap_or_default();
        let insecure = if row.provenance.insecure.is_some() { " <span class=\"insecure\">INSECURE</span>" } else { "" };
        let _ = writeln!(
            out,
            "<tr><td>{}{insecure}</td><td>{}</td>{rate}<td>{}</td><td>{}</td><td class=\"words {}\">{}</td></tr>",
            escape(&row.subject),
            time(row.median_ns),
            ratio(row, row.ratio),
            interval(row).unwrap_or_else(|| "none".into()),
            row.verdict.word(),
            escape(&verdict(row))
        );
    }
    let columns = if task.bytes.is_some() { 5 } else { 4 };
    for refusal in &task.refusals {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"words muted\" colspan=\"{columns}\">{}</td></tr>",
            escape(&refusal.subject),
            escape(&refusal.reason)
        );
    }
    out.push_str("</table></div>\n");
    counted(out, task);
    spreads(out, task);
    out.push_str("<details><summary>Origin of each subject</summary><ul>\n");
    for row in task.rows.iter().filter(|row| row.verdict != Verdict::Control) {
        let _ = writeln!(out, "<li><strong>{}</strong>: {}</li>", escape(&row.label()), escape(&provenance(row)));
    }
    out.push_str("</ul></details></section>\n");
}

/// How far the epochs of each row and phase spread.
fn spreads(out: &mut String, task: &TaskReport) {
    if task.rows.is_empty() {
        return;
    }
    out.push_str("<details><summary>Spread of all epochs</summary><div class=\"scroll\" tabindex=\"0\"><table><tr><th>subject</th>");
    for head in ["epochs", "mean", "σ", "min", "25 %", "75 %", "95 %", "99 %", "max"] {
        let _ = write!(out, "<th>{head}</th>");
    }
    out.push_str("</tr>\n");
    for row in &task.rows {
        let whole = std::iter::once((row.label(), &row.spread));
        let phases = row.phases.iter().map(|phase| (format!("{}, phase {}", row.label(), phase.name), &phase.spread));
        for (name, spread) in whole.chain(phases) {
            let _ = write!(out, "<tr><td>{}</td><td>{}</td>", escape(&name), spread.epochs);
            for (_, value) in spread.named() {
                let _ = write!(out, "<td>{}</td>", value.map_or("–".into(), time));
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</table></div></details>\n");
}

/// The quantities: a column for each, a line for each subject.
fn counted(out: &mut String, task: &TaskReport) {
    let names = quantity_names(task);
    if names.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table><tr><th>counted</th>");
    for name in &names {
        let _ = write!(out, "<th>{}</th>", escape(name));
    }
    out.push_str("<th>evidence</th></tr>\n");
    for counted in &task.counted {
        let _ = write!(out, "<tr><td>{}</td>", escape(&counted.label));
        for name in &names {
            let _ = write!(out, "<td>{}</td>", amount(counted, name).map_or("–".into(), |cell| escape(&cell)));
        }
        let _ = writeln!(out, "<td>{}</td></tr>", counted.evidence.word());
    }
    out.push_str("</table></div>\n");
}

fn verdict(row: &Row) -> String {
    match row.verdict {
        Verdict::Baseline => "(the baseline)".into(),
        Verdict::Control => format!("(control: {})", resolves(row)),
        Verdict::CantTell => format!("can't tell: {}", row.advice.as_deref().unwrap_or_default()),
        verdict => verdict.word().into(),
    }
}

fn provenance(row: &Row) -> String {
    let p = &row.provenance;
    let mut parts = vec![format!("{} {}", p.library, p.version), p.timed.clone()];
    let named = [
        ("arm", &p.arm),
        ("instructions", &row.used.as_ref().map(Used::to_string)),
        ("built", &p.build),
        ("package", &p.commit),
        ("object", &p.object_sha256),
        ("insecure", &p.insecure),
    ];
    parts.extend(named.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?))));
    parts.join("; ")
}

fn quoted(out: &mut String, claims: &[Beside]) {
    if claims.is_empty() {
        return;
    }
    out.push_str(
        "<section><h2>Published numbers</h2>\n<p class=\"muted\">Quoted beside the row of this run that does the same work. The two are \
         never divided by each other.</p>\n<div class=\"scroll\" tabindex=\"0\"><table><tr><th>source</th><th class=\"words\">what</th><th>quoted</th>\
         <th class=\"words\">here</th><th class=\"words\">why not to compare</th></tr>\n",
    );
    for beside in claims {
        let here = beside.here.as_ref().map_or("not measured in this run".into(), |here| {
            format!("{} ({} of {})", here.found.shown(), here.subject, here.place())
        });
        let mut doubts: Vec<String> = beside.lints.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        doubts.extend(beside.claim.doubt.clone());
        let _ = writeln!(
            out,
            "<tr><td><abbr title=\"{}\">{}</abbr>, {}</td><td class=\"words\">{}</td><td>{} {}</td><td class=\"words\">{}</td><td class=\"words\">{}</td></tr>",
            escape(&beside.source),
            escape(&beside.key),
            escape(&beside.claim.place),
            escape(&beside.claim.what),
            beside.claim.value,
            escape(&beside.claim.unit),
            escape(&here),
            escape(&doubts.join(". "))
        );
    }
    out.push_str("</table></div></section>\n");
}
