//! CPU times beside the times. A task whose subjects tell what CPU time the processes used that did the work ([`Subject::cpu_ns`](crate::Subject::cpu_ns)) is
//! two in a report: the second, `TASK/cpu`, has the CPU times of the same epochs as its times, and is judged like any other.

use crate::plan::TaskPlan;
use crate::runfile::{Block, Lost, Run, SubjectRecord, TaskRecord};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How the name of the second task ends.
const CPU: &str = "/cpu";

/// The name of a task's second table.
pub(super) fn second_of(task: &str) -> String {
    format!("{task}{CPU}")
}

/// The run with the second tasks, each behind the first.
pub(super) fn beside_times(run: &Run) -> Cow<'_, Run> {
    let has_cpu = |task: &TaskRecord| task.plan.as_ref().is_some_and(|plan| plan.cpu);
    if !run.tasks.iter().any(has_cpu) {
        return Cow::Borrowed(run);
    }
    let mut both = run.clone();
    both.tasks = run
        .tasks
        .iter()
        .flat_map(|task| [Some(task.clone()), has_cpu(task).then(|| of_task(task))])
        .flatten()
        .collect();
    for task in run.tasks.iter().filter(|task| has_cpu(task)) {
        let (name, second) = (&task.task, second_of(&task.task));
        let subjects = run.subjects.iter().filter(|subject| subject.task == *name);
        both.subjects.extend(subjects.map(|subject| SubjectRecord {
            task: second.clone(),
            quantities: Vec::new(),
            used: None,
            ..subject.clone()
        }));
        let lost = run.lost.iter().filter(|lost| lost.task == *name);
        both.lost.extend(lost.map(|lost| Lost { task: second.clone(), ..lost.clone() }));
        both.blocks.extend(run.blocks.iter().filter(|block| block.task == *name).map(|block| of_block(block, &second)));
    }
    Cow::Owned(both)
}

fn of_task(task: &TaskRecord) -> TaskRecord {
    TaskRecord {
        task: second_of(&task.task),
        what: format!(
            "CPU time, of the processes that do the work and of no others, in the same epochs: {}",
            task.what
        ),
        bytes: None,
        plan: task.plan.clone().map(|plan| TaskPlan { cpu: false, ..plan }),
    }
}

/// What failed has no CPU time either; how often, the first task says.
fn of_block(block: &Block, task: &str) -> Block {
    Block {
        task: task.to_owned(),
        ns: block.cpu_ns.clone(),
        cpu_ns: BTreeMap::new(),
        phases: BTreeMap::new(),
        disturbed: BTreeMap::new(),
        outcomes: BTreeMap::new(),
        ..block.clone()
    }
}
