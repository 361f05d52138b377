//! `mac/hmac-<hash>/{1k,64k}`: HMAC (FIPS 198-1, RFC 2104) of one message, under a key that the library already has.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::hash::Algorithm;
use candor_peers::contract::mac::{TIMED, inputs};

/// The hash functions that HMAC is measured over.
const HASHES: [Algorithm; 3] = [Algorithm::Sha256, Algorithm::Sha512, Algorithm::Sm3];

/// Name and length of the messages.
const SIZES: [(&str, usize); 2] = [("1k", 1 << 10), ("64k", 64 << 10)];

/// All tasks of HMAC.
pub(super) fn tasks() -> Vec<Task> {
    let of = |hash| SIZES.into_iter().map(move |(name, bytes)| task(hash, name, bytes));
    HASHES.into_iter().flat_map(of).collect()
}

fn task(hash: Algorithm, name: &str, bytes: usize) -> Task {
    let what = format!("HMAC (FIPS 198-1) over {} of {bytes} bytes: {TIMED}", hash.title());
    let mut task = Task::new(format!("mac/hmac-{}/{name}", hash.name()), what).bytes(bytes as u64);
    task = task.inputs(move |seed| inputs(bytes, seed));
    task.entries.extend(ours::hash::hmac(hash, bytes));
    task.entries.extend(candor_peers::hmac(hash, bytes));
    task
}
