//! `kem/ml-kem-{512,768,1024}/{keygen,encaps,decaps,exchange}`: ML-KEM, FIPS 203.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::ml_kem::{Level, Op};

/// All tasks of ML-KEM.
pub(super) fn tasks() -> Vec<Task> {
    let pairs = Level::ALL.into_iter().flat_map(|level| Op::ALL.map(|op| (level, op)));
    pairs.map(|(level, op)| task(level, op)).collect()
}

fn task(level: Level, op: Op) -> Task {
    let name = format!("kem/ml-kem-{}/{}", level.number(), op.name());
    let mut task = Task::new(name, format!("ML-KEM-{}: {}", level.number(), op.timed()));
    task.entries.push(ours::ml_kem(level, op));
    task.entries.extend(candor_peers::ml_kem(level, op));
    task
}
