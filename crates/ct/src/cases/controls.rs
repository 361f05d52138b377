//! Code that leaks on purpose, and code that doesn't: what the gate must tell apart.

use candor_cpu::{Cpu, barrier, secret};
use std::hint::black_box;

const TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (i as u8).wrapping_mul(167);
        i += 1;
    }
    table
};

fn secret_byte() -> u8 {
    let secret = black_box([0x5a]);
    secret::poison(&secret);
    black_box(secret)[0]
}

/// Branches on a secret bit.
pub(crate) fn branch(_: Cpu) {
    secret::ran("control", "branch");
    leak_by_branch(secret_byte());
}

#[inline(never)]
fn leak_by_branch(secret: u8) {
    if secret & 1 == 1 {
        black_box(work());
    }
}

#[inline(never)]
fn work() -> u64 {
    black_box(1)
}

/// Reads a table at a secret index.
pub(crate) fn index(_: Cpu) {
    secret::ran("control", "index");
    leak_by_index(secret_byte());
}

#[inline(never)]
fn leak_by_index(secret: u8) {
    black_box(black_box(&TABLE)[usize::from(secret)]);
}

/// Compares a secret tag byte by byte and stops at the first that differs.
pub(crate) fn early_exit(_: Cpu) {
    secret::ran("control", "early-exit");
    let (tag, received) = (black_box([0x5a; 16]), black_box([0x5a; 16]));
    secret::poison(&tag);
    // The answer is declassified, as a good comparison's is: that must not hide how it came about.
    let answer = secret::declassified(u8::from(leak_by_early_exit(&tag, &received)), "equality");
    assert_eq!(answer, 1);
}

#[inline(never)]
fn leak_by_early_exit(tag: &[u8; 16], received: &[u8; 16]) -> bool {
    // Without the box the compiler compares all sixteen at once.
    tag.iter().zip(received).all(|(ours, theirs)| black_box(*ours) == *theirs)
}

/// Selects by a mask: no report may come of it.
pub(crate) fn masks(_: Cpu) {
    secret::ran("control", "masks");
    let mask = barrier::mask_u64(u64::from(secret_byte() & 1));
    black_box((3 & mask) | (5 & !mask));
}

/// Declassifies as its result what no poison reaches.
pub(crate) fn never_secret(_: Cpu) {
    secret::ran("control", "never-secret");
    let (input, result) = (black_box([7]), black_box([7]));
    secret::poison(&input);
    secret::declassify(&result, "result");
}

/// Declassifies what was poisoned, in a register and in memory: the control of the control above.
pub(crate) fn was_secret(_: Cpu) {
    secret::ran("control", "was-secret");
    secret::takes("control", &black_box(secret_byte()));
    assert_eq!(secret::declassified(secret_byte(), "equality"), 0x5a);
    let result = black_box([secret_byte()]);
    secret::declassify(&result, "result");
    assert_eq!(result, [0x5a]);
}
