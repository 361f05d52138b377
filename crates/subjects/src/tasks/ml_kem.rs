//! `kem/ml-kem-{512,768,1024}/{keygen,encaps,decaps,exchange}`: ML-KEM, FIPS 203; and `…/{encaps,decaps}-prepared`, where every parsed key holds
//! the expanded matrix; and `…-batch8`, eight of one kind.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::ml_kem::{AT_ONCE, BATCH, Level, Op, PREPARED, one_after_another};

/// All tasks of ML-KEM.
pub(super) fn tasks() -> Vec<Task> {
    let level = |level| {
        let plain = Op::ALL.into_iter().map(move |op| task(level, op));
        let batches = AT_ONCE.into_iter().map(move |op| batch(level, op));
        let prepared_batches = PREPARED.into_iter().map(move |(op, name)| prepared_batch(level, op, name));
        let prepared = PREPARED.into_iter().map(move |(op, name)| prepared(level, op, name));
        plain.chain(prepared).chain(batches).chain(prepared_batches)
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

/// Eight at once where the subject's name has a +, else one after another.
fn batch(level: Level, op: Op) -> Task {
    let mut task = batch_task(level, op.name(), "");
    task.entries.extend(ours::ml_kem::at_once(level, op));
    let mut singles = ours::ml_kem::own(level, op);
    singles.push(ours::ml_kem::by_aws_lc(level, op));
    singles.extend(candor_peers::ml_kem(level, op));
    task.entries.extend(super::one_after_another(singles.into_iter().map(one_after_another)));
    task
}

fn prepared_batch(level: Level, op: Op, name: &str) -> Task {
    let mut task = batch_task(level, name, ", keys prepared");
    task.entries.extend(ours::ml_kem::prepared_at_once(level, op));
    let mut singles = ours::ml_kem::prepared(level, op);
    singles.extend(candor_peers::ml_kem_prepared(level, op));
    task.entries.extend(super::one_after_another(singles.into_iter().map(one_after_another)));
    task
}

fn batch_task(level: Level, name: &str, keys: &str) -> Task {
    let what = format!(
        "ML-KEM-{}{keys}: {BATCH} operations {name}, all at once and each with its own key where the subject's name has a + (our batches), else \
         one after another with one key; times are those of all {BATCH}",
        level.number(),
    );
    Task::new(format!("kem/ml-kem-{}/{name}-batch{BATCH}", level.number()), what)
}
