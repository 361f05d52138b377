//! A report as a web page: a table for each task, in which one finds and sorts, figures, doubts, and all epochs.

use super::{amount, interval, page, quantity_names, ratio, resolves};
use crate::Used;
use crate::analysis::{self, Report, Row, TaskReport};
use crate::claims::Beside;
use crate::figure::{self, escape};
use crate::lint::LINTS;
use crate::units::{rate, time};
use crate::verdict::Verdict;
use std::fmt::Write;

pub(super) fn render(reports: &[Report], claims: &[Beside]) -> String {
    let title = reports.first().map_or("no run".into(), |report| format!("candor {}", report.run));
    let mut out = page::begin(&title);
    out += &page::finder(reports.iter().flat_map(|report| &report.tasks).map(|task| task.task.as_str()), true);
    let mut origins = Origins::default();
    for report in reports {
        one(&mut out, report, &mut origins);
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
         the run. METHOD.md in candor’s repository explains the method.</p>\n",
    );
    origins.list(&mut out);
    out + &page::end()
}

/// What built the code of subjects: most of it is the same in many tables, so it stands once, under a number.
#[derive(Default)]
struct Origins(Vec<String>);

impl Origins {
    /// The number under which that origin stands.
    fn number(&mut self, origin: String) -> usize {
        let known = self.0.iter().position(|one| *one == origin);
        known.unwrap_or_else(|| {
            self.0.push(origin);
            self.0.len() - 1
        }) + 1
    }

    fn list(&self, out: &mut String) {
        if self.0.is_empty() {
            return;
        }
        out.push_str("<section><h2>Builds</h2>\n<ol>\n");
        for (at, origin) in self.0.iter().enumerate() {
            let _ = writeln!(out, "<li id=\"build-{}\">{}</li>", at + 1, escape(origin));
        }
        out.push_str("</ol></section>\n");
    }
}

fn one(out: &mut String, report: &Report, origins: &mut Origins) {
    let _ = writeln!(
        out,
        "<h1>Run <code>{}</code></h1>\n<p class=\"muted\">{} · {} · candor {} · {}</p>",
        escape(&report.run),
        escape(&report.machine.line()),
        escape(&report.date),
        escape(&report.commit),
        escape(&report.conditions)
    );
    out.push_str(&page::epochs(report));
    figure::figures(report).iter().for_each(|figure| page::figure(out, figure));
    out.push_str("<div>\n");
    for task in &report.tasks {
        table(out, task, origins);
    }
    out.push_str("</div>\n");
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

fn table(out: &mut String, task: &TaskReport, origins: &mut Origins) {
    let rates = if task.bytes.is_some() { "<th>rate</th>" } else { "" };
    let _ = writeln!(
        out,
        "<section class=\"task\"><h2>{}</h2>\n<p class=\"muted\">{}</p>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"rows\"><thead><tr>\
         <th>subject</th><th>median</th>{rates}<th>ratio</th><th>interval</th><th class=\"words\">baseline is</th></tr></thead><tbody>",
        escape(&task.task),
        escape(&task.what)
    );
    for row in &task.rows {
        // What a column is sorted by.
        let cell = |value: f64, shown: &str| format!("<td data-v=\"{value:.4}\">{shown}</td>");
        let rate = row.throughput(task.bytes).map(|bytes| cell(bytes, &rate(bytes))).unwrap_or_default();
        let insecure = if row.provenance.insecure.is_some() { " <span class=\"insecure\">INSECURE</span>" } else { "" };
        let between = match (&row.interval, interval(row)) {
            (Some(between), Some(shown)) => cell(between.low, &shown),
            _ => "<td>none</td>".into(),
        };
        let _ = writeln!(
            out,
            "<tr data-ratio=\"{:.4}\"><td>{}{insecure}</td>{}{rate}{}{between}<td class=\"words {}\">{}</td></tr>",
            row.ratio,
            escape(&row.subject),
            cell(row.median_ns, &time(row.median_ns)),
            cell(row.ratio, &ratio(row, row.ratio)),
            class(row.verdict),
            escape(&verdict(row))
        );
    }
    let columns = if task.bytes.is_some() { 5 } else { 4 };
    for refusal in &task.refusals {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"words muted refused\" colspan=\"{columns}\">{}</td></tr>",
            escape(&refusal.subject),
            escape(&refusal.reason)
        );
    }
    out.push_str("</tbody></table></div>\n");
    counted(out, task);
    spreads(out, task);
    out.push_str("<details><summary>Origin of each subject</summary><ul>\n");
    for row in task.rows.iter().filter(|row| row.verdict != Verdict::Control) {
        let _ = write!(out, "<li><strong>{}</strong>: {}", escape(&row.label()), escape(&provenance(row)));
        if let Some(built) = built(row) {
            let number = origins.number(built);
            let _ = write!(out, "; <a href=\"#build-{number}\">build {number}</a>");
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul></details></section>\n");
}

/// Of rows that are compared with the baseline: what was found.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster | Verdict::Slower | Verdict::Same => verdict.word(),
        Verdict::CantTell => "open",
        Verdict::Baseline | Verdict::Control | Verdict::None => "",
    }
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

/// What was called, and how.
fn provenance(row: &Row) -> String {
    let p = &row.provenance;
    let named = [("arm", &p.arm), ("instructions", &row.used.as_ref().map(Used::to_string)), ("insecure", &p.insecure)];
    let mut parts = vec![format!("{} {}", p.library, p.version), p.timed.clone()];
    parts.extend(said(named));
    parts.join("; ")
}

/// What built it, and from what.
fn built(row: &Row) -> Option<String> {
    let p = &row.provenance;
    let parts: Vec<String> =
        said([("built", &p.build), ("package", &p.commit), ("object", &p.object_sha256)]).collect();
    (!parts.is_empty()).then(|| format!("{} {}: {}", p.library, p.version, parts.join("; ")))
}

fn said<'a, const N: usize>(named: [(&'a str, &'a Option<String>); N]) -> impl Iterator<Item = String> {
    named.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?)))
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
