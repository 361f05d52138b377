//! `candor explain`.

use crate::measure::all_tasks;
use crate::output::print;
use crate::{Failure, choose};
use candor_lab::lint::LINTS;

pub(crate) fn execute(name: &str) -> Result<(), Failure> {
    if let Some(lint) = LINTS.iter().find(|lint| lint.name == name) {
        return print(&format!(
            "{} fires when {}.\n\nWhy: {}\n\nThen: {}\n",
            lint.name, lint.fires, lint.why, lint.then
        ));
    }
    let tasks = all_tasks();
    let Some(task) = tasks.iter().find(|task| task.name == name) else {
        let names = tasks.iter().map(|task| task.name.as_str()).chain(LINTS.iter().map(|lint| lint.name));
        return Err(Failure::Error(choose::unknown("task or lint", name, names, "candor list tasks")));
    };
    let mut text = format!("{}\n\n{}\n\n", task.name, task.what);
    for (i, entry) in task.entries.iter().enumerate() {
        // Making a subject is enough to know where it comes from; nothing is measured.
        let (line, more) = match entry.make() {
            Ok(subject) => (subject.provenance().timed, subject.explanation()),
            Err(refusal) => (refusal.to_string(), None),
        };
        let role = if i == 0 { " (the baseline)" } else { "" };
        text += &format!("{}{role}\n    {line}\n", entry.subject);
        for line in more.iter().flat_map(|more| more.lines()) {
            text += &format!("    {line}\n");
        }
    }
    print(&format!("{text}\nMeasure it: candor run {}\n", task.name))
}
