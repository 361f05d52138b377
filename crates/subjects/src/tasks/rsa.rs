//! `rsa/{2048,3072,4096}/{keygen,oaep-encrypt,oaep-decrypt,pss-sign,pss-verify}`: RSA, FIPS 186-5 and RFC 8017.

use crate::ours::rsa::entries;
use candor_lab::Task;
use candor_lab::plan::FEWEST_ROUNDS;
use candor_lab::stats::fewest_processes;
use candor_peers::contract::rsa::{Op, Size};

/// All tasks of the three sizes.
pub(super) fn tasks() -> Vec<Task> {
    Size::ALL.into_iter().flat_map(|size| Op::ALL.map(|(name, op)| task(size, name, op))).collect()
}

fn task(size: Size, name: &str, op: Op) -> Task {
    let bits = size.bits();
    let mut task =
        Task::new(format!("rsa/{bits}/{name}"), format!("RSA of {bits} bits: {}{}", op.timed(size), keys(size, op)));
    task.entries.extend(entries(size, op).into_iter().chain(candor_peers::rsa(size, op)));
    task
}

/// How many keys a run makes at least, by the fewest rounds and processes of a verdict; `--quick` makes no fewer.
fn keys(size: Size, op: Op) -> String {
    let least = size.keys() * FEWEST_ROUNDS * fewest_processes(1);
    let told = || format!("; a run that gives a verdict makes at least {least} by each subject");
    (op == Op::Keygen).then(told).unwrap_or_default()
}
