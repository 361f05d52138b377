//! Products modulo xⁿ − 1.

use super::parameters::Parameters;
use crate::words::Words;
use candor_gf2::Multiplier;

/// Multiplies polynomials; keeps the room that products need.
pub(super) struct Ring<'a> {
    parameters: &'a Parameters,
    multiplier: Multiplier,
    product: Words,
    scratch: Words,
}

impl<'a> Ring<'a> {
    pub(super) fn new(parameters: &'a Parameters, multiplier: Multiplier) -> Self {
        let words = parameters.words();
        let scratch = Words::zero(multiplier.scratch_words(words, words));
        Self { parameters, multiplier, product: Words::zero(2 * words), scratch }
    }

    /// `sum += a · b`. Of bits of the factors from n on, which only a malformed ciphertext has, some products are cut off.
    pub(super) fn add_product(&mut self, sum: &mut [u64], a: &[u64], b: &[u64]) {
        self.multiplier.mul_with_scratch(&mut self.product, a, b, &mut self.scratch);
        fold(self.parameters.n, sum, &self.product);
        if let Some(last) = sum.get_mut(self.parameters.words() - 1) {
            *last &= self.parameters.last_word();
        }
    }
}

/// `sum += product mod xⁿ − 1`, up to the bits from n on, which mean nothing: xⁿ is 1, so the upper part is shifted down by n and
/// added. A shorter `sum` takes the lowest words.
fn fold(n: usize, sum: &mut [u64], product: &[u64]) {
    let (words, bits) = (n / 64, n % 64);
    let upper = &product[words..];
    for (((sum, low), a), b) in sum.iter_mut().zip(product).zip(upper).zip(&upper[1..]) {
        *sum ^= low ^ a >> bits ^ b << (64 - bits);
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::{HQC_1, HQC_3, HQC_5};
    use super::*;
    use candor_test_support::random::Random;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn a_product_with_a_power_of_x_is_a_rotation() {
        for parameters in [&HQC_1, &HQC_3, &HQC_5] {
            let mut random = Random::new(parameters.n as u64);
            let mut ring = Ring::new(parameters, Multiplier::new());
            let words = parameters.words();
            let mut a: Vec<u64> = (0..words).map(|_| random.word()).collect();
            a[words - 1] &= parameters.last_word();
            let bit = |of: &[u64], at: usize| of[at / 64] >> (at % 64) & 1;
            for shift in [0, 1, 63, 64, parameters.n / 2, parameters.n - 1] {
                let mut power = vec![0; words];
                power[shift / 64] = 1 << (shift % 64);
                let mut found = vec![0; words];
                ring.add_product(&mut found, &a, &power);
                assert!((0..parameters.n).all(|i| bit(&found, (i + shift) % parameters.n) == bit(&a, i)), "{shift}");
                assert_eq!(found[words - 1] & !parameters.last_word(), 0);
                ring.add_product(&mut found, &a, &power);
                assert_eq!(found, vec![0; words], "a sum with itself is zero");
            }
        }
    }

    #[test]
    fn a_shorter_sum_is_the_beginning_of_the_whole_one() {
        let mut random = Random::new(2);
        let words = HQC_1.words();
        let [a, b]: [Vec<u64>; 2] = core::array::from_fn(|_| (0..words).map(|_| random.word()).collect());
        let mut ring = Ring::new(&HQC_1, Multiplier::new());
        let (mut whole, mut short) = (vec![0; words], vec![0; words - 1]);
        ring.add_product(&mut whole, &a, &b);
        ring.add_product(&mut short, &a, &b);
        assert_eq!(short, whole[..words - 1]);
    }
}
