//! Which arm of the kernels of key generation runs.

use crate::kernels::mceliece::{pivots, rows, sort};

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy, Default)]
pub(super) enum Arm {
    /// Safe Rust.
    #[default]
    Portable,
}

impl Arm {
    pub(super) fn sort_blocks(self, numbers: &mut [u32], block: usize) {
        sort::sort_blocks(numbers, block);
    }
    pub(super) fn sort(self, numbers: &mut [u64]) {
        sort::sort_blocks(numbers, numbers.len());
    }
    pub(super) fn combine(self, tile: &mut [u8], height: usize, coefficients: &[u8], sources: &[u8]) {
        rows::combine(tile, height, coefficients, sources);
    }
    pub(super) fn find_pivots_among_few(self, rows: &[u64], count: usize, sums: &mut [u8]) {
        pivots::find_among_few(rows, count, sums);
    }
    pub(super) fn find_pivots(self, rows: &[u64], count: usize, sums: &mut [u8]) {
        pivots::find_among_all(rows, count, sums);
    }
}
