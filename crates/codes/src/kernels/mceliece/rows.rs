//! Sums of rows of a bit matrix, chosen by secret bits.
//!
//! A *tile* is some columns of a matrix, eight to a byte: byte r of column c holds bits 8c … 8c + 7 of row r, and the bytes of a column follow one
//! another, `height` of them. *Coefficients* are such a tile as well: bit i of row r says whether row i of the sources goes into row r.

/// Rows that the kernel takes at once; each height is a multiple of it.
pub(crate) const ROWS: usize = 32;

/// Adds to each row of `tile` the rows of `sources` that its coefficients choose. `coefficients` has `height` rows like `tile`; `sources` has as many
/// rows as `coefficients` has columns.
#[inline(always)]
pub(crate) fn combine(tile: &mut [u8], height: usize, coefficients: &[u8], sources: &[u8]) {
    let count = 8 * (coefficients.len() / height);
    for (column, sources) in tile.chunks_exact_mut(height).zip(sources.chunks_exact(count)) {
        for (at, bytes) in column.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
            let mut sum = [0; ROWS / 8];
            for (chosen, sources) in coefficients.chunks_exact(height).zip(sources.as_chunks::<8>().0) {
                let chosen = words(&chosen.as_chunks::<ROWS>().0[at]);
                for (bit, source) in sources.iter().enumerate() {
                    for (sum, chosen) in sum.iter_mut().zip(chosen) {
                        // Eight rows: each byte of the product is the source or zero.
                        *sum ^= (chosen >> bit & 0x0101010101010101) * u64::from(*source);
                    }
                }
            }
            let before = words(bytes);
            for ((bytes, sum), before) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(sum).zip(before) {
                *bytes = (before ^ sum).to_le_bytes();
            }
        }
    }
}

#[inline(always)]
fn words(bytes: &[u8; ROWS]) -> [u64; ROWS / 8] {
    core::array::from_fn(|i| u64::from_le_bytes(bytes.as_chunks::<8>().0[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_test_support::Random;

    #[test]
    fn each_row_gets_the_rows_that_its_coefficients_choose() {
        let mut random = Random::new(3);
        for (height, columns, groups) in [(32, 1, 1), (64, 8, 16), (96, 3, 8), (1664, 2, 5)] {
            let (mut tile, coefficients) = (random.bytes(height * columns), random.bytes(height * groups));
            let sources = random.bytes(columns * 8 * groups);
            let mut expected = tile.clone();
            for (at, byte) in expected.iter_mut().enumerate() {
                let (column, row) = (at / height, at % height);
                for source in 0..8 * groups {
                    if coefficients[source / 8 * height + row] >> (source % 8) & 1 == 1 {
                        *byte ^= sources[column * 8 * groups + source];
                    }
                }
            }
            combine(&mut tile, height, &coefficients, &sources);
            assert_eq!(tile, expected, "{height} rows");
        }
    }
}
