//! `candor explain`: what exactly a task does, and what a lint means.

use crate::measure::all_tasks;
use crate::output::{columns, print};
use crate::{Failure, choose};
use candor_lab::lint::LINTS;
use candor_lab::table::paragraph;

pub(crate) fn execute(name: &str) -> Result<(), Failure> {
    let columns = columns();
    if let Some(lint) = LINTS.iter().find(|lint| lint.name == name) {
        let fires = paragraph("", &format!("{} fires when {}.", lint.name, lint.fires), columns);
        let (why, then) = (paragraph("Why: ", lint.why, columns), paragraph("Then: ", lint.then, columns));
        return print(&format!("{fires}\n{why}\n{then}"));
    }
    let tasks = all_tasks();
    let task = match choose::matches(&tasks, name)[..] {
        [only] => &tasks[only],
        [first, ..] => {
            return Err(Failure::Error(format!(
                "{name:?} is part of the names of several tasks; explain one of them, such as {}; `candor list tasks` lists \
                 them all",
                tasks[first].name
            )));
        }
        [] => {
            let names = tasks.iter().map(|task| task.name.as_str()).chain(LINTS.iter().map(|lint| lint.name));
            return Err(Failure::Error(choose::unknown("task or lint", name, names, "candor list tasks")));
        }
    };
    let mut text = format!("{}\n\n{}\n", task.name, paragraph("", &task.what, columns));
    for (i, entry) in task.entries.iter().enumerate() {
        // A subject that is only made, and not measured, already knows its origin.
        let (line, more) = match entry.make() {
            Ok(subject) => (subject.provenance().timed, subject.explanation()),
            Err(refusal) => (refusal.to_string(), None),
        };
        let role = if i == 0 { " (the baseline)" } else { "" };
        text += &format!("{}{role}\n{}", entry.subject, paragraph("    ", &line, columns));
        for line in more.iter().flat_map(|more| more.lines()) {
            text += &paragraph("    ", line, columns);
        }
    }
    print(&format!("{text}\nMeasure it: candor run {}\n", task.name))
}
