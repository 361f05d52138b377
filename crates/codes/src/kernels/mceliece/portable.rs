//! The portable arm.

use super::transform::Values;
use super::vector::{Portable, Row};
use super::{benes, locator as bm, parity, transform};

#[inline(never)] // a function of its own, so that the gate finds it by name
pub(crate) fn evaluate<const M: usize, const Q: usize>(coefficients: &[Row; M], values: &mut Values<M, Q>) {
    transform::evaluate::<Portable, M, Q>((), coefficients, values);
}

#[inline(never)]
pub(crate) fn power_sums<const M: usize, const Q: usize>(values: &mut Values<M, Q>) -> [Row; M] {
    transform::power_sums::<Portable, M, Q>((), values)
}

#[inline(never)]
pub(crate) fn invert<const M: usize, const Q: usize>(values: &mut Values<M, Q>) {
    super::invert::<Portable, M, Q>((), values);
}

#[inline(never)]
pub(crate) fn square<const M: usize, const Q: usize>(values: &mut Values<M, Q>) {
    super::square::<Portable, M, Q>((), values);
}

#[inline(never)]
pub(crate) fn locator<const M: usize>(syndromes: &[Row; M], t: usize) -> [Row; M] {
    bm::locator::<Portable, M>((), syndromes, t)
}

#[inline(never)]
pub(crate) fn permute(m: usize, control: &[u64], inverse: bool, bits: &mut [u64]) {
    benes::apply(m, control, inverse, bits);
}

#[inline(never)]
pub(crate) fn products(rows: &[u8], row_bytes: usize, pieces: &[[u8; 32]; parity::MOST_PIECES]) -> u64 {
    parity::products::<Portable>((), rows, row_bytes, pieces)
}
