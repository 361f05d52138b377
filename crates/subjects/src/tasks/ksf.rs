//! `ksf/argon2id/{64m,256m}/{kept,allocating}`: Argon2id (RFC 9106), 3 passes, 1 lane, 64 bytes out: what a client of OPAQUE does at each login.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::ksf::{Store, TIMED};
use candor_primitives::ksf::Params;

/// Name and cost of the tasks.
const COSTS: [(&str, Params); 2] = [("64m", Params::BROWSER), ("256m", Params::NATIVE)];

const STORES: [(&str, Store); 2] = [("kept", Store::Kept), ("allocating", Store::Allocated)];

/// All tasks of key stretching.
pub(super) fn tasks() -> Vec<Task> {
    let of = |(name, params)| STORES.map(|(ending, store)| task(&format!("{name}/{ending}"), params, store));
    COSTS.into_iter().flat_map(of).collect()
}

fn task(name: &str, params: Params, store: Store) -> Task {
    let cost = format!("{} MiB, {} passes, {} lane", params.memory() / 1024, params.passes(), params.lanes());
    let what = format!("Argon2id with {cost}: {TIMED} {}", store.timed());
    let mut task = Task::new(format!("ksf/argon2id/{name}"), what);
    task.entries.extend(ours::argon2id(params, store));
    task.entries.extend(candor_peers::argon2id(params, store));
    task
}
