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

/// Sends bits through the whole network, or through its inverse. `control` holds the words of all stages.
#[inline(always)]
pub(crate) fn apply(m: usize, control: &[u64], inverse: bool, bits: &mut [u64]) {
    // The stages read the same forwards and backwards, their control bits do not.
    let mut at = if inverse { control.len() } else { 0 };
    for distance in distances(m) {
        let length = stage_words(m, distance);
        let stage = if inverse {
            at -= length;
            &control[at..at + length]
        } else {
            at += length;
            &control[at - length..at]
        };
        match distance {
            0 => within::<0>(bits, stage),
            1 => within::<1>(bits, stage),
            2 => within::<2>(bits, stage),
            3 => within::<3>(bits, stage),
            4 => within::<4>(bits, stage),
            5 => within::<5>(bits, stage),
            6 => across::<1>(bits, stage),
            7 => across::<2>(bits, stage),
            8 => across::<4>(bits, stage),
            9 => across::<8>(bits, stage),
            10 => across::<16>(bits, stage),
            11 => across::<32>(bits, stage),
            _ => across::<64>(bits, stage),
        }
    }
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
