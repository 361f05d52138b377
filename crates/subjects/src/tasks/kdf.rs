//! `kdf/hkdf-sha256`: HKDF (RFC 5869) over SHA-256, extract and expand.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::kdf::TIMED;

/// The task.
pub(super) fn tasks() -> Vec<Task> {
    let mut task = Task::new("kdf/hkdf-sha256", format!("HKDF (RFC 5869) over SHA-256: {TIMED}"));
    task.entries.extend(ours::hash::hkdf());
    task.entries.extend(candor_peers::hkdf());
    vec![task]
}
