//! Tasks, and our subjects: the only place where candor's products, other people's libraries and the lab meet.
//!
//! `tasks/` says what is measured and under which names, `ours/` has candor's own subjects, and other people's libraries come from
//! `candor-peers`, with the traits that all of them implement. To add a task, write `tasks/<name>.rs` and its line in `tasks.rs`.
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

mod ffi;
mod ours;
mod tasks;

pub mod arms;
pub mod differential;
pub mod self_test;

pub use candor_peers::{Peer, PeerState, peers};
pub use tasks::{tasks, tasks_near, tour};

/// Puts the user's tables of gf2's plans in force (`CANDOR_GF2_PLANS`, or `~/.config/candor/gf2-ARM.plan`). For a program's `main`: every
/// process of a run must have the same.
///
/// # Errors
/// Says which file is wrong, and why.
pub fn load_user_plans() -> Result<(), String> {
    candor_gf2::plan::load_user().map(drop).map_err(|error| error.to_string())
}
