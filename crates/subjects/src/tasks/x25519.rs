//! `ec/x25519/{keygen,ecdh}`: X25519, RFC 7748.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::x25519::Op;

/// All tasks of X25519.
pub(super) fn tasks() -> Vec<Task> {
    [("keygen", Op::Keygen), ("ecdh", Op::Ecdh)].map(|(name, op)| task(name, op)).into()
}

fn task(name: &str, op: Op) -> Task {
    let mut task = Task::new(format!("ec/x25519/{name}"), format!("X25519: {}", op.timed()));
    task.entries.push(ours::x25519(op));
    task.entries.extend(candor_peers::x25519(op));
    task
}
