//! Primes of 256 bits, and numbers modulo them in Montgomery's form: x stands for x·2^256.

use super::Arithmetic;
use crate::inverse::{self, Prime, inverse_of_word};
use candor_cpu::barrier;
use core::marker::PhantomData;

/// A number below 2^256, the lowest word first.
pub(crate) type Words = [u64; 4];

/// A prime between 2^255 and 2^256, and what follows from it.
pub(crate) trait Modulus: Prime {
    /// Whether it is SM2's 2^256 − 2^224 − 2^96 + 2^64 − 1, which has a reduction of its own.
    const IS_SM2: bool = false;
    /// −1/P modulo 2^64.
    const NEGATIVE_INVERSE: u64 = inverse_of_word(Self::P[0]).wrapping_neg();
    /// 2^256 modulo P: one in Montgomery's form.
    const ONE: Words = minus(&[0; 4], &Self::P);
    /// 2^512 and 2^768 modulo P.
    const SQUARE: Words = shifted(Self::ONE, &Self::P);
    const CUBE: Words = shifted(Self::SQUARE, &Self::P);
}

/// `u64::borrowing_sub`, which is not yet for constants.
const fn word_minus(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (less, first) = a.overflowing_sub(b);
    let (less, second) = less.overflowing_sub(borrow as u64);
    (less, first | second)
}

/// a − b modulo 2^256.
pub(crate) const fn minus(a: &Words, b: &Words) -> Words {
    let (mut difference, mut borrow, mut n) = ([0; 4], false, 0);
    while n < 4 {
        (difference[n], borrow) = word_minus(a[n], b[n], borrow);
        n += 1;
    }
    difference
}

/// Whether a < b. In constant time, if the answer is used so.
pub(crate) const fn is_below(a: &Words, b: &Words) -> bool {
    let (mut borrow, mut n) = (false, 0);
    while n < 4 {
        (_, borrow) = word_minus(a[n], b[n], borrow);
        n += 1;
    }
    borrow
}

/// a·2^256 modulo p.
const fn shifted(mut a: Words, p: &Words) -> Words {
    let mut bits = 0;
    while bits < 256 {
        let above = a[3] >> 63;
        a = [a[0] << 1, a[1] << 1 | a[0] >> 63, a[2] << 1 | a[1] >> 63, a[3] << 1 | a[2] >> 63];
        if above == 1 || !is_below(&a, p) {
            a = minus(&a, p);
        }
        bits += 1;
    }
    a
}

/// The ring modulo M on one arm.
#[derive(Clone, Copy)]
pub(crate) struct Ring<M, A>(pub(crate) A, PhantomData<M>);

impl<M: Modulus, A: Arithmetic> Ring<M, A> {
    pub(crate) const fn new(arm: A) -> Self {
        Self(arm, PhantomData)
    }

    #[inline(always)]
    pub(crate) fn product(self, a: &Words, b: &Words) -> Words {
        self.0.product::<M>(a, b)
    }

    #[inline(always)]
    pub(crate) fn square(self, a: &Words) -> Words {
        self.0.square::<M>(a)
    }

    #[inline(always)]
    pub(crate) fn sum(self, a: &Words, b: &Words) -> Words {
        self.0.sum::<M>(a, b)
    }

    #[inline(always)]
    pub(crate) fn difference(self, a: &Words, b: &Words) -> Words {
        self.0.difference::<M>(a, b)
    }

    #[inline(always)]
    pub(crate) fn half(self, a: &Words) -> Words {
        self.0.half::<M>(a)
    }

    #[inline(always)]
    pub(crate) fn twice(self, a: &Words) -> Words {
        self.0.sum::<M>(a, a)
    }

    #[inline(always)]
    pub(crate) fn chosen(self, one: &Words, other: &Words, mask: u64) -> Words {
        self.0.chosen(one, other, mask)
    }

    /// −a where the mask is all ones, else a.
    #[inline(always)]
    pub(crate) fn negative_if(self, a: &Words, mask: u64) -> Words {
        self.0.chosen(a, &self.difference(&[0; 4], a), mask)
    }

    /// Into Montgomery's form. For any number below 2^256, which need not be below M.
    #[inline(always)]
    pub(crate) fn enter(self, a: &Words) -> Words {
        self.product(a, &M::SQUARE)
    }

    /// Out of Montgomery's form.
    #[inline(always)]
    pub(crate) fn leave(self, a: &Words) -> Words {
        self.product(a, &[1, 0, 0, 0])
    }

    /// A number below 2^256, modulo M, which is above 2^255.
    #[inline(always)]
    pub(crate) fn reduced(self, a: &Words) -> Words {
        self.0.chosen(&minus(a, &M::P), a, barrier::mask_u64(u64::from(is_below(a, &M::P))))
    }

    /// A number below 2^512 modulo M, its higher half second.
    #[inline(always)]
    pub(crate) fn reduced_wide(self, low: &Words, high: &Words) -> Words {
        self.sum(&self.reduced(low), &self.product(high, &M::SQUARE))
    }

    /// The inverse, both in Montgomery's form; 0 for 0.
    #[inline(always)]
    pub(crate) fn inverse(self, a: &Words) -> Words {
        self.product(&inverse_apart::<M>(a), &M::CUBE)
    }
}

/// A function of its own for each modulus: an operation has several inverses.
#[inline(never)]
fn inverse_apart<M: Modulus>(a: &Words) -> Words {
    inverse::inverse::<M>(a)
}

#[cfg(test)]
mod tests {
    use super::super::portable::Portable;
    use super::super::sm2::{N, P};
    use super::*;
    use proptest::prelude::*;

    /// a·(1/a) is 1, or 0 for 0.
    fn check<M: Modulus>(number: &Words) {
        let ring = Ring::<M, _>::new(Portable);
        let expected = if *number == [0; 4] { [0; 4] } else { M::ONE };
        assert_eq!(ring.product(number, &ring.inverse(number)), expected, "{number:x?}");
    }

    #[test]
    fn numbers_near_zero_near_the_modulus_and_near_powers_of_two_have_inverses() {
        for small in 0..100 {
            for number in [[small, 0, 0, 0], minus(&P::P, &[small + 1, 0, 0, 0])] {
                check::<P>(&number);
            }
            check::<N>(&minus(&N::P, &[small + 1, 0, 0, 0]));
        }
        for bit in 0..255 {
            let mut power = [0; 4];
            power[bit / 64] = 1 << (bit % 64);
            for number in [power, minus(&power, &[1, 0, 0, 0])] {
                check::<P>(&number);
                check::<N>(&number);
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_has_an_inverse(number in any::<Words>()) {
            check::<P>(&Ring::<P, _>::new(Portable).reduced(&number));
            check::<N>(&Ring::<N, _>::new(Portable).reduced(&number));
        }
    }
}
