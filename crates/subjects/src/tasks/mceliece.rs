//! `kem/mceliece{348864,348864f,…,8192128f}/{keygen,encaps,decaps,decode,steps,load}`: Classic McEliece.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::kem::Op;
use candor_peers::contract::mceliece::{DECODE, Set};

/// All tasks of Classic McEliece. A whole exchange is key generation but for a thousandth.
pub(super) fn tasks() -> Vec<Task> {
    let of = |set| {
        [Op::Keygen, Op::Encaps, Op::Decaps].map(|op| task(set, op)).into_iter().chain([
            decode(set),
            steps(set),
            load(set),
        ])
    };
    Set::ALL.into_iter().flat_map(of).collect()
}

fn task(set: Set, op: Op) -> Task {
    let name = format!("kem/mceliece{}/{}", set.number(), op.name());
    let mut task = Task::new(name, format!("Classic McEliece, mceliece{}: {}", set.number(), op.timed_seeded()));
    task.entries.extend(ours::mceliece::entries(set, op));
    task.entries.extend(candor_peers::mceliece(set, op));
    task
}

fn decode(set: Set) -> Task {
    let name = format!("kem/mceliece{}/decode", set.number());
    let mut task = Task::new(name, format!("Classic McEliece, mceliece{}: {DECODE}", set.number()));
    task.entries.extend(ours::mceliece::decoders(set));
    task.entries.extend(candor_peers::mceliece_decode(set));
    task
}

fn steps(set: Set) -> Task {
    let name = format!("kem/mceliece{}/steps", set.number());
    let mut task = Task::new(name, format!("Classic McEliece, mceliece{}: {}", set.number(), ours::steps::TIMED));
    task.entries.extend(ours::steps::mceliece(set));
    task
}

fn load(set: Set) -> Task {
    let name = format!("kem/mceliece{}/load", set.number());
    let mut task = Task::new(name, format!("Classic McEliece, mceliece{}: {}", set.number(), ours::load::TIMED));
    task.entries.extend(ours::load::mceliece(set));
    task
}
