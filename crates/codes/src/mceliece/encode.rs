//! A ciphertext from an error vector and a public key (specification, section 2.4.1): C = He with H = (I | T).

use super::arm_mux::Arm;
use super::parameters::Parameters;
use crate::kernels::mceliece::parity::{LENGTH, PIECES, pieces};
use crate::kernels::mceliece::vector::Row;
use crate::words::{self, Wiped, Words};

/// Writes the ciphertext of `error`, n bits, into `ciphertext`. `matrix` is the public key, the rows of T.
///
/// # Panics
/// If the lengths are not those of the set.
pub(crate) fn encode(arm: Arm, set: &Parameters, matrix: &[u8], error: &[u64], ciphertext: &mut [u8]) {
    let (rows, row_bytes) = (set.rows(), set.row_bytes());
    assert!(matrix.len() == set.public() && error.len() == set.n.div_ceil(64) && ciphertext.len() == set.ciphertext());
    // The last k bits of the error, from bit 0 on, and zeros.
    let mut right = Wiped::<u64, LENGTH>::zero();
    let (first, shift) = (rows / 64, rows % 64);
    for (i, (right, low)) in right.iter_mut().zip(&error[first..]).enumerate() {
        let high = error.get(first + i + 1).copied().unwrap_or(0);
        *right = low >> shift | high << 1 << (63 - shift);
    }
    let mut chosen = Wiped::<Row, PIECES>::zero();
    pieces(&right, row_bytes, &mut chosen);
    let mut left = Words::zero(rows.div_ceil(64));
    for ((sum, rows), error) in left.iter_mut().zip(matrix.chunks(64 * row_bytes)).zip(error) {
        *sum = error ^ arm.products(rows, row_bytes, &chosen);
    }
    if shift > 0 {
        left[first] &= (1 << shift) - 1;
    }
    words::to_bytes(&left, ciphertext);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mceliece::parameters::ALL;
    use crate::mceliece::tests::{arms, random};
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn a_ciphertext_is_the_sum_of_the_columns_of_the_error() {
        for set in ALL.into_iter().step_by(2) {
            let mut random = random(set.n as u64);
            let unused = 8 * set.row_bytes() - set.columns();
            let mut matrix: Vec<u8> = (0..set.public()).map(|_| random() as u8).collect();
            matrix.chunks_exact_mut(set.row_bytes()).for_each(|row| row[set.row_bytes() - 1] &= 0xff >> unused);
            let mut error: Vec<u64> = (0..set.n.div_ceil(64)).map(|_| random() & random()).collect();
            if set.n % 64 > 0 {
                error[set.n / 64] &= (1 << (set.n % 64)) - 1;
            }
            let bit = |i: usize| error[i / 64] >> (i % 64) & 1;
            let mut expected = vec![0; set.ciphertext()];
            for (i, row) in matrix.chunks_exact(set.row_bytes()).enumerate() {
                let row = |j: usize| u64::from(row[j / 8] >> (j % 8) & 1);
                let sum = (0..set.columns()).fold(bit(i), |sum, j| sum ^ row(j) & bit(set.rows() + j));
                expected[i / 8] |= (sum as u8) << (i % 8);
            }
            for arm in arms() {
                let mut found = vec![0xff; set.ciphertext()];
                encode(arm, set, &matrix, &error, &mut found);
                assert_eq!(found, expected, "n = {}, {}", set.n, arm.name());
            }
        }
    }
}
