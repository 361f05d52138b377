//! `kem/ml-kem-{512,768,1024}/{keygen,encaps,decaps,exchange}`: ML-KEM, FIPS 203; and `…/{encaps,decaps}-prepared`, where every parsed key holds
//! the expanded matrix.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::ml_kem::{Level, Op, PREPARED};

/// All tasks of ML-KEM.
pub(super) fn tasks() -> Vec<Task> {
    let level = |level| {
        let plain = Op::ALL.into_iter().map(move |op| task(level, op));
        plain.chain(PREPARED.into_iter().map(move |(op, name)| prepared(level, op, name)))
    };
    Level::ALL.into_iter().flat_map(level).collect()
}

fn task(level: Level, op: Op) -> Task {
    let name = format!("kem/ml-kem-{}/{}", level.number(), op.name());
    let mut task = Task::new(name, format!("ML-KEM-{}: {}", level.number(), op.timed()));
    task.entries.push(ours::ml_kem::by_aws_lc(level, op));
    task.entries.extend(ours::ml_kem::own(level, op));
    task.entries.extend(candor_peers::ml_kem(level, op));
    task
}

fn prepared(level: Level, op: Op, name: &str) -> Task {
    let what = format!("ML-KEM-{}, keys prepared: {}", level.number(), op.timed());
    let mut task = Task::new(format!("kem/ml-kem-{}/{name}", level.number()), what);
    task.entries.extend(ours::ml_kem::prepared(level, op));
    task.entries.extend(candor_peers::ml_kem_prepared(level, op));
    task
}
