//! Powers: of two numbers at once with secret exponents, for the halves of a private key and for tests of primality, and with a public exponent.

use super::modulus::Modulus;
use crate::words::{Number, zero};
use core::mem;

/// Bits of a window.
const BITS: usize = 5;
/// Entries of a table.
const ENTRIES: usize = 1 << BITS;

/// Each base, an element, to the power of its exponent, as long as its modulus, as an element. The moduli have one length. All windows are the same
/// work, and each look-up reads the whole table.
pub(super) fn powers(m: [&Modulus; 2], bases: [&[u64]; 2], exponents: [&[u64]; 2]) -> [Number; 2] {
    let (arm, length) = (m[0].arm, m[0].form.len());
    let mut tables = [(); 2].map(|()| zero(ENTRIES * length));
    for ((table, m), base) in tables.iter_mut().zip(m).zip(bases) {
        let mut one = zero(m.len());
        one[0] = 1;
        table[..length].copy_from_slice(&m.enter(&one));
        table[length..2 * length].copy_from_slice(base);
    }
    for at in 2..ENTRIES {
        let [one, other] = &mut tables;
        let (one, one_to) = one.split_at_mut(at * length);
        let (other, other_to) = other.split_at_mut(at * length);
        let last = (at - 1) * length;
        let to = [&mut one_to[..length], &mut other_to[..length]];
        arm.products(m, [&one[last..], &other[last..]], bases, to);
    }
    let bits = 64 * m[0].len();
    let mut sums = [(); 2].map(|()| zero(length));
    let mut next = [(); 2].map(|()| zero(length));
    let mut factors = [(); 2].map(|()| zero(length));
    for window in (0..bits.div_ceil(BITS)).rev() {
        let highest = (window + 1) * BITS >= bits;
        for ((table, exponent), factor) in tables.iter().zip(exponents).zip(&mut factors) {
            arm.select(table, digit(exponent, window * BITS), factor);
        }
        if highest {
            mem::swap(&mut sums, &mut factors);
        } else {
            let [first, second] = &factors;
            arm.products_of_powers(m, BITS, sums.each_mut(), [first, second], next.each_mut());
            mem::swap(&mut sums, &mut next);
        }
    }
    sums
}

/// The window of an exponent from this bit on.
#[inline]
fn digit(exponent: &[u64], bit: usize) -> u64 {
    let (word, shift) = (bit / 64, bit % 64);
    let mut digit = exponent[word] >> shift;
    if shift > 64 - BITS && word + 1 < exponent.len() {
        digit |= exponent[word + 1] << (64 - shift);
    }
    digit & (ENTRIES as u64 - 1)
}

/// x^e modulo m in words, for x below m and an odd public exponent of 3 or more: by squares and products, one for each bit of e.
pub(super) fn public_power(m: &Modulus, x: &[u64], e: u64) -> Number {
    let base = m.enter(x);
    let (mut power, mut next) = (base.clone(), m.element());
    let mut multiply = |factor: Option<&[u64]>| {
        match factor {
            Some(factor) => m.product(&power, factor, &mut next),
            None => m.square(&power, &mut next),
        }
        mem::swap(&mut power, &mut next);
    };
    let highest = 63 - e.leading_zeros();
    for bit in (1..highest).rev() {
        multiply(None);
        if e >> bit & 1 == 1 {
            multiply(Some(&base));
        }
    }
    multiply(None);
    // The last factor, as it is, takes R away.
    multiply(Some(&m.formed(x)));
    m.plain(&power)
}
