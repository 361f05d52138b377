//! Columns of the parity-check matrix (specification, section 2.3): column j has the m bits of αⱼⁱ/g(αⱼ) for i = 0, …, t − 1.
//!
//! They are made when they are needed, so that the matrix is never stored.

use super::key_mux::Arm;
use super::parameters::Parameters;
use super::permutation::{self, Order};
use crate::kernels::mceliece::planes::{self, LANES};
use crate::kernels::mceliece::rows::ROWS;
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// Bytes in a row of a tile: 256 columns.
pub(super) const TILE: usize = LANES / 8;

/// 1/g of every element, in the order of their numbers.
pub(super) fn inverses(_arm: Arm, parameters: &Parameters, g: &[u16]) -> Zeroizing<Vec<u16>> {
    match parameters.m {
        12 => inverses_in_field::<12>(parameters, g),
        _ => inverses_in_field::<13>(parameters, g),
    }
}

fn inverses_in_field<const M: usize>(parameters: &Parameters, g: &[u16]) -> Zeroizing<Vec<u16>> {
    let mut all = Zeroizing::new(Vec::with_capacity(1 << M));
    for first in (0..1 << M).step_by(LANES) {
        let elements: [u16; LANES] = core::array::from_fn(|i| permutation::element(parameters, first + i as u16));
        let x = planes::gather::<M>(&elements);
        let one = planes::all(1);
        let value = g.iter().rev().fold(one, |value, g| planes::plus(&planes::times(&value, &x), &planes::all(*g)));
        let inverse = planes::inverse(&value);
        all.extend((0..LANES).map(|i| planes::lane(&inverse, i)));
    }
    all
}

/// What the columns are made of.
pub(super) struct Columns<'a> {
    parameters: &'a Parameters,
    /// Numbers of the elements α₀ ….
    numbers: &'a [u16],
    /// 1/g of the same elements.
    inverses: &'a [u16],
}

impl<'a> Columns<'a> {
    /// Of the elements of `order`, whose values are 1/g.
    pub(super) fn new(_arm: Arm, parameters: &'a Parameters, order: &'a Order) -> Self {
        let n = parameters.n;
        Self { parameters, numbers: &order.numbers[..n], inverses: &order.values[..n] }
    }

    /// Rows of a tile: those of the matrix, and rows of zeros up to a multiple of [`ROWS`].
    pub(super) fn height(parameters: &Parameters) -> usize {
        parameters.rows().next_multiple_of(ROWS)
    }

    /// Writes columns `first` to `first + 255` into a tile of as many columns and [`Self::height`] rows. Columns from n on are zero.
    pub(super) fn fill(&self, first: usize, tile: &mut [u8]) {
        match self.parameters.m {
            12 => self.fill_in_field::<12>(first, tile),
            _ => self.fill_in_field::<13>(first, tile),
        }
    }

    fn fill_in_field<const M: usize>(&self, first: usize, tile: &mut [u8]) {
        let range = first..self.numbers.len().min(first + LANES);
        let mut elements = Zeroizing::new([0; LANES]);
        for (element, number) in elements.iter_mut().zip(&self.numbers[range.clone()]) {
            *element = permutation::element(self.parameters, *number);
        }
        let x = planes::gather::<M>(&*elements);
        let mut value = planes::gather::<M>(&self.inverses[range]);
        let height = Self::height(self.parameters);
        for i in 0..self.parameters.t {
            for (bit, plane) in value.iter().enumerate() {
                let bytes = plane.iter().flat_map(|word| word.to_le_bytes());
                tile[i * M + bit..].iter_mut().step_by(height).zip(bytes).for_each(|(to, byte)| *to = byte);
            }
            value = planes::times(&value, &x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{field, parameters};
    use super::*;
    use candor_test_support::Random;

    fn check<const M: usize>(set: &Parameters) {
        let mut random = Random::new(6);
        let g: Vec<u16> = (0..set.t).map(|_| random.word() as u16 & field::mask::<M>()).collect();
        let inverses = inverses(Arm::default(), set, &g);
        let numbers: Vec<u16> = (0..set.q() as u16).map(|i| (i * 5 + 3) & field::mask::<M>()).collect();
        let values: Vec<u16> = numbers.iter().map(|number| inverses[usize::from(*number)]).collect();
        let order = Order { numbers: Zeroizing::new(numbers.clone()), values: Zeroizing::new(values) };
        let columns = Columns::new(Arm::default(), set, &order);
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
        check::<12>(&parameters::MCELIECE_348864);
        check::<13>(&parameters::MCELIECE_6960119);
        check::<13>(&parameters::MCELIECE_8192128);
    }
}
