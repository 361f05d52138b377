//! `ffi/sha256/64`: what a call through the C interface costs besides its work.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::hash::Shape;

/// The task.
pub(super) fn tasks() -> Vec<Task> {
    let shape = Shape { messages: 1, bytes: 64 };
    let what = format!(
        "SHA-256 (FIPS 180-4) of {} bytes through the functions of candor.h, at their addresses, and by the calls of Rust below them: {}",
        shape.bytes,
        shape.timed()
    );
    let mut task = Task::new("ffi/sha256/64", what).bytes(shape.bytes as u64);
    task.entries.extend(ours::c_abi::sha256(shape));
    vec![task]
}
