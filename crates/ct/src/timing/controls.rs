//! Work that leaks a little on purpose, and the same work without the leak: what the measurement must tell apart.
//!
//! The work around the leak is a hash, so that the noise is that of the cases. It depends on its secret in no way that shows.

use crate::measure::Work;
use candor_cpu::Cpu;
use candor_primitives::hash::{Digest, Sha256};
use std::hint::black_box;

/// Bytes of secret input.
pub(crate) const SECRET: usize = 192;

/// A table that begins with a cache line.
#[repr(align(64))]
struct Table([u8; 128]);

static TABLE: Table = Table([7; 128]);

/// A hash and nothing else.
pub(crate) fn clean(cpu: Cpu) -> Work {
    Box::new(move |secret| _ = black_box(hashed(cpu, secret)))
}

/// A look-up in a table: half of the secrets read eight bytes that lie in two cache lines. That costs a cycle or a few, and there is no branch.
pub(crate) fn look_up(cpu: Cpu) -> Work {
    Box::new(move |secret| {
        let at = 56 + usize::from(secret[0] & 4);
        // The look-up waits for the hash, or it would hide behind it.
        let at = at + (black_box(hashed(cpu, secret)) & black_box(0));
        black_box(u64::from_le_bytes(*black_box(&TABLE).0[at..].first_chunk().expect("eight bytes in two lines")));
    })
}

/// A mask that became a branch: half of the secrets take it.
pub(crate) fn branch(cpu: Cpu) -> Work {
    Box::new(move |secret| {
        let sum = hashed(cpu, secret);
        if black_box(secret[0]) & 1 == 1 {
            black_box(sum.wrapping_mul(black_box(sum)));
        }
    })
}

fn hashed(cpu: Cpu, secret: &[u8]) -> usize {
    let mut hash = Sha256::with_cpu(cpu);
    hash.update(secret);
    usize::from(hash.finalize()[0])
}
