//! Sorting in constant time.

use crate::kernels::sort;

/// Sorts on some arm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sorter;

impl Sorter {
    /// Sorts each block of `block` numbers below 2³¹; `block` is a power of two that divides their count.
    pub(super) fn sort_blocks(self, numbers: &mut [u32], block: usize) {
        sort::sort_blocks(numbers, block);
    }

    /// Sorts a power of two of numbers below 2⁶³.
    pub(super) fn sort(self, numbers: &mut [u64]) {
        sort::sort_blocks(numbers, numbers.len());
    }
}
