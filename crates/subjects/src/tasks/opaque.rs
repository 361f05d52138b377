//! `opaque/<suite>/{register,login,server-ke2,client-start,client-finish}` and `opaque/hybrid/{server-ke2-many,unknown-user}`: OPAQUE
//! (RFC 9807) and its hybrids, from bytes to bytes, without key stretching (that is `ksf/argon2id`); `opaque/parts/…` and `opaque/oprf/…`: the
//! operations in it.

mod many;
mod unknown;

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::opaque::{Op, Suite, parts};
use candor_peers::contract::oprf;

/// All tasks of OPAQUE.
pub(super) fn tasks() -> Vec<Task> {
    let mut tasks = Vec::new();
    for suite in Suite::ALL {
        tasks.extend(Op::ALL.map(|op| task(suite, op)));
    }
    tasks.extend([many::task(), unknown::task()]);
    tasks.extend(parts::Op::ALL.map(part));
    tasks
}

fn task(suite: Suite, op: Op) -> Task {
    let (what, [ke1, ke2, ke3]) = suite.what();
    let timed = op.timed();
    let sentence = format!("{what} (KE1 {ke1}, KE2 {ke2}, KE3 {ke3} bytes): {timed}");
    let mut task = Task::new(format!("opaque/{}/{}", suite.name(), op.name()), sentence);
    task.entries.push(ours::opaque(suite, op));
    task.entries.extend(candor_peers::opaque(suite, op, &ours::opaque::REFERENCE));
    task
}

fn part(op: parts::Op) -> Task {
    let mut task = Task::new(format!("opaque/parts/{}", op.name()), format!("ristretto255: {}", op.timed()));
    task.entries.push(ours::ristretto(op));
    task.entries.extend(candor_peers::ristretto(op));
    task
}

/// All tasks of the OPRF.
pub(super) fn oprf_tasks() -> Vec<Task> {
    oprf::Op::ALL.map(oprf_task).into()
}

fn oprf_task(op: oprf::Op) -> Task {
    let what = format!("OPRF(ristretto255, SHA-512) of RFC 9497: {}", op.timed());
    let mut task = Task::new(format!("opaque/oprf/{}", op.name()), what);
    task.entries.push(ours::oprf(op));
    task.entries.extend(candor_peers::oprf(op));
    task
}
