//! Montgomery's product in safe Rust.

use crate::word::multiply_add;
use crate::words::reduce_once;

/// Words of the longest modulus.
pub(super) const MOST: usize = 64;

/// a·b/2^(64n) modulo m, for any a below 2^(64n) and b below m, where `inverse` is −1/m modulo 2^64.
pub(super) fn product(m: &[u64], inverse: u64, a: &[u64], b: &[u64], to: &mut [u64]) {
    let length = m.len();
    let mut room = [0; 2 * MOST];
    let wide = &mut room[..2 * length];
    for (at, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (to, b) in wide[at..].iter_mut().zip(b) {
            (*to, carry) = multiply_add(*a, *b, *to, carry);
        }
        wide[at + length] = carry;
    }
    let mut above = 0;
    for at in 0..length {
        let factor = wide[at].wrapping_mul(inverse);
        let mut carry = 0;
        for (to, m) in wide[at..].iter_mut().zip(m) {
            (*to, carry) = multiply_add(factor, *m, *to, carry);
        }
        let (sum, one) = wide[at + length].overflowing_add(carry);
        let (sum, other) = sum.overflowing_add(above);
        wide[at + length] = sum;
        above = u64::from(one) + u64::from(other);
    }
    to.copy_from_slice(&wide[length..]);
    reduce_once(to, above, m);
}
