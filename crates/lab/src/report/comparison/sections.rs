//! What text, Markdown and the web page show.

use super::super::{interval, ratio};
use super::{Piece, Section};
use crate::analysis::Row;
use crate::compare::{Bridge, Change, Comparison, Fate, Grounds, Line, Quoted, SharedTask, no_verdict};
use crate::units::{rate, time};
use crate::verdict::Verdict;
use crate::{Evidence, Quantity};

pub(super) fn of(comparison: &Comparison, quoted: &[Quoted]) -> Vec<Section> {
    let mut sections = vec![columns(comparison)];
    sections.extend(changes(comparison));
    sections.extend(comparison.tasks.iter().map(|task| shared(comparison, task)));
    sections.extend(publications(comparison, quoted));
    sections.push(summary(comparison));
    sections
}

/// What the columns are.
fn columns(comparison: &Comparison) -> Section {
    let head = ["column", "machine", "candor", "measured", "runs"].map(Piece::words).to_vec();
    let row = |column: &crate::compare::Column| {
        let of = [column.label.clone(), column.line(), column.commits(), column.dates(), column.runs()];
        of.map(Piece::words).to_vec()
    };
    let mut notes = vec![
        "A ratio is the time of a subject divided by that of the baseline in the same rounds of one run: above 1, the baseline is faster.".to_owned(),
    ];
    if comparison.repeats_machines() {
        notes.push("Runs on one machine are in the order in which they were measured: a later build is one that was measured later.".into());
    }
    notes.extend(comparison.doubts());
    if comparison.spans_machines() {
        notes.push("different-machine: ratios are compared, times are not".into());
    }
    Section {
        title: "Compared".into(),
        is_task: false,
        what: Vec::new(),
        rows: std::iter::once(head).chain(comparison.columns.iter().map(row)).collect(),
        notes,
    }
}

/// A task in all columns: times of the baselines, ratios of the others, phases, quantities.
fn shared(comparison: &Comparison, task: &SharedTask) -> Section {
    let several = comparison.columns.len() > 1;
    let labels = comparison.columns.iter().map(|column| Piece::number(&column.label));
    let together = |text: &str| several.then(|| Piece::words(text));
    let mut rows =
        vec![std::iter::once(Piece::words("subject")).chain(labels).chain(together("together")).collect::<Vec<_>>()];
    let mut row = |name: String, cells: Vec<Piece>, last: Piece| {
        rows.push([vec![Piece::words(name)], cells, if several { vec![last] } else { Vec::new() }].concat());
    };
    let of_baselines = |show: &dyn Fn(&Row) -> String| -> Vec<Piece> {
        let cells = task.cells.iter().map(|cell| cell.as_ref()?.baseline());
        cells.map(|row| Piece::number(row.map_or("–".into(), show))).collect()
    };
    row("baseline".into(), of_baselines(&|row| row.label()), Piece::default());
    row("its median".into(), of_baselines(&|row| time(row.median_ns)), Piece::default());
    if task.bytes.is_some() {
        let cells = of_baselines(&|row| row.throughput(task.bytes).map_or_else(String::new, rate));
        row("its rate".into(), cells, Piece::default());
    }
    for line in &task.rows {
        let cells = task.of(&line.subject).into_iter().map(judged).collect();
        let label = task.of(&line.subject).into_iter().flatten().next().map_or(line.subject.clone(), Row::label);
        row(label, cells, fate(line));
    }
    let mut subjects: Vec<&str> = Vec::new();
    for (_, cell) in task.filled() {
        subjects.extend(
            cell.report.rows.iter().filter(|row| row.verdict != Verdict::Control).map(|row| row.subject.as_str()),
        );
    }
    subjects.sort_unstable();
    subjects.dedup();
    for subject in subjects {
        for phase in task.phases(subject) {
            let cells = task
                .of(subject)
                .into_iter()
                .map(|row| Piece::number(row.and_then(|row| share(row, phase)).unwrap_or("–".into())));
            row(format!("{subject}, phase {phase}"), cells.collect(), Piece::default());
        }
    }
    for (label, quantity) in task.counted() {
        let amounts = task.amounts(label, quantity);
        let word = together_say(&amounts);
        let cells = amounts.into_iter().map(|found| found.map_or("–".into(), |(quantity, _)| quantity.amount()));
        row(format!("{label}, {quantity}"), cells.map(Piece::number).collect(), Piece::words(word));
    }
    Section {
        title: task.task.clone(),
        is_task: true,
        what: vec![task.what.clone()],
        rows,
        notes: reasons(comparison, task),
    }
}

/// Whether amounts are the same. Of other tools' figures and of simulated ones nothing is said: nobody measured them here.
fn together_say(amounts: &[Option<(&Quantity, Evidence)>]) -> &'static str {
    let found: Vec<&(&Quantity, Evidence)> = amounts.iter().flatten().collect();
    let measured = |evidence: Evidence| matches!(evidence, Evidence::MeasuredPaired | Evidence::MeasuredAlone);
    match &found[..] {
        [(first, _), others @ ..] if !others.is_empty() && found.iter().all(|(_, evidence)| measured(*evidence)) => {
            let same = others.iter().all(|(other, _)| other.amount() == first.amount());
            if same { "same" } else { "differs" }
        }
        _ => "",
    }
}

/// A ratio and its verdict.
fn judged(row: Option<&Row>) -> Piece {
    let Some(row) = row else { return Piece::number("–") };
    let (text, class) = match row.verdict {
        verdict @ (Verdict::Baseline | Verdict::None) => return Piece::number(verdict.word()),
        verdict @ (Verdict::Faster | Verdict::Slower | Verdict::Same) => (verdict.word(), verdict.word()),
        verdict => (verdict.word(), "open"),
    };
    let between = interval(row).map_or_else(String::new, |interval| format!(" ({interval})"));
    Piece::number(format!("{}{between} {text}", ratio(row, row.ratio))).meaning(class)
}

fn fate(line: &Line) -> Piece {
    let class = if line.fate == Fate::Flips { "slower" } else { "" };
    Piece::words(line.fate.word()).meaning(class)
}

/// A phase's median, and its share of the sum of the phases.
fn share(row: &Row, name: &str) -> Option<String> {
    let phase = row.phases.iter().find(|phase| phase.name == name)?;
    let whole: f64 = row.phases.iter().map(|phase| phase.median_ns).sum();
    Some(format!("{} ({:.0} %)", time(phase.median_ns), phase.median_ns / whole * 100.0))
}

/// Why a field is empty, and why rows are not compared.
fn reasons(comparison: &Comparison, task: &SharedTask) -> Vec<String> {
    let mut reasons = Vec::new();
    for (at, cell) in task.filled() {
        let label = &comparison.columns[at].label;
        reasons.extend(
            cell.report.refusals.iter().map(|refusal| format!("{} in {label}: {}", refusal.subject, refusal.reason)),
        );
    }
    // Where nothing stands beside it, the row itself says why it has no verdict.
    for line in task.rows.iter().filter(|line| !matches!(line.fate, Fate::NotCompared(_))) {
        let cells = task.filled().filter_map(|(at, cell)| Some((at, no_verdict(cell.row(&line.subject)?)?)));
        reasons.extend(cells.map(|(at, why)| format!("{} in {}: {why}", line.subject, comparison.columns[at].label)));
    }
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in &task.rows {
        let Fate::NotCompared(why) = &line.fate else { continue };
        match said.iter_mut().find(|(known, _)| known == why) {
            Some((_, subjects)) => subjects.push(&line.subject),
            None => said.push((why, vec![&line.subject])),
        }
    }
    reasons.extend(said.into_iter().map(|(why, subjects)| format!("{} not compared: {why}", subjects.join(", "))));
    let mut remarks: Vec<&String> = task.rows.iter().flat_map(|line| &line.remarks).collect();
    remarks.sort_unstable();
    remarks.dedup();
    reasons.extend(remarks.into_iter().cloned());
    reasons
}

fn changes(comparison: &Comparison) -> Option<Section> {
    if comparison.changes.is_empty() {
        return None;
    }
    let heads = ["task", "column", "from", "to"].map(Piece::words);
    let numbers = ["ratio", "interval", "floor"].map(Piece::number);
    let head = [&heads[..], &numbers[..], &["the later build is", "known"].map(Piece::words)[..]].concat();
    let rows = comparison.changes.iter().map(|change| change_row(comparison, change));
    let advice = comparison.changes.iter().filter_map(|change| {
        Some(format!("{} for {}: {}", change.verdict.word(), change.task, change.advice.as_ref()?))
    });
    Some(Section {
        title: "From one build to another".into(),
        is_task: false,
        what: vec!["The ratio says how many times faster the later build is: below 1, it is slower.".into()],
        rows: std::iter::once(head).chain(rows).collect(),
        notes: advice.collect(),
    })
}

fn change_row(comparison: &Comparison, change: &Change) -> Vec<Piece> {
    let (from, to) = (&comparison.columns[change.columns.0].label, &comparison.columns[change.columns.1].label);
    let column = if from == to { from.clone() } else { format!("{from}, {to}") };
    let number = |value: Option<f64>| Piece::number(value.map_or("–".into(), |value| format!("{value:.3}")));
    let between = change.interval.map(|between| format!("{:.3} – {:.3}", between.low, between.high));
    let floor = change.floor.is_finite().then(|| format!("{:.1} %", change.floor * 100.0));
    let broken = if change.broken { ", broken" } else { "" };
    let class = match change.verdict {
        _ if change.broken => Verdict::Slower.word(),
        verdict @ (Verdict::Faster | Verdict::Slower | Verdict::Same) => verdict.word(),
        _ => "",
    };
    vec![
        Piece::words(&change.task),
        Piece::words(column),
        Piece::words(&change.from),
        Piece::words(&change.to),
        number(change.ratio),
        Piece::number(between.unwrap_or("none".into())),
        Piece::number(floor.unwrap_or("–".into())),
        Piece::words(format!("{}{broken}", change.verdict.word())).meaning(class),
        Piece::words(match &change.grounds {
            Grounds::Paired => "paired, in the same rounds".to_owned(),
            Grounds::Bridges(bridges) => match &bridges[..] {
                [] => "by nothing".into(),
                [shown, others @ ..] if change.ratio.is_some() && !others.is_empty() => {
                    format!("by {} (shown), {}", shown.subject, names(others))
                }
                bridges => format!("by {}", names(bridges)),
            },
        }),
    ]
}

fn names(bridges: &[Bridge]) -> String {
    bridges.iter().map(|bridge| bridge.subject.as_str()).collect::<Vec<_>>().join(", ")
}

/// A section for each publication.
fn publications(comparison: &Comparison, quoted: &[Quoted]) -> Vec<Section> {
    let mut sections: Vec<(&str, Section)> = Vec::new();
    for quote in quoted {
        if sections.last().is_none_or(|(key, _)| *key != quote.key) {
            let labels = comparison.columns.iter().map(|column| Piece::number(&column.label));
            let head = ["what", "where"].map(Piece::words).into_iter().chain([Piece::number("quoted")]).chain(labels);
            let what = "Quoted beside what was measured here. The two are never divided by each other, nor are times of two columns.";
            let section = Section {
                title: format!("Quoted: {}", quote.key),
                is_task: false,
                what: vec![quote.source.clone(), what.into()],
                rows: vec![head.chain([Piece::words("why not to compare")]).collect()],
                notes: Vec::new(),
            };
            sections.push((&quote.key, section));
        }
        let Some((_, section)) = sections.last_mut() else { continue };
        let here = quote.here.iter().map(|here| {
            Piece::number(here.as_ref().map_or("–".into(), |here| format!("{} ({})", here.found.shown(), here.subject)))
        });
        let mut doubts: Vec<String> = quote.lints.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        doubts.extend(quote.claim.doubt.clone());
        let claim = &quote.claim;
        let row = [
            Piece::words(&claim.what),
            Piece::words(&claim.place),
            Piece::number(format!("{} {}", claim.value, claim.unit)),
        ];
        section.rows.push(row.into_iter().chain(here).chain([Piece::words(doubts.join("; "))]).collect());
    }
    sections.into_iter().map(|(_, section)| section).collect()
}

fn summary(comparison: &Comparison) -> Section {
    let mut notes = Vec::new();
    if comparison.columns.len() > 1 {
        let count = |fate: Fate| comparison.count(|other| *other == fate);
        let not_compared = comparison.count(|fate| matches!(fate, Fate::NotCompared(_)));
        notes.push(format!(
            "{} verdicts reproduce, {} flip, {} differ, {} can't be told; {} rows measured once, {not_compared} not compared",
            count(Fate::Reproduces),
            count(Fate::Flips),
            count(Fate::Differs),
            count(Fate::CantTell),
            count(Fate::Alone),
        ));
        if count(Fate::OneRun) > 0 {
            notes.push(format!("{} rows are of one run that was given twice: they say nothing", count(Fate::OneRun)));
        }
    }
    if !comparison.changes.is_empty() {
        let changed = |verdict| comparison.changed(verdict);
        notes.push(format!(
            "from one build to another: {} faster, {} slower, {} same, {} can't tell, {} without a verdict",
            changed(Verdict::Faster),
            changed(Verdict::Slower),
            changed(Verdict::Same),
            changed(Verdict::CantTell),
            changed(Verdict::None)
        ));
    }
    if comparison.left_out > 0 {
        notes.push(format!("left out {} tasks that stand in one column only", comparison.left_out));
    }
    for (at, report) in comparison.reports() {
        let whole_run = report.lints.iter().filter(|lint| lint.task.is_empty() && lint.name != "identical-values");
        let label = &comparison.columns[at].label;
        notes.extend(whole_run.map(|lint| format!("{}: {} in {label}: {}", lint.name, report.run, lint.text)));
    }
    Section { title: "Together".into(), is_task: false, what: Vec::new(), rows: Vec::new(), notes }
}
