//! Pivots of 64 columns of a bit matrix.

use candor_cpu::barrier;

/// Rows among which pivots are looked for first.
pub(crate) const FEW: usize = 128;
/// The most rows that a matrix has.
const MOST: usize = 1664;

/// Reduces the first `count` columns of `rows`, of which there are at most `64 · W`. The sums of rows that become pivot rows go
/// into `sums`: byte `64 g + i` says which of rows 8g … 8g + 7 are in pivot row i. A last byte says 1 if there is a pivot in each column, and 0 if not.
#[inline(always)]
fn find<const W: usize>(rows: &[u64], count: usize, sums: &mut [u8], work: &mut [Row<W>]) {
    for (at, (work, row)) in work.iter_mut().zip(rows).enumerate() {
        *work = Row { row: *row, sum: [0; W] };
        work.sum[at / 64] = 1 << (at % 64);
    }
    let work = &mut work[..rows.len()];
    let mut regular = 1;
    for pivot in 0..count {
        let (above, below) = work.split_at_mut(pivot);
        let (row, below) = below.split_first_mut().expect("no fewer rows than pivots");
        let mut missing = 1 ^ (row.row >> pivot & 1);
        for other in below.iter() {
            let here = missing & other.row >> pivot & 1;
            missing ^= here;
            row.add(other, here);
        }
        regular &= 1 ^ missing;
        for other in above.iter_mut().chain(below) {
            other.add(row, other.row >> pivot & 1);
        }
    }
    for (i, row) in work[..count].iter().enumerate() {
        for (g, byte) in row.sum.iter().flat_map(|word| word.to_le_bytes()).take(rows.len().div_ceil(8)).enumerate() {
            sums[64 * g + i] = byte;
        }
    }
    *sums.last_mut().expect("room for the answer") = regular as u8;
}

/// A row, and the sum of rows that it is.
#[derive(Clone, Copy)]
struct Row<const W: usize> {
    row: u64,
    sum: [u64; W],
}

impl<const W: usize> Row<W> {
    /// Adds `other` if `bit` is 1.
    #[inline(always)]
    fn add(&mut self, other: &Self, bit: u64) {
        let chosen = barrier::mask_u64(bit);
        self.row ^= other.row & chosen;
        self.sum.iter_mut().zip(&other.sum).for_each(|(sum, other)| *sum ^= other & chosen);
    }
}

impl<const W: usize> zeroize::DefaultIsZeroes for Row<W> {}

impl<const W: usize> Default for Row<W> {
    fn default() -> Self {
        Self { row: 0, sum: [0; W] }
    }
}

/// [`find`] among up to [`FEW`] rows.
#[inline(always)]
pub(crate) fn find_among_few(rows: &[u64], count: usize, sums: &mut [u8]) {
    let mut work = zeroize::Zeroizing::new([Row::<{ FEW / 64 }>::default(); FEW]);
    find(rows, count, sums, &mut *work);
}

/// [`find`] among all rows.
pub(crate) fn find_among_all(rows: &[u64], count: usize, sums: &mut [u8]) {
    let mut work = zeroize::Zeroizing::new(alloc::vec![Row::<{ MOST / 64 }>::default(); rows.len()]);
    find(rows, count, sums, &mut work);
}
