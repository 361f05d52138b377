//! LaTeX: tables in the style of package booktabs, for `\input` in a paper. A caption says what a reader must know to believe the table: the number of
//! processes and rounds, what the interval is, the machine, and the commit; the names of subjects hold their versions.

use super::{amount, interval, ratio};
use crate::analysis::{Counted, Report, Row, TaskReport};
use crate::claims::Beside;
use crate::latex::{escape, label};
use crate::lint::Lint;
use crate::units::{rate, time};
use crate::verdict::{LEVEL, Verdict};
use crate::{Evidence, Quantity};
use std::fmt::Write;

pub(super) const HEAD: &str = "\
% Made by candor from sealed run files: change the runs, not this file.
% Include it with \\input. The preamble needs \\usepackage{booktabs} and, for figures, \\usepackage{graphicx}.
";

/// A table with more lines goes on in another: a float can't be longer than a page.
pub(super) const MOST_LINES: usize = 40;

pub(super) fn render(reports: &[Report], claims: &[Beside]) -> String {
    let mut out = HEAD.to_owned();
    for report in reports {
        for group in groups(report) {
            out += &times(report, &group);
        }
        for group in groups(report) {
            out += &counted(report, &group);
        }
    }
    out + &quoted(claims)
}

/// Tasks whose names differ in the last part only, as many as one table holds.
struct Group<'a> {
    name: &'a str,
    tasks: Vec<&'a TaskReport>,
    /// Counted from one, where the tasks need several tables.
    part: usize,
}

fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for task in report.tasks.iter().filter(|task| !task.rows.is_empty() || !task.counted.is_empty()) {
        let name = task.task.rsplit_once('/').map_or(task.task.as_str(), |(name, _)| name);
        let part = match groups.last_mut() {
            Some(last) if last.name == name => {
                let lines = |task: &TaskReport| 1 + lines(task);
                if last.tasks.iter().copied().map(lines).sum::<usize>() + lines(task) <= MOST_LINES {
                    last.tasks.push(task);
                    continue;
                }
                last.part + 1
            }
            _ => 1,
        };
        groups.push(Group { name, tasks: vec![task], part });
    }
    groups
}

fn lines(task: &TaskReport) -> usize {
    task.rows.iter().map(|row| 1 + phases(row).count()).sum()
}

/// The table of times of a group. Empty if none of its tasks has any.
fn times(report: &Report, group: &Group) -> String {
    let tasks: Vec<&TaskReport> = group.tasks.iter().copied().filter(|task| !task.rows.is_empty()).collect();
    if tasks.is_empty() {
        return String::new();
    }
    let rates = tasks.iter().any(|task| task.bytes.is_some());
    let columns = if rates { "@{}lrrrcl@{}" } else { "@{}lrrcl@{}" };
    let mut heads = vec!["subject", "median", "rate", "ratio", "interval", "baseline is"];
    heads.retain(|head| rates || *head != "rate");

    let mut notes = Notes::default();
    let mut body = line(&heads.iter().map(|&head| head.to_owned()).collect::<Vec<_>>());
    for (at, task) in tasks.iter().enumerate() {
        body += if at == 0 { "    \\midrule\n" } else { "    \\addlinespace\n" };
        let _ = writeln!(body, "    \\multicolumn{{{}}}{{@{{}}l}}{{{}}} \\\\", heads.len(), escape(&task.task));
        for row in &task.rows {
            let marks = notes.marks(doubts(report, |lint| lint.task == task.task && lint.subject == row.subject));
            let (ratio, interval) = compared(row);
            let rate = row.throughput(task.bytes).map(rate).unwrap_or_default();
            let subject = format!("\\quad {}{marks}", escape(&row.label()));
            let mut cells =
                vec![subject, escape(&time(row.median_ns)), escape(&rate), ratio, interval, escape(verdict(row))];
            if !rates {
                cells.remove(2);
            }
            body += &line(&cells);
            for (name, median_ns) in phases(row) {
                let name = format!("\\quad\\quad {}", escape(name));
                let empty = heads.len() - 2;
                body += &line(&[vec![name, escape(&time(median_ns))], vec![String::new(); empty]].concat());
            }
        }
        for refusal in &task.refusals {
            notes.say(format!("{}: {}", refusal.subject, refusal.reason));
        }
    }
    notes.say_of_all(report, &tasks);
    float(&caption(report, group, &tasks), &place(report, group, "times"), columns, &body, &notes.text())
}

/// Name and median of each phase. The control's say nothing that the baseline's don't.
fn phases(row: &Row) -> impl Iterator<Item = (&str, f64)> {
    let phases = if row.verdict == Verdict::Control { &[][..] } else { &row.phases[..] };
    phases.iter().map(|phase| (phase.name.as_str(), phase.median_ns))
}

/// Ratio and interval as cells. Where the row does other work, or is the baseline itself, there is nothing to compare.
fn compared(row: &Row) -> (String, String) {
    match row.verdict {
        Verdict::Baseline => ("1".into(), String::new()),
        Verdict::None => ("\\textendash{}".into(), "\\textendash{}".into()),
        _ => (ratio(row, row.ratio), interval(row).map_or_else(|| "none".into(), |text| escape(&text))),
    }
}

fn verdict(row: &Row) -> &'static str {
    match row.verdict {
        Verdict::Baseline => "(the baseline)",
        Verdict::Control => "(control)",
        verdict => verdict.word(),
    }
}

fn caption(report: &Report, group: &Group, tasks: &[&TaskReport]) -> String {
    let rows = || tasks.iter().flat_map(|task| &task.rows);
    let part = if group.part > 1 { format!(" (part {})", group.part) } else { String::new() };
    let floors =
        rows().filter(|row| row.verdict == Verdict::Control && row.floor.is_finite()).map(|row| row.floor * 100.0);
    let (least, most) =
        floors.fold((f64::INFINITY, 0.0f64), |(least, most), floor| (least.min(floor), most.max(floor)));
    let [least, most] = [least, most].map(|floor| format!("{floor:.1}"));
    let floor = match rows().any(|row| row.floor.is_finite()) {
        false => "No difference is claimed, for want of a control".to_owned(),
        true if least == most => format!("No difference below {most} % is claimed"),
        true => format!("No difference below {least} to {most} %, by the control of each task, is claimed"),
    };
    let text = format!(
        "{}{part}. Medians over {} processes with {} rounds each (n). Ratio: how many times faster the baseline is, measured in the same rounds; interval: \
         exact sign-test interval over the processes at level {LEVEL}/{}. {floor}. {}. candor {}, run {} of {}; {}.",
        group.name,
        span(rows().map(|row| row.samples.0)),
        span(rows().map(|row| row.samples.1)),
        report.comparisons.max(1),
        report.machine.line(),
        report.commit,
        report.run,
        report.date.get(..10).unwrap_or(&report.date),
        report.conditions,
    );
    escape(&text)
}

/// `9`, or `9 to 15`.
fn span(values: impl Iterator<Item = usize>) -> String {
    match values.fold((usize::MAX, 0), |(least, most), value| (least.min(value), most.max(value))) {
        (least, most) if least >= most => most.to_string(),
        (least, most) => format!("{least} to {most}"),
    }
}

/// What these lints say.
fn doubts(report: &Report, of: impl Fn(&Lint) -> bool) -> impl Iterator<Item = String> {
    report.lints.iter().filter(move |lint| of(lint)).map(|lint| format!("{}: {}", lint.name, lint.text))
}

/// What stands below a table. Rows refer to those that concern them by a letter.
#[derive(Default)]
struct Notes {
    lettered: Vec<String>,
    said: Vec<String>,
}

impl Notes {
    /// The letters of a row's notes.
    fn marks(&mut self, texts: impl IntoIterator<Item = String>) -> String {
        let letters: Vec<String> = texts.into_iter().map(|text| self.letter(text)).collect();
        if letters.is_empty() { String::new() } else { format!("\\textsuperscript{{{}}}", letters.join(",")) }
    }

    fn letter(&mut self, text: String) -> String {
        let at = self.lettered.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.lettered.push(text);
            self.lettered.len() - 1
        });
        numeral(at)
    }

    /// What the lints say of no single subject.
    fn say_of_all(&mut self, report: &Report, tasks: &[&TaskReport]) {
        for lint in report.lints.iter().filter(|lint| lint.subject.is_empty()) {
            if lint.task.is_empty() {
                self.say(format!("{}: {}", lint.name, lint.text));
            } else if tasks.iter().any(|task| task.task == lint.task) {
                self.say(format!("{} of {}: {}", lint.name, lint.task, lint.text));
            }
        }
    }

    /// A note on all of the table, once.
    fn say(&mut self, text: String) {
        if !self.said.contains(&text) {
            self.said.push(text);
        }
    }

    fn text(&self) -> String {
        let lettered = self.lettered.iter().enumerate();
        let lettered = lettered.map(|(at, text)| format!("\\textsuperscript{{{}}}\\,{}.", numeral(at), escape(text)));
        let said = self.said.iter().map(|text| format!("{}.", escape(text)));
        lettered.chain(said).collect::<Vec<_>>().join("\n    ")
    }
}

/// a, b, … z, aa, ab, …
fn numeral(at: usize) -> String {
    let before = if at >= 26 { numeral(at / 26 - 1) } else { String::new() };
    format!("{before}{}", char::from(b'a' + (at % 26) as u8))
}

/// The table of sizes, counts and rates of a group. Empty if none of its tasks has any.
fn counted(report: &Report, group: &Group) -> String {
    let mut body = line(&["subject", "counted", "amount", "evidence"].map(str::to_owned));
    let tasks: Vec<&TaskReport> = group.tasks.iter().copied().filter(|task| !task.counted.is_empty()).collect();
    if tasks.is_empty() {
        return String::new();
    }
    let mut notes = Notes::default();
    for (at, task) in tasks.iter().enumerate() {
        body += if at == 0 { "    \\midrule\n" } else { "    \\addlinespace\n" };
        let _ = writeln!(body, "    \\multicolumn{{4}}{{@{{}}l}}{{{}}} \\\\", escape(&task.task));
        for counted in &task.counted {
            let marks = notes.marks(of_import(report, task, counted));
            for Quantity { name, .. } in &counted.quantities {
                let subject = format!("\\quad {}{marks}", escape(&counted.label));
                let amount = amount(counted, name).unwrap_or_default();
                body += &line(&[subject, escape(name), escape(&amount), escape(counted.evidence.word())]);
            }
        }
    }
    // Otherwise they stand below the times.
    if group.tasks.iter().all(|task| task.rows.is_empty()) {
        notes.say_of_all(report, &tasks);
    }
    let from = if report.is_import { format!("{}. ", report.conditions) } else { String::new() };
    let caption = format!(
        "{}: what was counted. {from}{}. candor {}, run {} of {}.",
        group.name,
        report.machine.line(),
        report.commit,
        report.run,
        report.date.get(..10).unwrap_or(&report.date)
    );
    float(&escape(&caption), &place(report, group, "counts"), "@{}llrl@{}", &body, &notes.text())
}

/// Where an imported figure comes from, if that is another file, and what speaks against it. Of others this stands at their times.
fn of_import(report: &Report, task: &TaskReport, counted: &Counted) -> Vec<String> {
    if counted.evidence != Evidence::Imported {
        return Vec::new();
    }
    let from = counted.run.as_ref().zip(counted.machine.as_ref());
    let from = from.map(|(run, machine)| format!("import {run}, of {machine}"));
    let concerns = |lint: &Lint| lint.subject == counted.subject && (lint.task.is_empty() || lint.task == task.task);
    from.into_iter().chain(doubts(report, concerns)).collect()
}

/// Published numbers beside ours. Neither is divided by the other.
fn quoted(claims: &[Beside]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let mut body = line(&["source", "what", "quoted", "here"].map(str::to_owned)) + "    \\midrule\n";
    let mut notes = Notes::default();
    for beside in claims {
        let claim = &beside.claim;
        let doubts = beside.lints.iter().map(|(name, text)| format!("{name}: {text}")).chain(claim.doubt.clone());
        let marks = notes.marks(doubts);
        let here = beside.here.as_ref().map_or("not measured".to_owned(), |here| {
            format!("{} ({} of {})", here.found.shown(), here.subject, here.place())
        });
        let source = format!("{}, {}", beside.source, claim.place);
        let quoted = format!("{} {}", claim.value, claim.unit);
        body += &line(&[escape(&source) + &marks, escape(&claim.what), escape(&quoted), escape(&here)]);
    }
    let caption = "Numbers that others have published, quoted, beside what was measured here. The notes say why the two can't be compared.";
    let columns = "@{}p{.3\\linewidth}p{.2\\linewidth}rp{.3\\linewidth}@{}";
    float(&escape(caption), "tab:quoted", columns, &body, &notes.text())
}

pub(super) fn line(cells: &[String]) -> String {
    format!("    {} \\\\\n", cells.join(" & "))
}

fn place(report: &Report, group: &Group, kind: &str) -> String {
    let part = if group.part > 1 { format!("-{}", group.part) } else { String::new() };
    format!("tab:{}{part}", label(&format!("{}-{}-{kind}", report.run, group.name)))
}

/// `body` begins with the heads of the columns.
pub(super) fn float(caption: &str, label: &str, columns: &str, body: &str, notes: &str) -> String {
    let notes = match notes {
        "" => String::new(),
        notes => format!(
            "  \\par\\medskip\n  \\begin{{minipage}}{{\\linewidth}}\\footnotesize\n    {notes}\n  \\end{{minipage}}\n"
        ),
    };
    format!(
        "\n\\begin{{table}}[tbp]\n  \\centering\\small\n  \\caption{{{caption}}}\n  \\label{{{label}}}\n  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n{body}    \
         \\bottomrule\n  \\end{{tabular}}\n{notes}\\end{{table}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_lettered_beyond_the_alphabet() {
        let letters: Vec<String> = [0, 1, 25, 26, 27, 51, 52].into_iter().map(numeral).collect();
        assert_eq!(letters, ["a", "b", "z", "aa", "ab", "az", "ba"]);
        let mut notes = Notes::default();
        let marks = ["one", "two", "one"].map(|text| notes.letter(text.to_owned()));
        assert_eq!(marks, ["a", "b", "a"]);
        assert_eq!(notes.text(), "\\textsuperscript{a}\\,one.\n    \\textsuperscript{b}\\,two.");
    }

    #[test]
    fn a_span_is_one_number_where_all_are_the_same() {
        assert_eq!(span([9, 9].into_iter()), "9");
        assert_eq!(span([15, 9, 12].into_iter()), "9 to 15");
    }
}
