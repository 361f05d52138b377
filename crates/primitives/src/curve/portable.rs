//! Arithmetic modulo primes of 256 bits in safe Rust.

use super::modulus::{Modulus, Words, is_below, minus};
use super::{Arithmetic, COMB_ENTRIES, Entry};
use candor_cpu::barrier;

/// Safe Rust.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// The lower and the upper word of a·b + c + d, which is below 2^128.
#[inline(always)]
fn multiply_add(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    let sum = u128::from(a) * u128::from(b) + u128::from(c) + u128::from(d);
    (sum as u64, (sum >> 64) as u64)
}

/// A number of 257 bits that is below 2p, modulo p.
#[inline(always)]
fn reduced<M: Modulus>(a: &Words, above: u64) -> Words {
    let less = minus(a, &M::P);
    let keep = barrier::mask_u64(u64::from(is_below(a, &M::P)) & (1 ^ above));
    core::array::from_fn(|n| less[n] ^ (less[n] ^ a[n]) & keep)
}

/// The number in words times 2^−256, for numbers below p·2^256.
#[inline(always)]
fn montgomery<M: Modulus>(mut words: [u64; 8]) -> Words {
    let mut above = 0;
    for n in 0..4 {
        let factor = words[n].wrapping_mul(M::NEGATIVE_INVERSE);
        let mut carry = 0;
        for (at, p) in M::P.iter().enumerate() {
            (words[n + at], carry) = multiply_add(factor, *p, words[n + at], carry);
        }
        (words[n + 4], above) = carried(words[n + 4], carry, above);
    }
    reduced::<M>(&[words[4], words[5], words[6], words[7]], above)
}

/// The sum of three, the last of which is at most 1, and its carry.
#[inline(always)]
fn carried(a: u64, b: u64, c: u64) -> (u64, u64) {
    let (sum, carry) = a.carrying_add(b, c != 0);
    (sum, u64::from(carry))
}

impl Arithmetic for Portable {
    #[inline(always)]
    fn product<M: Modulus>(self, a: &Words, b: &Words) -> Words {
        let mut words = [0; 8];
        for (n, a) in a.iter().enumerate() {
            let mut carry = 0;
            for (at, b) in b.iter().enumerate() {
                (words[n + at], carry) = multiply_add(*a, *b, words[n + at], carry);
            }
            words[n + 4] = carry;
        }
        montgomery::<M>(words)
    }

    #[inline(always)]
    fn square<M: Modulus>(self, a: &Words) -> Words {
        self.product::<M>(a, a)
    }

    #[inline(always)]
    fn sum<M: Modulus>(self, a: &Words, b: &Words) -> Words {
        let (mut sum, mut carry) = ([0; 4], false);
        for n in 0..4 {
            (sum[n], carry) = a[n].carrying_add(b[n], carry);
        }
        reduced::<M>(&sum, u64::from(carry))
    }

    #[inline(always)]
    fn difference<M: Modulus>(self, a: &Words, b: &Words) -> Words {
        let (mut difference, mut borrow) = ([0; 4], false);
        for n in 0..4 {
            (difference[n], borrow) = a[n].borrowing_sub(b[n], borrow);
        }
        let mask = barrier::mask_u64(u64::from(borrow));
        let mut carry = false;
        for (word, p) in difference.iter_mut().zip(&M::P) {
            (*word, carry) = word.carrying_add(p & mask, carry);
        }
        difference
    }

    #[inline(always)]
    fn half<M: Modulus>(self, a: &Words) -> Words {
        let mask = barrier::mask_u64(a[0] & 1);
        let (mut sum, mut carry) = ([0; 4], false);
        for n in 0..4 {
            (sum[n], carry) = a[n].carrying_add(M::P[n] & mask, carry);
        }
        let [a, b, c, d] = sum;
        [a >> 1 | b << 63, b >> 1 | c << 63, c >> 1 | d << 63, d >> 1 | u64::from(carry) << 63]
    }

    #[inline(always)]
    fn chosen(self, one: &Words, other: &Words, mask: u64) -> Words {
        core::array::from_fn(|n| one[n] ^ (one[n] ^ other[n]) & mask)
    }

    #[inline(always)]
    fn selected<const N: usize>(self, entries: &[[Words; N]], number: u64) -> [Words; N] {
        let mut found = [[0; 4]; N];
        for (entry, index) in entries.iter().zip(1..) {
            add_if_same(&mut found, entry, number, index);
        }
        found
    }

    #[inline(always)]
    fn selected_entry(self, entries: &[Entry; COMB_ENTRIES], number: u64) -> [Words; 2] {
        let mut found = [[0; 4]; 2];
        for (entry, index) in entries.iter().zip(1..) {
            add_if_same(&mut found, &entry.0, number, index);
        }
        found
    }
}

#[inline(always)]
fn add_if_same<const N: usize>(found: &mut [Words; N], entry: &[Words; N], number: u64, index: u64) {
    let other = number ^ index;
    let mask = barrier::mask_u64(1 ^ ((other | other.wrapping_neg()) >> 63));
    for (to, from) in found.as_flattened_mut().iter_mut().zip(entry.as_flattened()) {
        *to |= from & mask;
    }
}
