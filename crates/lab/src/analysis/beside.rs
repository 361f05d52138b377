//! Imports beside runs: figures of other tools move to the tables of the tasks that do the same work.

use super::{Counted, Report, TaskReport};
use crate::Evidence;
use crate::lint::Lint;
use std::collections::BTreeSet;

/// Moves the figures of each import to the first run's report that has their task, with as many bytes. What no run has measured stays in the import's own report, and
/// an import of which nothing is left is dropped. Lints about all of an import go with its figures to every run that gets one.
#[must_use]
pub fn beside(reports: Vec<Report>) -> Vec<Report> {
    let (imports, mut runs): (Vec<Report>, Vec<Report>) = reports.into_iter().partition(|report| report.is_import);
    let mut left = Vec::new();
    for mut import in imports {
        let (machine, name) = (import.machine.clone(), import.run.clone());
        let mut homes = BTreeSet::new();
        for task in std::mem::take(&mut import.tasks) {
            let home = runs.iter().position(|run| measured(run, &task).is_some_and(|known| is_of_size(&task, known)));
            let Some(home) = home.filter(|_| !task.counted.is_empty()) else {
                let known = runs.iter().filter_map(|run| Some((measured(run, &task)?, run.run.as_str())));
                let others = known.filter(|(known, _)| !task.counted.is_empty() && !is_of_size(&task, known));
                import.lints.extend(others.map(|of_run| other_size(&task, of_run)).collect::<Vec<_>>());
                import.tasks.push(task);
                continue;
            };
            homes.insert(home);
            let run = &mut runs[home];
            let (here, lints) = (run.machine.clone(), &mut run.lints);
            for mut counted in task.counted {
                if !machine.same_as(&here) {
                    lints.push(other_machine(&task.task, &counted, &machine.line()));
                }
                counted.run = Some(name.clone());
                counted.machine = Some(machine.line());
                let known = run.tasks.iter_mut().find(|known| known.task == task.task);
                known.expect("it was found above").counted.push(counted);
            }
            let (moved, kept) = std::mem::take(&mut import.lints).into_iter().partition(|lint| lint.task == task.task);
            import.lints = kept;
            run.lints.extend::<Vec<Lint>>(moved);
        }
        for home in homes {
            runs[home].lints.extend(import.lints.iter().filter(|lint| lint.task.is_empty()).cloned());
        }
        if !import.tasks.is_empty() {
            left.push(import);
        }
    }
    runs.extend(left);
    runs
}

/// The run's own report of the task, if it has times.
fn measured<'a>(run: &'a Report, task: &TaskReport) -> Option<&'a TaskReport> {
    run.tasks.iter().find(|known| known.task == task.task && !known.rows.is_empty())
}

/// Whether both work through as many bytes, as far as that is known.
fn is_of_size(task: &TaskReport, known: &TaskReport) -> bool {
    task.bytes.zip(known.bytes).is_none_or(|(one, other)| one == other)
}

fn other_size(task: &TaskReport, (known, run): (&TaskReport, &str)) -> Lint {
    let bytes = |task: &TaskReport| task.bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string());
    Lint {
        name: "different-operation",
        task: task.task.clone(),
        subject: task.counted.first().map(|counted| counted.subject.clone()).unwrap_or_default(),
        text: format!("{} bytes, and {} in {run}: it does not stand in that table", bytes(task), bytes(known)),
    }
}

fn other_machine(task: &str, counted: &Counted, machine: &str) -> Lint {
    debug_assert_eq!(counted.evidence, Evidence::Imported);
    Lint {
        name: "different-machine",
        task: task.to_owned(),
        subject: counted.subject.clone(),
        text: format!("figures of {machine} stand beside times of this one: compare neither"),
    }
}
