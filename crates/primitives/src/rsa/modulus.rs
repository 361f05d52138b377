//! Arithmetic modulo odd numbers of 16, 24, 32, 48 or 64 words whose highest bit is 1, in Montgomery's form: R·x stands for x.
//!
//! An *element* is a number in the form of the arm that computes with it: words of 64 bits, or limbs of 52 bits. R, and whether an element may be the
//! modulus or more, is the arm's own affair (`docs/rsa.md`).

use super::arm_mux::Arm;
use crate::word::inverse_of_word;
use crate::words::{Number, add, copied, double_modulo, reduce_once, subtract, zero};
use zeroize::Zeroizing;

/// A modulus, prepared. Wiped on drop.
#[derive(Clone)]
pub(super) struct Modulus {
    pub(super) arm: Arm,
    /// Itself, in words.
    pub(super) words: Number,
    /// Itself, in the arm's form.
    pub(super) form: Number,
    /// −1/m modulo 2^64, which says what the lowest word is.
    pub(super) inverse: Zeroizing<u64>,
    /// R² modulo m, in the arm's form.
    square: Number,
}

impl Modulus {
    /// `words` is odd, and its highest bit 1.
    pub(super) fn new(arm: Arm, words: &[u64]) -> Self {
        debug_assert!(words[0] & 1 == 1 && words[words.len() - 1] >> 63 == 1);
        let mut modulus = Self {
            arm,
            words: copied(words),
            form: arm.formed(words),
            inverse: Zeroizing::new(inverse_of_word(words[0]).wrapping_neg()),
            square: zero(0),
        };
        // 2^(64n) − m is 2^(64n) modulo m. From there by doubles to R·2^s, and by squares to R·2^(2s), R·2^(4s) and so on, up to R·R.
        let bits = arm.radix_bits(words.len());
        let squares = bits.trailing_zeros().min(6);
        let mut start = zero(words.len());
        subtract(&mut start, words);
        for _ in 64 * words.len()..bits + (bits >> squares) {
            double_modulo(&mut start, words);
        }
        let mut square = arm.formed(&start);
        let mut next = modulus.element();
        for _ in 0..squares {
            modulus.square(&square, &mut next);
            core::mem::swap(&mut square, &mut next);
        }
        modulus.square = square;
        modulus
    }

    /// Words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Room for an element.
    pub(super) fn element(&self) -> Number {
        zero(self.form.len())
    }

    /// a·b/R.
    pub(super) fn product(&self, a: &[u64], b: &[u64], to: &mut [u64]) {
        self.arm.product(self, a, b, to);
    }

    /// a²/R.
    pub(super) fn square(&self, a: &[u64], to: &mut [u64]) {
        self.arm.square(self, a, to);
    }

    /// a·b/R in place of a.
    pub(super) fn multiply(&self, a: &mut Number, b: &[u64]) {
        let mut product = self.element();
        self.product(a, b, &mut product);
        *a = product;
    }

    /// A number of the modulus' length, in the arm's form and nothing more.
    pub(super) fn formed(&self, number: &[u64]) -> Number {
        self.arm.formed(number)
    }

    /// What an element is in words, below the modulus.
    pub(super) fn plain(&self, element: &[u64]) -> Number {
        let (mut words, above) = self.arm.words(element, self.len());
        reduce_once(&mut words, above, &self.words);
        words
    }

    /// R·x modulo m for any x of the modulus' length.
    pub(super) fn enter(&self, number: &[u64]) -> Number {
        let mut element = self.formed(number);
        self.multiply(&mut element, &self.square);
        element
    }

    /// x of R·x.
    pub(super) fn leave(&self, element: &[u64]) -> Number {
        let mut one = zero(self.len());
        one[0] = 1;
        let mut plain = self.element();
        self.product(element, &self.formed(&one), &mut plain);
        self.plain(&plain)
    }

    /// A number of the modulus' length less the modulus, if it is not below.
    pub(super) fn reduced(&self, number: &[u64]) -> Number {
        let mut reduced = copied(number);
        reduce_once(&mut reduced, 0, &self.words);
        reduced
    }

    /// R·x modulo m for any x of twice the modulus' length.
    pub(super) fn enter_wide(&self, number: &[u64]) -> Number {
        let (low, high) = number.split_at(self.len());
        // high·2^(64n) modulo m: 2^(64n) is −m.
        let mut above = zero(self.len());
        subtract(&mut above, &self.words);
        let mut product = self.element();
        self.product(&self.enter(&above), &self.formed(high), &mut product);
        let mut sum = self.plain(&product);
        let carry = add(&mut sum, &self.reduced(low));
        reduce_once(&mut sum, u64::from(carry), &self.words);
        self.enter(&sum)
    }
}
