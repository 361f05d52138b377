//! `kem/hqc-{1,3,5}/{keygen,encaps,decaps,exchange,decode,steps,load,product}`: HQC.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::hqc::{DECODE, Level};
use candor_peers::contract::kem::Op;

/// All tasks of HQC.
pub(super) fn tasks() -> Vec<Task> {
    Level::ALL
        .into_iter()
        .flat_map(|level| {
            Op::ALL.map(|op| task(level, op)).into_iter().chain([
                decode(level),
                steps(level),
                load(level),
                product(level),
            ])
        })
        .collect()
}

fn task(level: Level, op: Op) -> Task {
    let name = format!("kem/hqc-{}/{}", level.number(), op.name());
    let mut task = Task::new(name, format!("HQC-{}: {}", level.number(), op.timed_seeded()));
    task.entries.extend(ours::hqc::entries(level, op));
    task.entries.extend(candor_peers::hqc(level, op));
    task
}

fn decode(level: Level) -> Task {
    let name = format!("kem/hqc-{}/decode", level.number());
    let mut task = Task::new(name, format!("HQC-{}: {DECODE}", level.number()));
    task.entries.extend(ours::hqc::decoders(level));
    task.entries.extend(candor_peers::hqc_decode(level));
    task
}

fn steps(level: Level) -> Task {
    let name = format!("kem/hqc-{}/steps", level.number());
    let mut task = Task::new(name, format!("HQC-{}: {}", level.number(), ours::steps::TIMED));
    task.entries.extend(ours::steps::hqc(level));
    task
}

fn load(level: Level) -> Task {
    let name = format!("kem/hqc-{}/load", level.number());
    let mut task = Task::new(name, format!("HQC-{}: {}", level.number(), ours::load::TIMED));
    task.entries.extend(ours::load::hqc(level));
    task
}

fn product(level: Level) -> Task {
    let name = format!("kem/hqc-{}/product", level.number());
    let mut task = Task::new(name, format!("HQC-{}: {}", level.number(), ours::sparse::TIMED));
    task.entries.extend(ours::sparse::entries(level));
    task
}
