//! The portable arm.

use super::Set;
use candor_cpu::barrier;

#[inline(never)] // a function of its own, so that the gate finds it by name
pub(crate) fn reed_solomon_encode(set: Set, message: &[u8], codeword: &mut [u8]) {
    super::reed_solomon_encode(set, message, codeword);
}

#[inline(never)]
pub(crate) fn reed_solomon_decode(set: Set, word: &mut [u8]) {
    super::reed_solomon_decode(set, word);
}

#[inline(never)]
pub(crate) fn reed_muller_decode(set: Set, words: &[u64], symbols: &mut [u8]) {
    super::reed_muller_decode(set, words, symbols);
}

#[inline(never)]
pub(crate) fn distinct(positions: &mut [u32]) {
    super::support::distinct(positions);
}

#[inline(never)]
pub(crate) fn contains(positions: &[u32], position: u32) -> u8 {
    super::support::contains(positions, position)
}

#[inline(never)]
pub(crate) fn scatter(positions: &[u32], words: &mut [u64]) {
    super::support::scatter(positions, words);
}

#[inline(never)]
pub(crate) fn sparse_product(
    n: usize,
    twice: &[u64],
    positions: &[u32],
    here: &mut [u64],
    there: &mut [u64],
    sum: &mut [u64],
) {
    // Word by word: memcheck reports each vector shift by a secret number, as those of SSE2 would be, though they take the same time.
    super::sparse::product(barrier::opaque_u64, n, twice, positions, here, there, sum);
}
