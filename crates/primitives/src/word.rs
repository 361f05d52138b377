//! Arithmetic on single words.

/// The inverse of an odd number modulo 2^64.
pub(crate) const fn inverse_of_word(odd: u64) -> u64 {
    // Each step doubles the number of bits that are right; three are at the beginning.
    let (mut inverse, mut steps) = (odd, 0);
    while steps < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        steps += 1;
    }
    inverse
}

/// The lower and the upper word of a·b + c + d, which is below 2^128.
#[cfg(any(feature = "ec", feature = "rsa"))]
#[inline(always)]
pub(crate) fn multiply_add(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    let sum = u128::from(a) * u128::from(b) + u128::from(c) + u128::from(d);
    (sum as u64, (sum >> 64) as u64)
}
