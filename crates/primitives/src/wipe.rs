//! Overwriting secrets with whole vectors of zeros.

use zeroize::{DefaultIsZeroes, optimization_barrier};

/// Writes zeros over all of it, and the compiler can't leave that out.
///
/// `Zeroize` promises the same with a store for each element. For bytes that took longer than the work before it: 512 bytes of key stream
/// cost twice what the cipher did.
#[inline(always)]
pub(crate) fn wipe<T: DefaultIsZeroes>(room: &mut [T]) {
    room.fill(T::default());
    optimization_barrier(room);
}
