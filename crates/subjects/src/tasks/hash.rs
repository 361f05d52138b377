//! `hash/<algorithm>/{1k,64k,1m,10m}`: one message that is already in memory, from start to digest; and
//! `hash/<algorithm>/batch<n>`: `n` messages of 1 KB, by whoever can hash them at once, and one after another by the others.

use super::one_after_another;
use crate::ours;
use candor_lab::Task;
use candor_peers::contract::hash::{ALGORITHMS, Algorithm, Shape, inputs};

/// Name and length of single messages.
const SIZES: [(&str, usize); 4] = [("1k", 1 << 10), ("64k", 64 << 10), ("1m", 1 << 20), ("10m", 10 << 20)];

/// All tasks of hash functions.
pub(super) fn tasks() -> Vec<Task> {
    let of = |algorithm| {
        let sizes = SIZES.into_iter().map(move |(name, bytes)| single(algorithm, name, bytes));
        let batches = ours::hash::BATCHES.iter().filter(move |(known, _)| *known == algorithm);
        sizes.chain(batches.map(move |(_, messages)| batch(algorithm, *messages)))
    };
    ALGORITHMS.iter().copied().flat_map(of).collect()
}

fn single(algorithm: Algorithm, name: &str, bytes: usize) -> Task {
    let shape = Shape { messages: 1, bytes };
    let what = format!("{} ({}) of {bytes} bytes: {}", algorithm.title(), algorithm.standard(), shape.timed());
    let mut task = Task::new(format!("hash/{}/{name}", algorithm.name()), what).bytes(bytes as u64);
    task = task.inputs(move |seed| inputs(bytes, seed));
    task.entries.extend(ours::hash::singles(algorithm, shape));
    task.entries.extend(candor_peers::hash(algorithm, shape));
    task
}

fn batch(algorithm: Algorithm, messages: usize) -> Task {
    let shape = Shape { messages, bytes: 1 << 10 };
    let what = format!(
        "{} ({}) of {messages} messages of {} bytes each: all in one call where the subject's name ends in +batch, else one \
         after another",
        algorithm.title(),
        algorithm.standard(),
        shape.bytes
    );
    let mut task = Task::new(format!("hash/{}/batch{messages}", algorithm.name()), what);
    task = task.bytes((messages * shape.bytes) as u64);
    task.entries.extend(ours::hash::batches(algorithm, shape));
    task.entries.extend(candor_peers::hash_batch(algorithm, shape));
    task.entries.extend(one_after_another(ours::hash::singles(algorithm, shape)));
    task.entries.extend(one_after_another(candor_peers::hash(algorithm, shape)));
    task
}
