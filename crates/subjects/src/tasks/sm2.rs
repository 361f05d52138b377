//! `sm2/{keygen,sign,verify,encrypt,decrypt}`: SM2, GB/T 32918.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::sm2::Op;

/// All tasks of SM2.
pub(super) fn tasks() -> Vec<Task> {
    Op::ALL.into_iter().map(|(name, op)| task(name, op)).collect()
}

fn task(name: &str, op: Op) -> Task {
    let mut task = Task::new(format!("sm2/{name}"), format!("SM2: {}", op.timed()));
    task.entries.extend(ours::sm2::entries(op).into_iter().chain(candor_peers::sm2(op)));
    task
}
