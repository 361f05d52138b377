//! `cipher/sm4-ctr/{64,256,1k,64k,1m,10m}`, `cipher/sm4-cbc/{decrypt,encrypt}/…`: a message in place, under a key that the library already has; and
//! `cipher/sm4-ctr/new`: the set-up of a key.

use super::aead::SIZES;
use crate::ours;
use candor_lab::Task;
use candor_peers::contract::cipher::{MODES, Mode, Op};

/// All tasks of ciphers.
pub(super) fn tasks() -> Vec<Task> {
    let of =
        |mode| SIZES.into_iter().map(move |(name, bytes)| task(mode, name, Op::Message(bytes)).bytes(bytes as u64));
    MODES.into_iter().flat_map(of).chain([task(Mode::Ctr, "new", Op::New)]).collect()
}

fn task(mode: Mode, name: &str, op: Op) -> Task {
    let length = if let Op::Message(bytes) = op { format!(" of {bytes} bytes") } else { String::new() };
    let what = format!("{} (GB/T 32907){length}: {}", mode.title(), op.timed());
    let mut task = Task::new(format!("cipher/{}/{name}", mode.name()), what);
    task.entries.extend(ours::cipher::sm4(mode, op));
    task.entries.extend(candor_peers::cipher(mode, op));
    task
}
