//! Beneš networks on vectors of bits (specification, section 3.3): stages of pairs of positions that differ in one bit of their number, and
//! a control bit for each pair that says whether to exchange the two.

use super::points::HALVES;

/// Distances of the stages, as exponents of two: 0, 1, … m − 1, … 1, 0.
pub(crate) fn distances(m: usize) -> impl DoubleEndedIterator<Item = usize> + Clone {
    (0..m).chain((0..m - 1).rev())
}

/// Words that [`unpack`] makes of the control bits of a stage.
pub(crate) fn stage_words(m: usize, distance: usize) -> usize {
    (1 << (m - 6)) >> usize::from(distance >= 6)
}

/// The control bits of a stage as `apply` wants them: for pairs within a word, each at the position of the pair's lower element.
pub(crate) fn unpack(bytes: &[u8], distance: usize, words: &mut [u64]) {
    if distance >= 6 {
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        return;
    }
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        let mut spread = u64::from(u32::from_le_bytes(*bytes));
        for step in (distance..5).rev() {
            spread = (spread | spread << (1 << step)) & !HALVES[step];
        }
        *word = spread;
    }
}

/// Sends bits through the whole network, or through its inverse; m is 12 or 13. `control` holds the words of all stages.
#[inline(always)]
pub(crate) fn apply(m: usize, control: &[u64], inverse: bool, bits: &mut [u64]) {
    // The stages read the same forwards and backwards, their control bits do not.
    let mut at = if inverse { control.len() } else { 0 };
    // Written out: a table of jumps would be read from memory, where a reader of machine code takes what it reads for data.
    macro_rules! stages {
        ($($kernel:ident $size:literal for $distance:literal),+) => {
            $({
                let length = stage_words(m, $distance);
                let first = if inverse { at - length } else { at };
                at = if inverse { first } else { first + length };
                $kernel::<$size>(bits, &control[first..first + length]);
            })+
        };
    }
    stages!(within 0 for 0, within 1 for 1, within 2 for 2, within 3 for 3, within 4 for 4, within 5 for 5);
    stages!(across 1 for 6, across 2 for 7, across 4 for 8, across 8 for 9, across 16 for 10, across 32 for 11);
    if m == 13 {
        stages!(across 64 for 12, across 32 for 11);
    }
    stages!(across 16 for 10, across 8 for 9, across 4 for 8, across 2 for 7, across 1 for 6);
    stages!(within 5 for 5, within 4 for 4, within 3 for 3, within 2 for 2, within 1 for 1, within 0 for 0);
    debug_assert!(at == if inverse { 0 } else { control.len() });
}

/// Pairs within each word.
#[inline(always)]
fn within<const D: usize>(bits: &mut [u64], control: &[u64]) {
    for (word, control) in bits.iter_mut().zip(control) {
        let change = (*word ^ *word >> (1 << D)) & control;
        *word ^= change | change << (1 << D);
    }
}

/// Pairs of words whose numbers differ by `D`.
#[inline(always)]
fn across<const D: usize>(bits: &mut [u64], control: &[u64]) {
    for (words, control) in bits.chunks_exact_mut(2 * D).zip(control.as_chunks::<D>().0) {
        let (low, high) = words.split_at_mut(D);
        for i in 0..D {
            let change = (low[i] ^ high[i]) & control[i];
            low[i] ^= change;
            high[i] ^= change;
        }
    }
}
