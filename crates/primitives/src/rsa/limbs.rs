//! Numbers in limbs of 52 bits, the lowest first, in vectors of eight.

use crate::words::{Number, zero};

const BITS: usize = 52;
const MASK: u64 = (1 << BITS) - 1;

/// Limbs of a number of so many words: at least two bits more than it has.
pub(super) const fn count(words: usize) -> usize {
    words * 5 / 4
}

/// A number in limbs, with zeros up to whole vectors.
pub(super) fn from_words(number: &[u64]) -> Number {
    let mut limbs = zero(count(number.len()).next_multiple_of(8));
    for (at, limb) in limbs.iter_mut().enumerate() {
        let (word, shift) = (at * BITS / 64, at * BITS % 64);
        let Some(low) = number.get(word) else { break };
        *limb = low >> shift;
        if let (Some(high), true) = (number.get(word + 1), shift > 0) {
            *limb |= high << (64 - shift);
        }
        *limb &= MASK;
    }
    limbs
}

/// The words of a number that has one bit more at most, and that bit.
pub(super) fn to_words(limbs: &[u64], words: usize) -> (Number, u64) {
    let mut number = zero(words);
    let (mut sum, mut bits, mut next) = (0_u128, 0, limbs.iter());
    for word in number.iter_mut() {
        while bits < 64 {
            sum |= u128::from(*next.next().expect("limbs have more bits than words")) << bits;
            bits += BITS;
        }
        *word = sum as u64;
        sum >>= 64;
        bits -= 64;
    }
    // The next bit may be the first of the next limb.
    let next = next.next().map_or(0, |limb| u128::from(*limb) << bits);
    (number, (sum | next) as u64 & 1)
}
