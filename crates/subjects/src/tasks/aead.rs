//! `aead/<algorithm>/{seal,open}/{64,256,1k,64k,1m,10m}`: one message that is already in memory, in place, under a key that was set before; and
//! `aead/<algorithm>/new`: the set-up of a key.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::aead::{ALGORITHMS, Algorithm, Op};

/// Name and length of the messages.
pub(super) const SIZES: [(&str, usize); 6] =
    [("64", 64), ("256", 256), ("1k", 1 << 10), ("64k", 64 << 10), ("1m", 1 << 20), ("10m", 10 << 20)];

/// All tasks of AEADs.
pub(super) fn tasks() -> Vec<Task> {
    let of = |algorithm| {
        let sized = move |op| SIZES.into_iter().map(move |(name, bytes)| message(algorithm, op, name, bytes));
        [Op::Seal, Op::Open].into_iter().flat_map(sized).chain([key(algorithm)])
    };
    ALGORITHMS.iter().copied().flat_map(of).collect()
}

fn message(algorithm: Algorithm, op: Op, name: &str, bytes: usize) -> Task {
    let what = format!("{} ({}) of {bytes} bytes: {}", algorithm.title(), algorithm.standard(), op.timed());
    let task = Task::new(format!("aead/{}/{}/{name}", algorithm.name(), op.name()), what).bytes(bytes as u64);
    with_entries(task, algorithm, op, bytes)
}

fn key(algorithm: Algorithm) -> Task {
    let what = format!("{} ({}): {}", algorithm.title(), algorithm.standard(), Op::New.timed());
    let task = Task::new(format!("aead/{}/{}", algorithm.name(), Op::New.name()), what);
    with_entries(task, algorithm, Op::New, 64)
}

fn with_entries(mut task: Task, algorithm: Algorithm, op: Op, bytes: usize) -> Task {
    task.entries.extend(ours::aead::aead(algorithm, op, bytes));
    task.entries.extend(candor_peers::aead(algorithm, op, bytes));
    task
}
