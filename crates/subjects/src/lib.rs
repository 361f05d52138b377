//! Tasks and peers: the only place where candor's products, other people's libraries and the lab meet.
//!
//! | to add | write |
//! |---|---|
//! | a task | `tasks/<name>.rs`, and its line in [`tasks()`] |
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

pub mod self_test;

pub use peers::{Peer, PeerState, insecure_seed};

use candor_lab::Task;

/// All tasks, in the order in which they are listed and run.
#[must_use]
pub fn tasks() -> Vec<Task> {
    let mut tasks = Vec::new();
    tasks.extend(tasks::ml_kem::tasks());
    tasks.extend(tasks::x25519::tasks());
    tasks.extend(tasks::hash::tasks());
    tasks.extend(tasks::mac::tasks());
    tasks.extend(tasks::kdf::tasks());
    tasks.extend(tasks::ksf::tasks());
    tasks.extend(tasks::ntor::tasks());
    tasks.extend(tasks::opaque::tasks());
    tasks.extend(tasks::oprf::tasks());
    tasks.extend(tasks::gf2::tasks());
    tasks.extend(tasks::gf2m::tasks());
    tasks.extend(tasks::relay_cells::tasks());
    tasks.extend(tasks::circuit::tasks());
    tasks
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
