//! `candor rerun`: repeats a run on this machine and compares the verdicts.

use crate::Failure;
use crate::cli::{ListFormat, RerunArguments};
use crate::config::Config;
use crate::measure::{all_tasks, measure, settings};
use crate::output::{Talk, columns, print};
use candor_lab::Task;
use candor_lab::analysis::{Report, Row};
use candor_lab::runfile::Run;
use candor_lab::session::Settings;
use candor_lab::table::{Align, Table, paragraph};
use candor_lab::verdict::Verdict;
use serde_json::json;

/// What became of a verdict in the new run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Holds,
    Reversed,
    /// A different verdict, but not the opposite one.
    Differs,
    /// Not measured here.
    Missing,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Reversed => "REVERSED",
            Self::Differs => "differs",
            Self::Missing => "not here",
        }
    }
}

pub(crate) fn execute(arguments: RerunArguments, talk: Talk) -> Result<(), Failure> {
    let old = Run::open(&arguments.run)?;
    let tasks = same_tasks(&old, talk)?;
    let directory = Config::load()?.runs(arguments.runs);
    let setting = |name: &str| old.manifest.settings.get(name);
    let budget = setting("budget_seconds").and_then(|seconds| seconds.parse().ok());
    let subjects = setting("subjects").map(|names| names.split(' ').map(str::to_owned).collect()).unwrap_or_default();
    // The run's own number of processes keeps the error level, its seed keeps the inputs.
    let settings = settings(budget, Some(old.manifest.processes), Some(old.manifest.seed), subjects, directory);
    let settings = Settings { repeats: Some(old.name.clone()), ..settings };
    let saved = measure(&tasks, &settings, talk)?;
    let (old, new) = (Report::of(&old), &saved.report);

    let rows = compare(&old, new);
    let reversed = rows.iter().filter(|row| row.fate == Fate::Reversed).count();
    print(&match arguments.format {
        ListFormat::Json => json_of(&old, new, &rows),
        ListFormat::Text => text_of(&old, new, &rows),
    })?;
    match reversed {
        0 => saved.whole(),
        n => Err(Failure::Condition(format!("{n} verdicts are reversed on this machine"))),
    }
}

/// The tasks of the run that this version still has.
fn same_tasks(old: &Run, talk: Talk) -> Result<Vec<Task>, Failure> {
    let mut tasks = all_tasks();
    tasks.retain(|task| old.tasks.iter().any(|known| known.task == task.name));
    for task in &mut tasks {
        // The run may have used another baseline than the task's own. If it is missing here, the task keeps its own.
        let plan = old.tasks.iter().find(|known| known.task == task.name).and_then(|known| known.plan.as_ref());
        plan.map(|plan| task.baseline(plan.baseline()));
    }
    for known in old.tasks.iter().filter(|known| !tasks.iter().any(|task| task.name == known.task)) {
        talk.say(&format!("! this version of candor has no task {}", known.task));
    }
    match tasks.is_empty() {
        true => Err(Failure::Error("this version of candor has none of the tasks of this run".into())),
        false => Ok(tasks),
    }
}

struct Compared<'a> {
    task: &'a str,
    old: &'a Row,
    new: Option<&'a Row>,
    fate: Fate,
}

fn compare<'a>(old: &'a Report, new: &'a Report) -> Vec<Compared<'a>> {
    let verdicts =
        old.rows().filter(|(_, row)| !matches!(row.verdict, Verdict::Baseline | Verdict::Control | Verdict::None));
    let compared = verdicts.map(|(task, old)| {
        let found = new.rows().find(|(other, row)| other.task == task.task && row.subject == old.subject);
        let new = found.map(|(_, row)| row);
        let fate = match new.map(|row| row.verdict) {
            None => Fate::Missing,
            Some(verdict) if verdict == old.verdict => Fate::Holds,
            Some(verdict) if verdict == old.verdict.mirrored() => Fate::Reversed,
            Some(_) => Fate::Differs,
        };
        Compared { task: &task.task, old, new, fate }
    });
    compared.collect()
}

fn text_of(old: &Report, new: &Report, rows: &[Compared<'_>]) -> String {
    let columns = columns();
    let mut runs = Table::new(&[Align::Left, Align::Left]);
    runs.row(["there".to_owned(), format!("{}, {}", old.run, old.machine.line())]);
    runs.row(["here".to_owned(), format!("{}, {}", new.run, new.machine.line())]);
    let mut text = runs.text(columns) + "\n";
    if !old.machine.same_as(&new.machine) {
        text += &paragraph("! ", "different-machine: ratios are compared, times are not", columns);
        text.push('\n');
    }
    let mut table = Table::new(&[Align::Left; 5]);
    table.row(["task", "subject", "there", "here", "verdict"]);
    for row in rows {
        let shown = |row: &Row| format!("{:.3} {}", row.ratio, row.verdict.word());
        let here = row.new.map_or("–".into(), shown);
        let cells = [row.task.to_owned(), row.old.subject.clone(), shown(row.old), here, row.fate.word().to_owned()];
        table.row(cells);
    }
    text += &table.text(columns);
    let count = |fate: Fate| rows.iter().filter(|row| row.fate == fate).count();
    text + &format!(
        "\n{} of {} verdicts hold, {} differ, {} reversed, {} not measured here\n",
        count(Fate::Holds),
        rows.len(),
        count(Fate::Differs),
        count(Fate::Reversed),
        count(Fate::Missing)
    )
}

fn json_of(old: &Report, new: &Report, rows: &[Compared<'_>]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "task": row.task,
                "subject": row.old.subject,
                "there": { "ratio": row.old.ratio, "verdict": row.old.verdict },
                "here": row.new.map(|new| json!({ "ratio": new.ratio, "verdict": new.verdict })),
                "fate": row.fate.word().to_lowercase(),
            })
        })
        .collect();
    let value = json!({
        "schema": 1,
        "there": old.run,
        "here": new.run,
        "same_machine": old.machine.same_as(&new.machine),
        "rows": rows,
    });
    format!("{value:#}\n")
}
