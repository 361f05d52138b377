//! Arithmetic modulo primes of 256 and of 384 bits in safe Rust.

use super::modulus::{Modulus, Reduction};
use super::words::{Words, is_below, is_zero_word, minus};
use super::{Arithmetic, Entry, Search};
use crate::word::multiply_add;
use candor_cpu::barrier;

/// Safe Rust.
#[derive(Clone, Copy)]
pub struct Portable;

/// A number below 2p, of which the bit above R is apart, modulo p.
#[inline(always)]
fn reduced<M: Modulus>(a: &M::W, above: u64) -> M::W {
    let mut less = minus(a, &M::P);
    let keep = barrier::mask_u64(u64::from(is_below(a, &M::P)) & (1 ^ above));
    for n in 0..M::W::COUNT {
        less[n] ^= (less[n] ^ a[n]) & keep;
    }
    less
}

/// The number in words over R, for numbers below p·R.
#[inline(always)]
fn montgomery<M: Modulus>(mut wide: <M::W as Words>::Wide) -> M::W {
    let (words, mut above) = (wide.as_mut(), 0);
    for n in 0..M::W::COUNT {
        let factor = words[n].wrapping_mul(M::NEGATIVE_INVERSE);
        let mut carry = 0;
        for at in 0..M::W::COUNT {
            (words[n + at], carry) = multiply_add(factor, M::P[at], words[n + at], carry);
        }
        (words[n + M::W::COUNT], above) = carried(words[n + M::W::COUNT], carry, above);
    }
    let mut upper = M::W::ZERO;
    upper.as_mut().copy_from_slice(&words[M::W::COUNT..]);
    reduced::<M>(&upper, above)
}

/// The number in words modulo p = R − c, where c is below 2^63: R stands for c.
#[inline(always)]
fn folded<M: Modulus>(wide: &<M::W as Words>::Wide) -> M::W {
    let c = M::P[0].wrapping_neg();
    let (low, high) = wide.as_ref().split_at(M::W::COUNT);
    let (mut sum, mut above) = (M::W::ZERO, 0);
    for n in 0..M::W::COUNT {
        (sum[n], above) = multiply_add(c, high[n], low[n], above);
    }
    // What is above is at most c. The sum is below R + c², hence below 2p.
    let mut carry = false;
    let (lowest, next) = multiply_add(c, above, sum[0], 0);
    sum[0] = lowest;
    (sum[1], carry) = sum[1].carrying_add(next, carry);
    for n in 2..M::W::COUNT {
        (sum[n], carry) = sum[n].carrying_add(0, carry);
    }
    reduced::<M>(&sum, u64::from(carry))
}

/// The sum of three, the last of which is at most 1, and its carry.
#[inline(always)]
fn carried(a: u64, b: u64, c: u64) -> (u64, u64) {
    let (sum, carry) = a.carrying_add(b, c != 0);
    (sum, u64::from(carry))
}

impl Arithmetic for Portable {
    #[inline(always)]
    fn product<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W {
        let mut wide = M::W::ZERO_WIDE;
        let words = wide.as_mut();
        for n in 0..M::W::COUNT {
            let mut carry = 0;
            for at in 0..M::W::COUNT {
                (words[n + at], carry) = multiply_add(a[n], b[at], words[n + at], carry);
            }
            words[n + M::W::COUNT] = carry;
        }
        match M::REDUCTION {
            Reduction::Montgomery | Reduction::Sm2 | Reduction::P256 | Reduction::P384 => montgomery::<M>(wide),
            Reduction::Secp256k1 => folded::<M>(&wide),
        }
    }

    #[inline(always)]
    fn square<M: Modulus>(self, a: &M::W) -> M::W {
        self.product::<M>(a, a)
    }

    #[inline(always)]
    fn sum<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W {
        let (mut sum, mut carry) = (M::W::ZERO, false);
        for n in 0..M::W::COUNT {
            (sum[n], carry) = a[n].carrying_add(b[n], carry);
        }
        reduced::<M>(&sum, u64::from(carry))
    }

    #[inline(always)]
    fn difference<M: Modulus>(self, a: &M::W, b: &M::W) -> M::W {
        let (mut difference, mut borrow) = (M::W::ZERO, false);
        for n in 0..M::W::COUNT {
            (difference[n], borrow) = a[n].borrowing_sub(b[n], borrow);
        }
        let mask = barrier::mask_u64(u64::from(borrow));
        let mut carry = false;
        for n in 0..M::W::COUNT {
            (difference[n], carry) = difference[n].carrying_add(M::P[n] & mask, carry);
        }
        difference
    }

    #[inline(always)]
    fn half<M: Modulus>(self, a: &M::W) -> M::W {
        let mask = barrier::mask_u64(a[0] & 1);
        let (mut sum, mut carry) = (M::W::ZERO, false);
        for n in 0..M::W::COUNT {
            (sum[n], carry) = a[n].carrying_add(M::P[n] & mask, carry);
        }
        let mut above = u64::from(carry);
        for n in (0..M::W::COUNT).rev() {
            (sum[n], above) = (sum[n] >> 1 | above << 63, sum[n] & 1);
        }
        sum
    }

    #[inline(always)]
    fn chosen<W: Words>(self, one: &W, other: &W, mask: u64) -> W {
        let mut chosen = W::ZERO;
        for n in 0..W::COUNT {
            chosen[n] = one[n] ^ (one[n] ^ other[n]) & mask;
        }
        chosen
    }

    #[inline(always)]
    fn selected<W: Words>(self, entries: &[[W; 2]], number: u64) -> [W; 2] {
        let mut found = [W::ZERO; 2];
        for (entry, index) in entries.iter().zip(1..) {
            add_if_same(&mut found, entry, number, index);
        }
        found
    }

    type Search<W: Words> = InOne<W>;

    #[inline(always)]
    fn search<W: Words>(self, entries: &'static [Entry<W>], index: u64) -> InOne<W> {
        InOne { entries, index }
    }

    #[inline(always)]
    fn inverse<M: Modulus>(self, a: &M::W) -> M::W {
        M::inverse_in_rust(a)
    }

    #[inline(always)]
    fn apart<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// A search in one step, at the end.
pub(crate) struct InOne<W: 'static> {
    entries: &'static [Entry<W>],
    index: u64,
}

impl<W: Words> Search<W> for InOne<W> {
    #[inline(always)]
    fn step(&mut self) {}

    #[inline(always)]
    fn found(self) -> [W; 2] {
        let mut found = [W::ZERO; 2];
        for (entry, index) in self.entries.iter().zip(0..) {
            add_if_same(&mut found, &entry.0, self.index, index);
        }
        found
    }
}

#[inline(always)]
fn add_if_same<W: Words>(found: &mut [W; 2], entry: &[W; 2], number: u64, index: u64) {
    let mask = is_zero_word(number ^ index);
    for (to, from) in found.iter_mut().zip(entry) {
        for n in 0..W::COUNT {
            to[n] |= from[n] & mask;
        }
    }
}
