//! `kem/mceliece{348864,348864f,…,8192128f}/{keygen,encaps,decaps}`: Classic McEliece.

use candor_lab::Task;
use candor_peers::contract::kem::Op;
use candor_peers::contract::mceliece::Set;

/// All tasks of Classic McEliece. A whole exchange is key generation but for a thousandth.
pub(super) fn tasks() -> Vec<Task> {
    let pairs = Set::ALL.into_iter().flat_map(|set| [Op::Keygen, Op::Encaps, Op::Decaps].map(|op| (set, op)));
    pairs.map(|(set, op)| task(set, op)).collect()
}

fn task(set: Set, op: Op) -> Task {
    let name = format!("kem/mceliece{}/{}", set.number(), op.name());
    let mut task = Task::new(name, format!("Classic McEliece, mceliece{}: {}", set.number(), op.timed_seeded()));
    task.entries.extend(candor_peers::mceliece(set, op));
    task
}
