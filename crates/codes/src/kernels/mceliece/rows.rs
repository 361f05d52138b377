//! Sums of rows of a bit matrix, chosen by secret bits.
//!
//! A *tile* is some columns of a matrix, eight to a byte: byte r of column c holds bits 8c … 8c + 7 of row r, and the bytes of a column follow one
//! another, `height` of them.
//!
//! *Choices* say which rows of some sources go into each row of a tile: four bits to a byte, for rows 4i … 4i + 3 of the sources. The bytes of 32 rows
//! of the tile lie together, first those for the first four sources, and so on; then come the next 32 rows.

use crate::words::Wiped;

/// Each height is a multiple of this.
pub(crate) const HEIGHT: usize = 64;
/// Rows that the kernel takes at once.
pub(crate) const ROWS: usize = 32;
/// Sources that a byte of choices chooses from.
pub(crate) const FOUR: usize = 4;

/// Pivots of a panel, at most, and columns to which it is applied at once.
pub(crate) const PANEL: usize = 64;
/// Bytes of a row of as many columns.
pub(crate) const STRIP: usize = PANEL / 8;

/// A step of the reduction: what makes `count` pivots from row and column `first` on.
#[derive(Clone, Copy)]
pub(crate) struct Panel<'a> {
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// Rows from `first` on of which the new pivot rows are sums; a multiple of eight.
    pub(crate) candidates: usize,
    /// Of which of them each of [`PANEL`] new pivot rows is the sum.
    pub(crate) pivots: &'a [u8],
    /// Which new pivot rows are added to each row.
    pub(crate) others: &'a [u8],
}

/// Applies a panel to a strip of 64 columns, whose height is a multiple of [`HEIGHT`]. `add` is [`combine`], or what does the same. What `sources` holds is lost; there is room
/// for [`STRIP`] times as many bytes as candidates.
#[inline(always)]
pub(crate) fn apply(
    add: impl Fn(&mut [u8], usize, &[u8], &[u8]),
    strip: &mut [u8],
    height: usize,
    panel: Panel<'_>,
    sources: &mut [u8],
) {
    let Panel { first, count, candidates, pivots, others } = panel;
    let sources = &mut sources[..STRIP * candidates];
    for (sources, column) in sources.chunks_exact_mut(candidates).zip(strip.chunks_exact(height)) {
        sources.copy_from_slice(&column[first..][..candidates]);
    }
    let mut rows = Wiped::<u8, { STRIP * PANEL }>::zero();
    add(&mut *rows, PANEL, pivots, sources);
    let used = count.next_multiple_of(8);
    for column in 0..STRIP {
        rows.copy_within(column * PANEL..column * PANEL + used, column * used);
    }
    let rows = &rows[..STRIP * used];
    add(strip, height, others, rows);
    for (column, rows) in strip.chunks_exact_mut(height).zip(rows.chunks_exact(used)) {
        column[first..][..count].copy_from_slice(&rows[..count]);
    }
}

/// Adds to each row of `tile` the rows of `sources`, a tile with as many columns, that `choices` say.
#[inline(always)]
pub(crate) fn combine(tile: &mut [u8], height: usize, choices: &[u8], sources: &[u8]) {
    let fours = choices.len() / height;
    for (column, sources) in tile.chunks_exact_mut(height).zip(sources.chunks_exact(FOUR * fours)) {
        for (rows, choices) in column.as_chunks_mut::<ROWS>().0.iter_mut().zip(choices.chunks_exact(ROWS * fours)) {
            let mut sum = words(rows);
            for (choices, sources) in choices.as_chunks::<ROWS>().0.iter().zip(sources.as_chunks::<FOUR>().0) {
                let choices = words(choices);
                for (bit, source) in sources.iter().enumerate() {
                    for (sum, choice) in sum.iter_mut().zip(choices) {
                        // Eight rows: each byte of the product is the source or zero.
                        *sum ^= (choice >> bit & 0x0101010101010101) * u64::from(*source);
                    }
                }
            }
            for (bytes, sum) in rows.as_chunks_mut::<8>().0.iter_mut().zip(sum) {
                *bytes = sum.to_le_bytes();
            }
        }
    }
}

/// The choices of a tile of coefficients: bit i of row r says whether row i of the sources goes into row r.
#[inline(always)]
pub(crate) fn choices(coefficients: &[u8], height: usize, choices: &mut [u8]) {
    let columns = coefficients.len() / height;
    for (column, bytes) in coefficients.chunks_exact(height).enumerate() {
        let groups = choices.chunks_exact_mut(2 * columns * ROWS);
        for (group, bytes) in groups.zip(bytes.as_chunks::<ROWS>().0) {
            let [low, high] = &mut group.as_chunks_mut::<ROWS>().0[2 * column..][..2] else { unreachable!() };
            for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
                (*low, *high) = (byte & 15, byte >> 4);
            }
        }
    }
}

/// Writes the columns of a tile into rows of `row_bytes` bytes, from byte `first` of each on, as many as there is room for.
#[inline(always)]
pub(crate) fn write(tile: &[u8], height: usize, matrix: &mut [u8], row_bytes: usize, first: usize) {
    for (row, bytes) in matrix.chunks_exact_mut(row_bytes).enumerate() {
        let column = tile[row..].iter().step_by(height);
        bytes[first..].iter_mut().zip(column).for_each(|(to, byte)| *to = *byte);
    }
}

#[inline(always)]
fn words(bytes: &[u8; ROWS]) -> [u64; ROWS / 8] {
    core::array::from_fn(|i| u64::from_le_bytes(bytes.as_chunks::<8>().0[i]))
}
