//! Tables of multiples of a generator.
//!
//! A window has 7 bits of a scalar and a table of 64 multiples: of the generator times 2^(7i) for window i, by 1, 3, 5 and so on to 127. Tables are files
//! beside the curves, each coordinate as it stands in the field, its bytes with the lowest first.

/// Bits of a window, and multiples that each has a table of.
pub(crate) const BITS: usize = 7;
pub(crate) const ENTRIES: usize = 1 << (BITS - 1);

/// A multiple of the generator: x and y.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Entry<W>(pub(crate) [W; 2]);

/// Windows of so many bits that scalars of `words` words have.
pub(crate) const fn windows(words: usize, bits: usize) -> usize {
    64 * words / bits + 1
}

/// A table that was written by the test `write_the_tables` in `multiply.rs`; `the_tables_hold_the_multiples_of_the_generators` there derives it
/// again.
pub(crate) const fn read<const N: usize, const ALL: usize>(bytes: &[u8]) -> [Entry<[u64; N]>; ALL] {
    assert!(ALL == windows(N, BITS) * ENTRIES && bytes.len() == ALL * N * 16);
    let mut table = [Entry([[0; N]; 2]); ALL];
    let words = bytes.as_chunks::<8>().0;
    let mut at = 0;
    while at < words.len() {
        table[at / (2 * N)].0[at / N % 2][at % N] = u64::from_le_bytes(words[at]);
        at += 1;
    }
    table
}
