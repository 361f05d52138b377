//! `ksf/argon2id/{64m,256m}`: Argon2id (RFC 9106), 3 passes, 1 lane, 64 bytes out: what a client of OPAQUE does at each login.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::ksf::TIMED;
use candor_primitives::ksf::Params;

/// Name and cost of the tasks.
const COSTS: [(&str, Params); 2] = [("64m", Params::BROWSER), ("256m", Params::NATIVE)];

/// All tasks of key stretching.
pub(super) fn tasks() -> Vec<Task> {
    COSTS.map(|(name, params)| task(name, params)).into()
}

fn task(name: &str, params: Params) -> Task {
    let cost = format!("{} MiB, {} passes, {} lane", params.memory() / 1024, params.passes(), params.lanes());
    let mut task = Task::new(format!("ksf/argon2id/{name}"), format!("Argon2id with {cost}: {TIMED}"));
    task.entries.extend(ours::argon2id(params));
    task.entries.extend(candor_peers::argon2id(params));
    task
}
