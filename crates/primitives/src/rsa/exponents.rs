//! Inverses of the public exponent.

use crate::word::multiply_add;
use crate::words::{Number, add_word, copied, divide_exactly, inverse_modulo, is_zero_word, remainder_word, zero};

/// 1/e modulo a number, for an odd e, and all ones if there is one. For no inverse the number is any.
///
/// (1 + k·m)/e is an integer for k = −1/m modulo e, and e times it is 1 modulo m. It is below m, since k is at most e − 1.
pub(super) fn inverse_of(e: u64, modulus: &[u64]) -> (Number, u64) {
    let (inverse, is_one) = inverse_modulo(remainder_word(modulus, e), e);
    let factor = e - inverse;
    let mut wide = zero(modulus.len() + 1);
    let mut carry = 0;
    for (to, word) in wide.iter_mut().zip(modulus) {
        (*to, carry) = multiply_add(*word, factor, carry, 0);
    }
    wide[modulus.len()] = carry;
    add_word(&mut wide, 1);
    divide_exactly(&mut wide, e);
    (copied(&wide[..modulus.len()]), is_one & !is_zero_word(inverse))
}

/// A number less one: an odd one has only its lowest bit changed.
pub(super) fn less_one(odd: &[u64]) -> Number {
    let mut even = copied(odd);
    even[0] ^= 1;
    even
}
