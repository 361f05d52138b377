//! Operations that leave secrets behind on purpose, and some that don't: what the program must tell apart.

use crate::case::{Case, Expect, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroize;

type Key = [u8; 16];

pub(super) fn cases() -> Vec<Case> {
    let control = |what: &str, expect, run| Case {
        name: format!("control/{what}"),
        tier: "portable",
        expect,
        leaves: &[],
        unstable: 0,
        run,
    };
    vec![
        control("copy-of-a-key", Expect::OnTheStack, copy),
        control("derived-from-a-key", Expect::OnTheStack, derived),
        control("freed-key", Expect::OnTheHeap, freed),
        control("grown-buffer", Expect::OnTheHeap, grown),
        control("other-each-time", Expect::Unrepeatable, other_each_time),
        control("wiped-copy", Expect::Nothing, wiped),
        control("message", Expect::Nothing, sent),
        Case { leaves: &[ANY_SECRET], ..control("permitted-copy", Expect::Unnamed, copy) },
        Case {
            leaves: &[Leaves { names: &["key"], ..ANY_SECRET }],
            ..control("permitted-copy-by-name", Expect::Nothing, copy)
        },
    ]
}

const ANY_SECRET: Leaves = Leaves { step: "copy", stack: 64, heap: 0, names: &[], why: "a control" };

fn copy(probe: &mut Probe, _: Cpu) {
    let key: Key = probe.secret("key");
    step!(probe, "copy", [key: &Key = &key], {
        black_box(&{ *key });
    });
}

/// Nothing in it looks like the key.
fn derived(probe: &mut Probe, _: Cpu) {
    let key: Key = probe.secret("key");
    step!(probe, "derive", [key: &Key = &key], {
        let word = u128::from_le_bytes(*key);
        black_box(&[3, 5, 7].map(|factor: u128| word.wrapping_mul(factor).rotate_left(29)));
    });
}

fn freed(probe: &mut Probe, _: Cpu) {
    let key: Key = probe.secret("key");
    step!(probe, "free", [key: &Key = &key], drop(black_box(key.to_vec())));
}

/// The buffer is wiped at its end, but has moved before.
fn grown(probe: &mut Probe, _: Cpu) {
    let key: Key = probe.secret("key");
    step!(probe, "grow", [key: &Key = &key], {
        let mut buffer = black_box(key.to_vec());
        buffer.reserve(1000);
        buffer.zeroize();
    });
}

fn other_each_time(probe: &mut Probe, _: Cpu) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    step!(probe, "count", [], {
        black_box(&[CALLS.fetch_add(0x0101010101010101, Ordering::Relaxed); 100]);
    });
}

fn wiped(probe: &mut Probe, _: Cpu) {
    let key: Key = probe.secret("key");
    step!(probe, "wipe", [key: &Key = &key], {
        let mut copy = [0; 16];
        copy.copy_from_slice(key);
        black_box(&copy);
        copy.zeroize();
    });
}

/// What is sent may stay.
fn sent(probe: &mut Probe, _: Cpu) {
    let message: Key = probe.secret("message");
    probe.public(&message);
    step!(probe, "send", [message: &Key = &message], {
        black_box(&{ *message });
    });
}
