//! `ec/{p256,p384,secp256k1}/{keygen,sign,verify,ecdh}`: ECDSA, FIPS 186-5, and ECDH, SP 800-56A.

use crate::ours::ec::{CURVES, Entries};
use candor_lab::Task;
use candor_peers::contract::ec::{Curve, Op};

/// All tasks of the curves that we have.
pub(super) fn tasks() -> Vec<Task> {
    let of = |&(curve, own)| Op::ALL.map(|(name, op)| task(curve, own, name, op));
    CURVES.iter().flat_map(of).collect()
}

fn task(curve: Curve, own: Entries, name: &str, op: Op) -> Task {
    let mut task = Task::new(format!("ec/{}/{name}", curve.name()), format!("{}: {}", curve.title(), op.timed()));
    task.entries.extend(own(curve, op).into_iter().chain(candor_peers::ec(curve, op)));
    task
}
