//! Comparison of shared secrets.

use candor_cpu::{Cpu, secret};
use candor_primitives::SharedSecret;
use std::hint::black_box;
use subtle::ConstantTimeEq;

/// Equal ones, and ones that differ in the first and in the last byte; only the answer is public.
pub(crate) fn compare(_: Cpu) {
    for (at, same) in [(None, 1), (Some(0), 0), (Some(31), 0)] {
        let (ours, mut theirs) = ([7; 32], [7; 32]);
        if let Some(at) = at {
            theirs[at] ^= 1;
        }
        let (ours, theirs) = (SharedSecret::from(ours), SharedSecret::from(theirs));
        secret::poison(ours.as_bytes());
        secret::poison(theirs.as_bytes());
        for answer in [black_box(&ours).ct_eq(&theirs).unwrap_u8(), u8::from(black_box(&ours) == &theirs)] {
            assert_eq!(secret::declassified(answer, "equality"), same);
        }
    }
}
