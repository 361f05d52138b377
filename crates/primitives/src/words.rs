//! Numbers of many words, the lowest word first, in time that depends on their lengths alone.

use crate::word::{inverse_of_word, multiply_add};
use alloc::boxed::Box;
use alloc::vec;
use candor_cpu::barrier;
use zeroize::Zeroizing;

/// A number on the heap, of a fixed length. Wiped on drop.
pub(crate) type Number = Zeroizing<Box<[u64]>>;

/// Zero, of so many words.
pub(crate) fn zero(words: usize) -> Number {
    Zeroizing::new(vec![0; words].into_boxed_slice())
}

/// A copy.
pub(crate) fn copied(words: &[u64]) -> Number {
    Zeroizing::new(words.into())
}

/// The number that bytes with the highest first are, in so many words, unless it has more. What the leading zeros of secrets are, their
/// files say anyway.
pub(crate) fn from_bytes(bytes: &[u8], words: usize) -> Option<Number> {
    let leading = bytes.len().saturating_sub(8 * words);
    let (above, bytes) = bytes.split_at(leading);
    if above.iter().any(|byte| *byte != 0) {
        return None;
    }
    let mut number = zero(words);
    for (word, bytes) in number.iter_mut().zip(bytes.rchunks(8)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    Some(number)
}

/// The bytes of a number, the highest first: eight for each word.
pub(crate) fn to_bytes(number: &[u64], bytes: &mut [u8]) {
    debug_assert_eq!(bytes.len(), 8 * number.len());
    for (bytes, word) in bytes.rchunks_exact_mut(8).zip(number) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}

/// Adds; the carry.
pub(crate) fn add(to: &mut [u64], other: &[u64]) -> bool {
    let mut carry = false;
    for (to, other) in to.iter_mut().zip(other) {
        (*to, carry) = to.carrying_add(*other, carry);
    }
    carry
}

/// Adds one word.
pub(crate) fn add_word(to: &mut [u64], word: u64) {
    let mut carry = word;
    for to in to {
        let (sum, above) = to.overflowing_add(carry);
        *to = sum;
        carry = u64::from(above);
    }
}

/// Subtracts; the borrow.
pub(crate) fn subtract(from: &mut [u64], other: &[u64]) -> bool {
    let mut borrow = false;
    for (from, other) in from.iter_mut().zip(other) {
        (*from, borrow) = from.borrowing_sub(*other, borrow);
    }
    borrow
}

/// Adds where the mask is all ones.
pub(crate) fn add_where(to: &mut [u64], other: &[u64], mask: u64) {
    let mut carry = false;
    for (to, other) in to.iter_mut().zip(other) {
        (*to, carry) = to.carrying_add(*other & mask, carry);
    }
}

/// Subtracts where the mask is all ones.
pub(crate) fn subtract_where(from: &mut [u64], other: &[u64], mask: u64) {
    let mut borrow = false;
    for (from, other) in from.iter_mut().zip(other) {
        (*from, borrow) = from.borrowing_sub(*other & mask, borrow);
    }
}

/// Whether a < b, as 1 or 0.
pub(crate) fn is_below(a: &[u64], b: &[u64]) -> u64 {
    let mut borrow = false;
    for (a, b) in a.iter().zip(b) {
        (_, borrow) = a.borrowing_sub(*b, borrow);
    }
    u64::from(borrow)
}

/// All ones if the word is zero, else zero.
pub(crate) fn is_zero_word(word: u64) -> u64 {
    barrier::mask_u64(1 ^ ((word | word.wrapping_neg()) >> 63))
}

/// All ones if both are the same, else zero.
pub(crate) fn is_same(a: &[u64], b: &[u64]) -> u64 {
    is_zero_word(a.iter().zip(b).fold(0, |any, (a, b)| any | (a ^ b)))
}

/// All ones if the number is this word.
pub(crate) fn is_word(number: &[u64], word: u64) -> u64 {
    is_zero_word(number[1..].iter().fold(number[0] ^ word, |any, word| any | word))
}

/// A number below twice the modulus, of which the bit above the words is apart, modulo that.
pub(crate) fn reduce_once(number: &mut [u64], above: u64, modulus: &[u64]) {
    let not_below = barrier::mask_u64(above | (1 ^ is_below(number, modulus)));
    subtract_where(number, modulus, not_below);
}

/// a − b modulo m, for both below m.
pub(crate) fn subtract_modulo(a: &mut [u64], b: &[u64], modulus: &[u64]) {
    let borrow = subtract(a, b);
    add_where(a, modulus, barrier::mask_u64(u64::from(borrow)));
}

/// 2a modulo m, for a below m.
pub(crate) fn double_modulo(a: &mut [u64], modulus: &[u64]) {
    let above = shift_up(a, 0);
    reduce_once(a, above, modulus);
}

/// 2a + bit; what is above.
pub(crate) fn shift_up(a: &mut [u64], bit: u64) -> u64 {
    let mut below = bit;
    for word in a {
        (*word, below) = (*word << 1 | below, *word >> 63);
    }
    below
}

/// a/2, rounded down, with this bit as the highest.
pub(crate) fn shift_down(a: &mut [u64], bit: u64) {
    let mut above = bit;
    for word in a.iter_mut().rev() {
        (*word, above) = (*word >> 1 | above << 63, *word & 1);
    }
}

/// a·b, of as many words as both have.
pub(crate) fn product(a: &[u64], b: &[u64]) -> Number {
    let mut wide = zero(a.len() + b.len());
    for (at, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (to, b) in wide[at..].iter_mut().zip(b) {
            (*to, carry) = multiply_add(*a, *b, *to, carry);
        }
        wide[at + b.len()] = carry;
    }
    wide
}

/// The number modulo another of any length, bit by bit.
pub(crate) fn remainder(number: &[u64], modulus: &[u64]) -> Number {
    let mut rest = zero(modulus.len());
    for word in number.iter().rev() {
        for bit in (0..64).rev() {
            let above = shift_up(&mut rest, word >> bit & 1);
            reduce_once(&mut rest, above, modulus);
        }
    }
    rest
}

/// The number modulo a word.
pub(crate) fn remainder_word(number: &[u64], modulus: u64) -> u64 {
    remainder(number, &[modulus])[0]
}

/// The number over an odd word that divides it.
pub(crate) fn divide_exactly(number: &mut [u64], odd: u64) {
    let inverse = inverse_of_word(odd);
    let mut carry = 0;
    for word in number {
        let (difference, borrow) = word.overflowing_sub(carry);
        *word = difference.wrapping_mul(inverse);
        let (_, above) = multiply_add(*word, odd, 0, 0);
        carry = above + u64::from(borrow);
    }
}

/// The inverse of a word modulo an odd one, both secret or not, and all ones if there is one. By subtractions and halves (Stein's algorithm) of
/// a fixed number.
pub(crate) fn inverse_modulo(number: u64, odd: u64) -> (u64, u64) {
    // (x + odd)/2 where x is odd.
    let half = |x: u64| (x >> 1) + ((odd / 2 + 1) & barrier::opaque_u64((x & 1).wrapping_neg()));
    let (mut a, mut b, mut of_a, mut of_b) = (number, odd, 1 % odd, 0_u64);
    // Each step halves one of two numbers below 2^64.
    for _ in 0..128 {
        let is_odd = barrier::opaque_u64((a & 1).wrapping_neg());
        let (_, below) = a.overflowing_sub(b);
        let exchange = barrier::mask_u64(u64::from(below)) & is_odd;
        let (difference, other) = ((a ^ b) & exchange, (of_a ^ of_b) & exchange);
        (a, b) = (a ^ difference, b ^ difference);
        (of_a, of_b) = (of_a ^ other, of_b ^ other);
        a = a.wrapping_sub(b & is_odd);
        let (less, borrow) = of_a.overflowing_sub(of_b & is_odd);
        of_a = less.wrapping_add(odd & barrier::mask_u64(u64::from(borrow)));
        a >>= 1;
        of_a = half(of_a);
    }
    (of_b, is_zero_word(b ^ 1))
}

/// The greatest common divisor of two numbers of the same length, not both zero, by the same algorithm: `a` is any, `b` odd.
pub(crate) fn common_divisor(a: &[u64], b: &[u64]) -> Number {
    let (mut a, mut b) = (copied(a), copied(b));
    for _ in 0..128 * a.len() {
        let is_odd = barrier::opaque_u64((a[0] & 1).wrapping_neg());
        let exchange = barrier::mask_u64(is_below(&a, &b)) & is_odd;
        for (a, b) in a.iter_mut().zip(b.iter_mut()) {
            let difference = (*a ^ *b) & exchange;
            *a ^= difference;
            *b ^= difference;
        }
        subtract_where(&mut a, &b, is_odd);
        shift_down(&mut a, 0);
    }
    b
}

/// Subtracts one word.
pub(crate) fn subtract_word(from: &mut [u64], word: u64) {
    let mut borrow = word;
    for from in from {
        let (difference, below) = from.overflowing_sub(borrow);
        *from = difference;
        borrow = u64::from(below);
    }
}

/// The entry of a table with this number. All entries are read.
#[inline(always)]
pub(crate) fn select(table: &[u64], number: u64, to: &mut [u64]) {
    to.fill(0);
    for (entry, index) in table.chunks_exact(to.len()).zip(0..) {
        let mask = is_zero_word(number ^ index);
        for (to, word) in to.iter_mut().zip(entry) {
            *to |= word & mask;
        }
    }
}
