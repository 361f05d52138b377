//! A publication row by row: what it says of each task, and what a run found of the same work.

use super::{interval, ratio};
use crate::analysis::{Report, Row, TaskReport};
use crate::claims::{Beside, Claims};
use crate::lint::Lint;
use crate::table::{Align, Table, paragraph};
use crate::units::{rate, three_digits, time};
use crate::verdict::Verdict;
use std::fmt::Write;

/// Every row of a publication beside a run's: our time, and how many times faster we are than each peer that the publication asks for and than the best
/// of the others. What is quoted is never divided by what was measured.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The publication, the run, its machine and its conditions: a sentence each.
    about: Vec<String>,
    /// Why no quoted number can be compared with one of this run.
    of_all: Vec<String>,
    heads: Vec<String>,
    /// A cell for each head.
    lines: Vec<Vec<String>>,
    /// What the numbers in brackets stand for, from 1.
    notes: Notes,
}

#[derive(Clone, Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    /// The mark of a note, the same for the same words.
    fn mark(&mut self, note: &str) -> String {
        let at = self.0.iter().position(|known| known == note).unwrap_or_else(|| {
            self.0.push(note.to_owned());
            self.0.len() - 1
        });
        format!(" [{}]", at + 1)
    }

    fn marks(&mut self, notes: impl IntoIterator<Item = String>) -> String {
        notes.into_iter().map(|note| self.mark(&note)).collect()
    }
}

const NOTHING: &str = "–";

impl Answer {
    /// The answer of a run to a publication.
    pub fn new(claims: &Claims, report: &Report) -> Self {
        let all = claims.beside(report);
        let of_all = reasons_of_all(&all);
        let mut notes = Notes::default();
        let lines = groups(&all).iter().map(|group| line(claims, report, group, &of_all, &mut notes)).collect();
        let peers = claims.answer.peers.iter().map(|prefix| named(prefix, report));
        let heads = ["row", "quoted", "here"].map(str::to_owned).into_iter().chain(peers);
        let about = [
            format!("{}, beside run {}", claims.source, report.run),
            report.machine.line(),
            report.date.clone(),
            format!("candor {}", report.commit),
            report.conditions.clone(),
        ];
        let whole_run = report.lints.iter().filter(|lint| lint.task.is_empty() && lint.subject.is_empty());
        let about = about.into_iter().chain(whole_run.map(|lint| format!("{}: {}", lint.name, lint.text))).collect();
        Self { about, of_all, heads: heads.chain(["best other peer".to_owned()]).collect(), lines, notes }
    }

    /// As Markdown: one table, and below it the notes.
    #[must_use]
    pub fn markdown(&self) -> String {
        let escape = |text: &String| text.replace('|', "\\|").replace('\n', " ");
        let row = |cells: &[String]| format!("| {} |\n", cells.iter().map(escape).collect::<Vec<_>>().join(" | "));
        let mut out = format!("{}.\n\n", self.about.join(". "));
        if !self.of_all.is_empty() {
            let _ =
                writeln!(out, "No quoted number can be compared with one of this run: {}.\n", self.of_all.join("; "));
        }
        out += &row(&self.heads);
        let _ = writeln!(out, "|---|---|---|{}", "--:|".repeat(self.heads.len() - 3));
        out.extend(self.lines.iter().map(|line| row(line)));
        let notes = self.notes.0.iter().enumerate().map(|(at, note)| format!("- [{}] {note}\n", at + 1));
        out.push('\n');
        out.extend(notes);
        out
    }

    /// As text, no wider than `columns` if that is given: a few lines for each row.
    #[must_use]
    pub fn text(&self, columns: Option<usize>) -> String {
        let mut out = String::new();
        out.extend(self.about.iter().map(|about| paragraph("", about, columns)));
        out.extend(self.of_all.iter().map(|reason| paragraph("! ", reason, columns)));
        for line in &self.lines {
            let mut table = Table::new(&[Align::Left, Align::Left]);
            let cells = self.heads.iter().zip(line).skip(1);
            cells.for_each(|(head, cell)| table.row([format!("  {head}"), cell.clone()]));
            let _ = write!(out, "\n{}\n{}", line[0], table.text(columns));
        }
        out.push('\n');
        let notes = self.notes.0.iter().enumerate();
        out.extend(notes.map(|(at, note)| paragraph(&format!("[{}] ", at + 1), note, columns)));
        out
    }
}

/// Why a quoted number and ours can't be compared, and what is known to be wrong with it.
fn reasons(beside: &Beside) -> impl Iterator<Item = String> + '_ {
    let lints = beside.lints.iter().map(|(name, text)| format!("{name}: {text}"));
    lints.chain(beside.claim.doubt.clone())
}

fn reasons_of_all(all: &[Beside]) -> Vec<String> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    reasons(first).filter(|reason| others.iter().all(|other| reasons(other).any(|known| known == *reason))).collect()
}

/// The numbers of each task, phase and quantity, in the order of the file. A number without a task stands by itself.
fn groups(all: &[Beside]) -> Vec<Vec<&Beside>> {
    let key = |beside: &Beside| {
        let claim = &beside.claim;
        (claim.task.clone(), claim.phase.clone(), claim.quantity.clone())
    };
    let mut groups: Vec<Vec<&Beside>> = Vec::new();
    for beside in all {
        let known = groups.iter_mut().find(|group| !beside.claim.task.is_empty() && key(group[0]) == key(beside));
        match known {
            Some(group) => group.push(beside),
            None => groups.push(vec![beside]),
        }
    }
    groups
}

/// The full names of the subjects whose names begin so, or that beginning.
fn named(prefix: &str, report: &Report) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (_, row) in report.rows().filter(|(_, row)| row.subject.starts_with(prefix)) {
        if !names.contains(&row.subject.as_str()) {
            names.push(&row.subject);
        }
    }
    if names.is_empty() { prefix.to_owned() } else { names.join(", ") }
}

fn line(claims: &Claims, report: &Report, group: &[&Beside], of_all: &[String], notes: &mut Notes) -> Vec<String> {
    let claim = &group[0].claim;
    let quoted = group.iter().map(|beside| {
        let claim = &beside.claim;
        let own = reasons(beside).filter(|reason| !of_all.contains(reason));
        format!("{}: {} {}{}", claim.what, claim.value, claim.unit, notes.marks(own))
    });
    let quoted = quoted.collect::<Vec<_>>().join("; ");
    let part = [claim.phase.as_str(), claim.quantity.as_str()].concat();
    let row = match (claim.task.as_str(), part.as_str()) {
        ("", _) => claim.place.clone(),
        (task, "") => format!("{task} ({})", claim.place),
        (task, part) => format!("{task}, {part} ({})", claim.place),
    };
    let task = report.tasks.iter().find(|task| task.task == claim.task);
    let ours = task.and_then(|task| Some((task, task.rows.iter().find(|row| row.verdict == Verdict::Baseline)?)));
    let mut cells = vec![row, quoted];
    match ours {
        // A part of the work, or what is counted: nothing of that is paired.
        _ if !part.is_empty() => {
            let here = group[0].here.as_ref();
            cells.push(here.map_or("not measured".into(), |here| format!("{}: {}", here.subject, here.found.shown())));
            cells.resize(claims.answer.peers.len() + 4, NOTHING.into());
        }
        Some((task, ours)) => {
            let lints = lints(report, task, ours);
            cells.push(format!(
                "{}: {}, {}{}",
                ours.label(),
                time(ours.median_ns),
                speed(task, ours),
                notes.marks(lints)
            ));
            for prefix in &claims.answer.peers {
                let rows = task.rows.iter().filter(|row| row.subject.starts_with(prefix));
                cells.push(match rows.min_by(|a, b| a.median_ns.total_cmp(&b.median_ns)) {
                    Some(row) => compared(report, task, row, notes),
                    None => format!("{NOTHING}{}", notes.mark(&absence(task, prefix))),
                });
            }
            cells.push(match best_other(claims, task, ours) {
                Some(row) => format!("{}: {}", row.label(), compared(report, task, row, notes)),
                None => format!("{NOTHING}{}", notes.mark("no other library of this run does this work")),
            });
        }
        None => {
            let why = if claim.task.is_empty() { "no task does this work" } else { "not measured in this run" };
            cells.push(why.into());
            cells.resize(claims.answer.peers.len() + 4, NOTHING.into());
        }
    }
    cells
}

/// Bytes or operations in a second.
fn speed(task: &TaskReport, row: &Row) -> String {
    match row.throughput(task.bytes) {
        Some(bytes) => rate(bytes),
        None => format!("{} ops/s", three_digits(1e9 / row.median_ns)),
    }
}

/// How many times faster we are, with the interval and the verdict.
fn compared(report: &Report, task: &TaskReport, row: &Row, notes: &mut Notes) -> String {
    let interval = interval(row).unwrap_or_else(|| "no interval".into());
    let verdict = match row.verdict {
        Verdict::None => "no verdict",
        verdict => verdict.word(),
    };
    let other_work = row.other_work.iter().map(|how| format!("{} does other work: {how}", row.subject));
    let all = other_work.chain(lints(report, task, row));
    format!("{} ({interval}), {verdict}{}", ratio(row, row.ratio), notes.marks(all.collect::<Vec<_>>()))
}

/// What the lab says of a row.
fn lints(report: &Report, task: &TaskReport, row: &Row) -> Vec<String> {
    let of_row = |lint: &&Lint| lint.task == task.task && lint.subject == row.subject;
    report.lints.iter().filter(of_row).map(|lint| format!("{}: {}: {}", row.subject, lint.name, lint.text)).collect()
}

/// Why there is no row.
fn absence(task: &TaskReport, prefix: &str) -> String {
    match task.refusals.iter().find(|refusal| refusal.subject.starts_with(prefix)) {
        Some(refusal) => format!("{}: {}", refusal.subject, refusal.reason),
        None => format!("{prefix} is not in this run"),
    }
}

/// The fastest of those that do the same work, are not from the baseline's library, and have no column of their own.
fn best_other<'a>(claims: &Claims, task: &'a TaskReport, ours: &Row) -> Option<&'a Row> {
    let same_work = |row: &&Row| !matches!(row.verdict, Verdict::Baseline | Verdict::Control | Verdict::None);
    let is_other = |row: &&Row| {
        let has_column = claims.answer.peers.iter().any(|prefix| row.subject.starts_with(prefix));
        row.provenance.library != ours.provenance.library && !has_column
    };
    let others = task.rows.iter().filter(same_work).filter(is_other);
    others.min_by(|a, b| a.median_ns.total_cmp(&b.median_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Epochs, Spread};
    use crate::figure::sample;
    use crate::runfile::RefusalRecord;
    use crate::stats::Interval;
    use crate::{Evidence, Provenance};

    const CLAIMS: &str = r#"
        key = "somebody-2025"
        source = "Somebody"
        [answer]
        peers = ["theirs-3", "theirs-4", "gone"]
        [[claim]]
        what = "theirs, signing"
        place = "section 1"
        value = 2075
        unit = "ops/s"
        hardware = "a laptop"
        how = "whole"
        task = "sign"
        [[claim]]
        what = "mine, signing"
        place = "section 1"
        value = 1582
        unit = "ops/s"
        hardware = "a laptop"
        how = "whole"
        task = "sign"
        doubt = "built otherwise"
        [[claim]]
        what = "mine, hashing"
        place = "section 2"
        value = 7
        unit = "ms"
        hardware = "a laptop"
        how = "whole"
        task = "hash"
        [[claim]]
        what = "mine, flying"
        place = "section 3"
        value = 1
        unit = "s"
        hardware = "a laptop"
        how = "whole"
    "#;

    fn row(subject: &str, library: &str, ns: f64, verdict: Verdict) -> Row {
        Row {
            subject: subject.into(),
            provenance: Provenance::of(library, "1", "signs"),
            evidence: Evidence::MeasuredPaired,
            other_work: (verdict == Verdict::None).then(|| "signs less".into()),
            median_ns: ns,
            process_medians_ns: Vec::new(),
            spread: Spread::default(),
            ratio: ns / 1000.0,
            interval: Some(Interval { low: ns / 1000.0 - 0.001, high: ns / 1000.0 + 0.001 }),
            floor: 0.001,
            verdict,
            advice: None,
            phases: Vec::new(),
            residual: None,
            follows_itself: None,
            outcomes: None,
            used: None,
            samples: (8, 8),
        }
    }

    fn report() -> Report {
        let rows = vec![
            row("ours@fast", "ours", 1000.0, Verdict::Baseline),
            row("ours@slow", "ours", 1100.0, Verdict::Faster),
            row("theirs-3.0", "theirs", 3000.0, Verdict::Faster),
            row("theirs-4.0", "theirs", 1200.0, Verdict::CantTell),
            row("another-1", "another", 1500.0, Verdict::Faster),
            row("third-1", "third", 1600.0, Verdict::Faster),
            row("cheat-1", "cheat", 10.0, Verdict::None),
            row("ours@fast#2", "ours", 1001.0, Verdict::Control),
        ];
        let refusal = RefusalRecord { task: "sign".into(), subject: "gone-2".into(), reason: "has no RSA".into() };
        let task = TaskReport {
            task: "sign".into(),
            what: "signs".into(),
            bytes: None,
            rows,
            counted: Vec::new(),
            refusals: vec![refusal],
            epochs: Epochs::default(),
        };
        let (run, date, commit, conditions) = ("a-run".into(), "today".into(), "c".into(), "quiet".into());
        Report { run, date, commit, conditions, ..sample(vec![task]) }
    }

    fn answer() -> Answer {
        Answer::new(&Claims::parse(CLAIMS).unwrap(), &report())
    }

    #[test]
    fn every_row_of_the_publication_is_there_with_each_peer_that_it_asks_for() {
        let answer = answer();
        assert_eq!(answer.heads, ["row", "quoted", "here", "theirs-3.0", "theirs-4.0", "gone", "best other peer"]);
        let first: Vec<&str> = answer.lines.iter().map(|line| line[0].as_str()).collect();
        assert_eq!(first, ["sign (section 1)", "hash (section 2)", "section 3"]);
        assert!(answer.lines.iter().all(|line| line.len() == answer.heads.len()));
        let sign = &answer.lines[0];
        assert_eq!(sign[1], "theirs, signing: 2075 ops/s; mine, signing: 1582 ops/s [1]");
        assert_eq!(sign[2], "ours@fast: 1.00 µs, 1000000 ops/s");
        assert_eq!(sign[3], "3.000 (2.999 – 3.001), faster");
        assert_eq!(sign[4], "1.200 (1.199 – 1.201), can't tell");
        assert_eq!(sign[5], "– [2]");
        assert_eq!(sign[6], "another-1: 1.500 (1.499 – 1.501), faster", "neither ours nor one that does less");
        assert_eq!(answer.notes.0, ["built otherwise", "gone-2: has no RSA"]);
        assert_eq!(answer.lines[1][2], "not measured in this run");
        assert_eq!(answer.lines[2][2], "no task does this work");
    }

    #[test]
    fn a_reason_that_all_numbers_share_stands_once() {
        let answer = answer();
        let [reason] = &answer.of_all[..] else { panic!("{:?}", answer.of_all) };
        assert!(reason.starts_with("different-machine: measured on a laptop"), "{reason}");
        let markdown = answer.markdown();
        assert_eq!(markdown.matches("different-machine").count(), 1);
        assert!(markdown.contains("\n| sign (section 1) | theirs, signing: 2075 ops/s; "), "{markdown}");
        assert!(markdown.ends_with("- [1] built otherwise\n- [2] gone-2: has no RSA\n"), "{markdown}");
        // A number that has been measured on this machine takes the reason to the others.
        let here = CLAIMS.replacen("\"a laptop\"", "\"\"", 1);
        let answer = Answer::new(&Claims::parse(&here).unwrap(), &report());
        let marked = answer.lines.iter().filter(|line| line[1].contains(" [1]")).count();
        assert_eq!((answer.of_all.len(), answer.markdown().matches("different-machine").count(), marked), (0, 1, 3));
    }

    #[test]
    fn as_text_it_has_the_same_cells() {
        let text = answer().text(None);
        for cell in answer().lines.iter().flatten() {
            assert!(text.contains(cell.as_str()), "{cell}: {text}");
        }
        assert!(answer().text(Some(60)).lines().all(|line| line.chars().count() <= 60), "{text}");
    }
}
