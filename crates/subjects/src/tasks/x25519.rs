//! `ec/x25519/{keygen,ecdh}`: X25519, RFC 7748; `ec/x25519/ecdh-pair`, two agreements; and `…-batch8`, eight operations of one kind.

use super::one_after_another;
use crate::ours;
use candor_lab::Task;
use candor_peers::contract::x25519::{Op, Several, ecdh_inputs};

/// All tasks of X25519.
pub(super) fn tasks() -> Vec<Task> {
    let single = [("keygen", Op::Keygen), ("ecdh", Op::Ecdh)].into_iter().map(|(name, op)| task(name, op));
    single.chain(Several::ALL.into_iter().map(|(several, name)| at_once(name, several))).collect()
}

fn task(name: &str, op: Op) -> Task {
    let mut task = Task::new(format!("ec/x25519/{name}"), format!("X25519: {}", op.timed()));
    task.entries.extend(singles(op));
    if op == Op::Ecdh { task.inputs(ecdh_inputs) } else { task }
}

fn singles(op: Op) -> impl Iterator<Item = candor_lab::Entry> {
    let by_aws_lc = std::iter::once(ours::x25519::by_aws_lc(op));
    by_aws_lc.chain(ours::x25519::own(op)).chain(candor_peers::x25519(op))
}

/// In one call where the subject's name has a +, else one after another.
fn at_once(name: &str, several: Several) -> Task {
    let what = format!(
        "X25519: {count} operations {}, all at once and each with its own key where the subject's name has a + (our {}), else one after another with \
         one key; times are those of all {count}",
        if several.op() == Op::Keygen { "keygen" } else { "ecdh" },
        if several == Several::Pair { "pairs" } else { "batches" },
        count = several.count(),
    );
    let mut task = Task::new(format!("ec/x25519/{name}"), what);
    task.entries.extend(ours::x25519::at_once(several));
    let singles = singles(several.op()).map(|entry| several.one_after_another(entry));
    task.entries.extend(one_after_another(singles));
    task
}
