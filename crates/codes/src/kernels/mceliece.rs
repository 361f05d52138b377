//! Classic McEliece's arithmetic on many elements and many bits at once, over [`vector::Vector`].

pub(crate) mod benes;
pub(crate) mod bitsliced;
pub(crate) mod columns;
pub(crate) mod field;
pub(crate) mod locator;
pub(crate) mod look_up;
pub(crate) mod parity;
pub(crate) mod pivots;
pub(crate) mod points;
pub(crate) mod polynomials;
pub(crate) mod portable;
pub(crate) mod positions;
pub(crate) mod products;
pub(crate) mod rows;
pub(crate) mod sort;
pub(crate) mod transform;
pub(crate) mod vector;

use transform::Values;
use vector::Vector;

/// 1/value at each point, and 0 for 0.
#[inline(always)]
pub(crate) fn invert<V: Vector, const M: usize, const Q: usize>(proof: V::Proof, values: &mut Values<M, Q>) {
    for at in 0..Q {
        let row: [V; M] = bitsliced::load_row(proof, values, at);
        bitsliced::store_row(&bitsliced::inverse(proof, &row), values, at);
    }
}

/// value² at each point.
#[inline(always)]
pub(crate) fn square<V: Vector, const M: usize, const Q: usize>(proof: V::Proof, values: &mut Values<M, Q>) {
    for at in 0..Q {
        let row: [V; M] = bitsliced::load_row(proof, values, at);
        bitsliced::store_row(&bitsliced::square(proof, &row), values, at);
    }
}
