//! Polynomials over the field at all its elements.

use super::arm_mux::Arm;
use crate::kernels::mceliece::transform::Values;
use crate::kernels::mceliece::vector::Row;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use zeroize::{Zeroizing, optimization_barrier};

/// A value for each element of the field, on the heap and wiped on drop. Point number p is the element whose coefficient of z^(M−1−i) is
/// bit i of p.
pub(crate) struct Table<const M: usize, const Q: usize>(Box<Values<M, Q>>);

impl<const M: usize, const Q: usize> Table<M, Q> {
    /// Zeros.
    pub(crate) fn zero() -> Self {
        let planes = vec![[Row::ZERO; Q]; M].into_boxed_slice();
        Self(planes.try_into().unwrap_or_else(|_| unreachable!("there are M planes")))
    }

    /// The values of a polynomial, coefficients from the lowest; its degree is at most 2^(M−6).
    pub(crate) fn of_polynomial(arm: Arm, coefficients: &[u16]) -> Self {
        let mut values = Self::zero();
        arm.evaluate(&rows::<M>(coefficients), &mut values.0);
        values
    }

    /// The values as numbers, in the order of the points.
    pub(crate) fn to_elements(&self) -> Zeroizing<Vec<u16>> {
        let mut elements = Zeroizing::new(vec![0; 256 * Q]);
        for (bit, plane) in self.0.iter().enumerate() {
            for (word, elements) in plane.iter().flat_map(|row| &row.0).zip(elements.as_chunks_mut::<64>().0) {
                for (i, element) in elements.iter_mut().enumerate() {
                    *element |= ((word >> i & 1) as u16) << bit;
                }
            }
        }
        elements
    }
}

impl<const M: usize, const Q: usize> Deref for Table<M, Q> {
    type Target = Values<M, Q>;
    fn deref(&self) -> &Values<M, Q> {
        &self.0
    }
}

impl<const M: usize, const Q: usize> DerefMut for Table<M, Q> {
    fn deref_mut(&mut self) -> &mut Values<M, Q> {
        &mut self.0
    }
}

impl<const M: usize, const Q: usize> Drop for Table<M, Q> {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(Row::ZERO);
        optimization_barrier(&*self.0);
    }
}

/// Up to 256 elements as planes of bits.
pub(crate) fn rows<const M: usize>(elements: &[u16]) -> [Row; M] {
    core::array::from_fn(|bit| {
        let mut row = Row::ZERO;
        for (i, element) in elements.iter().enumerate() {
            row[i / 64] |= u64::from(element >> bit & 1) << (i % 64);
        }
        row
    })
}

/// The values of a polynomial at the 2^m elements of GF(2^m), m = 12 or 13, in the order of the points ([`Table`]). The degree is at most
/// 64 or 128; `coefficients` come from the lowest.
///
/// # Panics
/// If `m` is another.
#[cfg(test)]
pub(crate) fn evaluate(arm: Arm, m: usize, coefficients: &[u16]) -> Zeroizing<Vec<u16>> {
    match m {
        12 => Table::<12, 16>::of_polynomial(arm, coefficients).to_elements(),
        13 => Table::<13, 32>::of_polynomial(arm, coefficients).to_elements(),
        _ => panic!("the fields of Classic McEliece have 12 or 13 bits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::mceliece::field::times;
    use crate::mceliece::tests::{arms, random};

    /// The element that is point number p.
    fn point<const M: usize>(p: usize) -> u16 {
        (p as u16).reverse_bits() >> (16 - M)
    }

    fn horner<const M: usize>(coefficients: &[u16], x: u16) -> u16 {
        coefficients.iter().rev().fold(0, |sum, c| times::<M>(sum, x) ^ c)
    }

    fn values_are_horners<const M: usize, const Q: usize>() {
        let mut random = random(M as u64);
        for arm in arms() {
            for degree in [0, 1, 2, 31, 63, (1 << (M - 6)) - 1, 1 << (M - 6)] {
                let coefficients: Vec<u16> = (0..=degree).map(|_| random() as u16 & ((1 << M) - 1)).collect();
                let values = Table::<M, Q>::of_polynomial(arm, &coefficients).to_elements();
                for (p, value) in values.iter().enumerate() {
                    let expected = horner::<M>(&coefficients, point::<M>(p));
                    assert_eq!(*value, expected, "degree {degree} at point {p}, {}", arm.name());
                }
            }
        }
    }

    #[test]
    fn values_are_those_of_horners_rule() {
        values_are_horners::<12, 16>();
        values_are_horners::<13, 32>();
    }

    fn sums_of_one_point<const M: usize, const Q: usize>() {
        for arm in arms() {
            for p in [0, 1, 2, 5, 63, 64, 100, 1000, 1023, (1 << M) - 1] {
                let mut table = Table::<M, Q>::zero();
                let weight = 0x5a3;
                for bit in 0..M {
                    table[bit][p / 256][p / 64 % 4] = u64::from(weight >> bit & 1u16) << (p % 64);
                }
                let sums = arm.power_sums(&mut table);
                let mut expected = weight;
                for e in 0..1 << (M - 5) {
                    let found = (0..M).fold(0, |sum, bit| sum | ((sums[bit][e / 64] >> (e % 64) & 1) as u16) << bit);
                    assert_eq!(found, expected, "power {e} of point {p}, {}", arm.name());
                    expected = times::<M>(expected, point::<M>(p));
                }
            }
        }
    }

    #[test]
    fn power_sums_of_one_point_are_its_powers() {
        sums_of_one_point::<12, 16>();
        sums_of_one_point::<13, 32>();
    }

    fn transposed<const M: usize, const Q: usize>() {
        let mut random = random(7 * M as u64);
        for arm in arms() {
            let coefficients: Vec<u16> = (0..=1 << (M - 6)).map(|_| random() as u16 & ((1 << M) - 1)).collect();
            let values = Table::<M, Q>::of_polynomial(arm, &coefficients).to_elements();
            let mut weights = Table::<M, Q>::zero();
            weights.as_flattened_mut().iter_mut().for_each(|row| row.fill_with(&mut random));
            let numbers = weights.to_elements();
            let sums = arm.power_sums(&mut weights);
            let of = |e: usize| (0..M).fold(0, |sum, bit| sum | ((sums[bit][e / 64] >> (e % 64) & 1) as u16) << bit);
            let one = values.iter().zip(&*numbers).fold(0, |sum, (a, b)| sum ^ times::<M>(*a, *b));
            let other = coefficients.iter().enumerate().fold(0, |sum, (e, c)| sum ^ times::<M>(*c, of(e)));
            assert_eq!(one, other, "{}", arm.name());
        }
    }

    #[test]
    fn weighted_values_of_a_polynomial_are_its_coefficients_times_power_sums() {
        transposed::<12, 16>();
        transposed::<13, 32>();
    }
}
