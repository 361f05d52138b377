//! `file/hash/sha256/{1m,1g}`: a file by programs, each started anew. A gigabyte takes long, and who asks for a hash does not ask for processes: only
//! their own names select them.

use crate::ours;
use candor_lab::{SelectedBy, Task};
use candor_peers::contract::file_hash::TIMED;

/// Name and length of the files.
const SIZES: [(&str, u64); 2] = [("1m", 1 << 20), ("1g", 1 << 30)];

/// The tasks.
pub(super) fn tasks() -> Vec<Task> {
    SIZES.map(|(name, bytes)| task(name, bytes)).into()
}

fn task(name: &str, bytes: u64) -> Task {
    let what = format!(
        "SHA-256 (FIPS 180-4) of a file of {bytes} bytes, a process for each: {TIMED}; the file is a hole between 64 KB from the seed at each end, so \
         that no disk is busy with it"
    );
    let mut task = Task::new(format!("file/hash/sha256/{name}"), what).bytes(bytes).selected_by(SelectedBy::Beginning);
    task.entries.push(ours::file::sha256(bytes));
    task.entries.extend(candor_peers::file_sha256(bytes));
    task
}
