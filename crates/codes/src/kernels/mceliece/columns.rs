//! Columns of the parity-check matrix, 256 at once.

use super::bitsliced::{self, times};
use super::vector::{Row, Vector};

/// Columns that the kernel makes at once.
pub(crate) const COLUMNS: usize = 256;

/// Writes the bits of value · xⁱ for i = 0, …, t − 1 into rows iM to iM + M − 1 of a tile of 256 columns and `height` rows ([`super::rows`]).
#[inline(always)]
pub(crate) fn fill<V: Vector, const M: usize>(
    proof: V::Proof,
    x: &[u16; COLUMNS],
    value: &[u16; COLUMNS],
    t: usize,
    height: usize,
    tile: &mut [u8],
) {
    let mut rows = planes(x);
    let x: [V; M] = bitsliced::load(proof, &rows);
    rows = planes(value);
    let mut value: [V; M] = bitsliced::load(proof, &rows);
    for i in 0..t {
        bitsliced::store(&value, &mut rows);
        for (bit, row) in rows.iter().enumerate() {
            let bytes = row.iter().flat_map(|word| word.to_le_bytes());
            tile[i * M + bit..].iter_mut().step_by(height).zip(bytes).for_each(|(to, byte)| *to = byte);
        }
        value = times(proof, &value, &x);
    }
}

/// Elements as planes of bits.
#[inline(always)]
fn planes<const M: usize>(elements: &[u16; COLUMNS]) -> [Row; M] {
    let mut planes = [Row::ZERO; M];
    for (bit, plane) in planes.iter_mut().enumerate() {
        for (word, elements) in plane.iter_mut().zip(elements.as_chunks::<64>().0) {
            for (i, element) in elements.iter().enumerate() {
                *word |= u64::from(element >> bit & 1) << i;
            }
        }
    }
    planes
}
