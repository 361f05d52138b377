//! Tasks and peers: the only place where candor's products, other people's libraries and the lab meet.
//!
//! | to add | write |
//! |---|---|
//! | a task | `tasks/<name>.rs`, and its line in `FAMILIES` |
//! | a peer | `peers/<name>.rs`, and its line in `peers.rs` |
//!
//! A library that does a task implements the task's own small trait (`tasks::ml_kem::MlKem`, …); preparing, checking and
//! timing are written once, in the task. That is what makes the rows of a table comparable.
//!
//! ```
//! let tasks = candor_subjects::tasks();
//! let encaps = tasks.iter().find(|task| task.name == "kem/ml-kem-768/encaps").unwrap();
//! assert_eq!(encaps.entries[0].subject, "candor@auto");
//! let mut ours = encaps.entries[0].make()?;
//! ours.prepare(1)?;
//! ours.run(10);
//! # Ok::<(), candor_lab::Refusal>(())
//! ```

// What several peers share is unused where most of them are left out.
#![cfg_attr(not(feature = "peers"), allow(dead_code))]

mod linked;
mod ours;
mod peers;
mod seed;
mod tasks;

pub mod differential;
pub mod self_test;

pub use peers::{Peer, PeerState, insecure_seed};

use candor_lab::Task;

/// How the names of a family's tasks begin, and what makes them.
type Family = (&'static str, fn() -> Vec<Task>);

/// All families, in the order in which their tasks are listed and run.
const FAMILIES: &[Family] = &[
    ("kem/ml-kem-", tasks::ml_kem::tasks),
    ("ec/x25519/", tasks::x25519::tasks),
    ("hash/", tasks::hash::tasks),
    ("mac/", tasks::mac::tasks),
    ("kdf/", tasks::kdf::tasks),
    ("ksf/", tasks::ksf::tasks),
    ("ntor/", tasks::ntor::tasks),
    ("opaque/", tasks::opaque::tasks),
    ("opaque/oprf/", tasks::oprf::tasks),
    ("gf2/", tasks::gf2::tasks),
    ("gf2m/", tasks::gf2m::tasks),
    ("relay/cells/", tasks::relay_cells::tasks),
    ("circuit/", tasks::circuit::tasks),
];

/// All tasks, in the order in which they are listed and run.
#[must_use]
pub fn tasks() -> Vec<Task> {
    FAMILIES.iter().flat_map(|(_, tasks)| tasks()).collect()
}

/// Only the tasks of those families that a task of this name can belong to. For a worker, which runs one task: the peers of the others
/// need not be looked for and loaded.
#[must_use]
pub fn tasks_near(name: &str) -> Vec<Task> {
    FAMILIES.iter().filter(|(prefix, _)| name.starts_with(prefix)).flat_map(|(_, tasks)| tasks()).collect()
}

/// Puts the user's tables of gf2's plans in force (`CANDOR_GF2_PLANS`, or `~/.config/candor/gf2-ARM.plan`). For a program's `main`: every
/// process of a run must have the same.
///
/// # Errors
/// What is wrong with which file.
pub fn load_user_plans() -> Result<(), String> {
    candor_gf2::plan::load_user().map(drop).map_err(|error| error.to_string())
}

/// Everyone candor is measured against, with their state on this machine.
#[must_use]
pub fn peers() -> Vec<Peer> {
    peers::all()
}

/// Names of the tasks that `candor run` without arguments measures: a minute over what there is.
#[must_use]
pub fn tour() -> Vec<&'static str> {
    vec![
        "kem/ml-kem-768/keygen",
        "kem/ml-kem-768/encaps",
        "kem/ml-kem-768/decaps",
        "ec/x25519/keygen",
        "ec/x25519/ecdh",
        "hash/sha256/1k",
        "hash/sha3-256/64k",
        "hash/sm3/64k",
    ]
}
