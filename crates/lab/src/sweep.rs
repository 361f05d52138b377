//! A sweep: work in shards, on as many machines as one likes, that can be killed at any time and started again.
//!
//! A *recipe* (TOML, written by people) says what is wanted. A [`Plan`] (sealed JSON Lines, written by `candor sweep plan`) says it without anything that could be
//! otherwise elsewhere: tasks by their names, topologies by their text. A shard is a number: what it does follows from the plan alone. A [`Sweep`] is the folder with
//! the plan and the shards that are done:
//!
//! ```text
//! plan.jsonl            the plan
//! costs/RUN.jsonl       runs that the plan names
//! slurm.sh              the plan as a job array
//! shards/000003/        a shard that is done: its data, and shard.jsonl, which has the digests of plan and data
//! .work/000003.lock     held by the process that does the shard
//! .work/000003/         what it has written so far
//! .work/000003.failed   why it could not be done
//! ```
//!
//! What is measured takes its machine for itself, by another lock in the machine's temporary folder ([`Host`]).
//!
//! A shard's folder is renamed to its place when all of it is on the disk, so it is there as a whole or not at all. The lock is the kernel's (`flock`) and ends with
//! its process, however that ends. Nothing else is shared between machines: no server, no database.
//!
//! The lab does not know what a shard of circuits is; it only numbers and keeps them.

mod host;
mod plan;
mod recipe;
mod seal;
mod store;

pub use host::{Host, Use};
pub use plan::{Block, Circuits, CostsOf, MOST_SHARDS, Plan, Runs, Work};
pub use recipe::{CircuitsWanted, Recipe, RunsWanted};
pub use store::{Claim, Claimed, Done, State, Sweep};
