//! Columns of the parity-check matrix (specification, section 2.3): column j has the m bits of αⱼⁱ/g(αⱼ) for i = 0, …, t − 1.
//!
//! They are made when they are needed, so that the matrix is never stored.

use super::arm_mux::Arm;
use super::parameters::{MOST_ERRORS, Parameters};
use super::permutation::{self, Order};
use super::transform::Table;
use crate::kernels::mceliece::columns::COLUMNS;
use crate::kernels::mceliece::rows::HEIGHT;
use crate::words::Wiped;
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// Bytes in a row of a tile: 256 columns.
pub(super) const TILE: usize = COLUMNS / 8;

/// 1/g of every element, in the order of their numbers.
pub(super) fn inverses(arm: Arm, parameters: &Parameters, g: &[u16]) -> Zeroizing<Vec<u16>> {
    let mut monic = Zeroizing::new([0; MOST_ERRORS + 1]);
    monic[..g.len()].copy_from_slice(g);
    monic[g.len()] = 1;
    let monic = &monic[..=g.len()];
    match parameters.m {
        12 => inverses_in_field::<12, 16>(arm, monic),
        _ => inverses_in_field::<13, 32>(arm, monic),
    }
}

fn inverses_in_field<const M: usize, const Q: usize>(arm: Arm, g: &[u16]) -> Zeroizing<Vec<u16>> {
    let mut values = Table::<M, Q>::of_polynomial(arm, g);
    arm.invert(&mut values);
    values.to_elements()
}

/// What the columns are made of.
pub(super) struct Columns<'a> {
    arm: Arm,
    parameters: &'a Parameters,
    /// Numbers of the elements α₀ ….
    numbers: &'a [u16],
    /// 1/g of the same elements.
    inverses: &'a [u16],
}

impl<'a> Columns<'a> {
    /// Of the elements of `order`, whose values are 1/g.
    pub(super) fn new(arm: Arm, parameters: &'a Parameters, order: &'a Order) -> Self {
        let n = parameters.n;
        Self { arm, parameters, numbers: &order.numbers[..n], inverses: &order.values[..n] }
    }

    /// Rows of a tile: those of the matrix, and rows of zeros up to a multiple of [`HEIGHT`].
    pub(super) fn height(parameters: &Parameters) -> usize {
        parameters.rows().next_multiple_of(HEIGHT)
    }

    /// Writes columns `first` to `first + 255` into a tile of as many columns and [`Self::height`] rows. Columns from n on are zero.
    pub(super) fn fill(&self, first: usize, tile: &mut [u8]) {
        match self.parameters.m {
            12 => self.fill_in_field::<12>(first, tile),
            _ => self.fill_in_field::<13>(first, tile),
        }
    }

    fn fill_in_field<const M: usize>(&self, first: usize, tile: &mut [u8]) {
        let range = first..self.numbers.len().min(first + COLUMNS);
        let mut elements = Wiped::<u16, COLUMNS>::zero();
        for (element, number) in elements.iter_mut().zip(&self.numbers[range.clone()]) {
            *element = permutation::element(self.parameters, *number);
        }
        let mut values = Wiped::<u16, COLUMNS>::zero();
        values[..range.len()].copy_from_slice(&self.inverses[range]);
        self.arm.fill_columns::<M>(&elements, &values, self.parameters.t, Self::height(self.parameters), tile);
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters;
    use super::super::tests::arms;
    use super::*;
    use crate::kernels::mceliece::field;
    use candor_test_support::Random;

    fn check<const M: usize>(arm: Arm, set: &Parameters) {
        let mut random = Random::new(6);
        let g: Vec<u16> = (0..set.t).map(|_| random.word() as u16 & field::mask::<M>()).collect();
        let inverses = inverses(arm, set, &g);
        let numbers: Vec<u16> = (0..set.q() as u16).map(|i| (i * 5 + 3) & field::mask::<M>()).collect();
        let values: Vec<u16> = numbers.iter().map(|number| inverses[usize::from(*number)]).collect();
        let order = Order { numbers: Zeroizing::new(numbers.clone()), values: Zeroizing::new(values) };
        let columns = Columns::new(arm, set, &order);
        let height = Columns::height(set);
        for first in [0, 77, set.n - 100] {
            let mut tile = vec![0; TILE * height];
            columns.fill(first, &mut tile);
            for at in [0, 1, 63, 99, 100, 255] {
                let bit = |row: usize| u16::from(tile[at / 8 * height + row] >> (at % 8) & 1);
                let x = numbers.get(first + at).map_or(0, |number| number.reverse_bits() >> (16 - M));
                let value = g.iter().rev().fold(1, |value, g| field::times::<M>(value, x) ^ g);
                let mut power = field::inverse::<M>(value);
                for i in 0..set.t {
                    let found = (0..M).fold(0, |sum, b| sum | bit(i * M + b) << b);
                    assert_eq!(found, if first + at < set.n { power } else { 0 }, "column {first} + {at}, power {i}");
                    power = field::times::<M>(power, x);
                }
                assert!((set.rows()..height).all(|row| bit(row) == 0));
            }
        }
    }

    #[test]
    fn columns_are_those_of_the_definition() {
        for arm in arms() {
            check::<12>(arm, &parameters::MCELIECE_348864);
            check::<13>(arm, &parameters::MCELIECE_6960119);
            check::<13>(arm, &parameters::MCELIECE_8192128);
        }
    }
}
