//! Hashes of secret messages. Lengths are public.

use candor_cpu::{Cpu, secret};
use candor_primitives::hash::{Digest, Sha256};

/// 200 secret bytes in two pieces, so that the buffer, whole blocks and padding all see them.
pub(crate) fn sha256(cpu: Cpu) {
    let message: [u8; 200] = core::array::from_fn(|i| i as u8);
    let expected = Sha256::digest(message);
    secret::arms();

    let poisoned = message;
    secret::poison(&poisoned);
    let mut hash = Sha256::with_cpu(cpu);
    hash.update(&poisoned[..71]);
    hash.update(&poisoned[71..]);
    let digest = hash.finalize();
    secret::declassify(&digest, "result");
    assert_eq!(digest, expected, "the result is wrong, so whatever ran was not SHA-256");
}
