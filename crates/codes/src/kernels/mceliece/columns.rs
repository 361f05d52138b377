//! Columns of the parity-check matrix, 256 at once.

use super::bitsliced::{self, times};
use super::vector::{Row, Vector};

/// Columns that the kernel makes at once.
pub(crate) const COLUMNS: usize = 256;

/// Writes the bits of value · xⁱ for i = 0, …, t − 1 into rows iM to iM + M − 1 of a tile of 256 columns and `height` rows ([`super::rows`]).
#[inline(always)]
pub(crate) fn fill<V: Vector, const M: usize>(
    proof: V::Proof,
    x: &[Row; M],
    value: &[Row; M],
    t: usize,
    height: usize,
    tile: &mut [u8],
) {
    let x: [V; M] = bitsliced::load(proof, x);
    let mut value: [V; M] = bitsliced::load(proof, value);
    let mut rows = [Row::ZERO; M];
    for i in 0..t {
        bitsliced::store(&value, &mut rows);
        for (bit, row) in rows.iter().enumerate() {
            let bytes = row.iter().flat_map(|word| word.to_le_bytes());
            tile[i * M + bit..].iter_mut().step_by(height).zip(bytes).for_each(|(to, byte)| *to = byte);
        }
        value = times(proof, &value, &x);
    }
}
