//! `ksf/argon2id/{19m,64m,256m}/{kept,allocating}`: Argon2id (RFC 9106), 1 lane, 64 bytes out: 3 passes over 64 and 256 MiB, as a client of OPAQUE does at each
//! login, and 2 over 19 MiB, the least that OWASP's Password Storage Cheat Sheet asks for and the default of the crate `argon2`.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::ksf::{Store, TIMED};
use candor_primitives::ksf::Params;

/// Name and cost of the tasks.
const COSTS: [(&str, Params); 3] = [("19m", OWASP), ("64m", Params::BROWSER), ("256m", Params::NATIVE)];

/// 19 MiB, 2 passes, 1 lane.
const OWASP: Params = match Params::new(19 * 1024, 2, 1) {
    Ok(params) => params,
    Err(_) => panic!("Argon2id has these costs"),
};

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
