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

/// Selects by a mask: no report may come of it.
pub(crate) fn masks(_: Cpu) {
    secret::ran("control", "masks");
    let mask = barrier::mask_u64(u64::from(secret_byte() & 1));
    black_box((3 & mask) | (5 & !mask));
}
