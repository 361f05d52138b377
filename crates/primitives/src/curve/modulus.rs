//! Primes of 256 and of 384 bits, and numbers modulo them in the form that suits the prime: x stands for x·R in Montgomery's form, for itself
//! in the plain form.

use super::Arithmetic;
#[cfg(target_arch = "x86_64")]
use super::adx::Adx;
use super::words::{Words, is_below, minus, small};
use candor_cpu::barrier;
use core::marker::PhantomData;

/// How products are reduced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Montgomery's, for any prime.
    Montgomery,
    /// Montgomery's, for SM2's 2^256 − 2^224 − 2^96 + 2^64 − 1.
    Sm2,
    /// Montgomery's, for P-256's 2^256 − 2^224 + 2^192 + 2^96 − 1.
    P256,
    /// The plain form's, for secp256k1's 2^256 − 2^32 − 977.
    Secp256k1,
    /// Montgomery's, for P-384's 2^384 − 2^128 − 2^96 + 2^32 − 1.
    P384,
}

impl Reduction {
    /// Whether x stands for itself.
    pub(crate) const fn is_plain(self) -> bool {
        matches!(self, Self::Secp256k1)
    }
}

/// A prime between R/2 and R, and what follows from it.
pub trait Modulus: Copy + 'static {
    type W: Words;
    /// The prime, the lowest word first.
    const P: Self::W;
    const REDUCTION: Reduction;
    /// −1/P modulo 2^64.
    const NEGATIVE_INVERSE: u64;
    /// What stands for 1.
    const ONE: Self::W;
    /// What stands for R.
    const R: Self::W;
    /// The number by which a product with x is what stands for x.
    const ENTER: Self::W;
    /// The number by which a product with the inverse of what stands for x is what stands for the inverse of x.
    const ENTER_INVERSE: Self::W;
    /// The inverse of a number below P on an arm; 0 for 0. A function for each arm, which is compiled once, and not again in each crate that uses a curve.
    fn inverse_in_rust(number: &Self::W) -> Self::W;
    #[cfg(target_arch = "x86_64")]
    fn inverse_on_adx(arm: Adx, number: &Self::W) -> Self::W;
}

/// Implements [`Modulus`] for a type, from the number of words, the prime and its reduction.
macro_rules! modulus {
    ($(#[$doc:meta])* $name:ident, $count:literal, $prime:expr, $reduction:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name;

        impl $crate::inverse::Prime<$count> for $name {
            const P: [u64; $count] = $prime;
        }

        impl $crate::curve::modulus::Modulus for $name {
            type W = [u64; $count];
            const P: [u64; $count] = $prime;
            const REDUCTION: $crate::curve::modulus::Reduction = $crate::curve::modulus::Reduction::$reduction;
            const NEGATIVE_INVERSE: u64 = $crate::word::inverse_of_word(Self::P[0]).wrapping_neg();
            const ONE: [u64; $count] =
                $crate::curve::modulus::shifted([1], &Self::P, if Self::REDUCTION.is_plain() { 0 } else { 64 * $count });
            const R: [u64; $count] = $crate::curve::modulus::shifted(Self::ONE, &Self::P, 64 * $count);
            const ENTER: [u64; $count] = if Self::REDUCTION.is_plain() { Self::ONE } else { Self::R };
            const ENTER_INVERSE: [u64; $count] = if Self::REDUCTION.is_plain() {
                Self::ONE
            } else {
                $crate::curve::modulus::shifted(Self::R, &Self::P, 64 * $count)
            };

            #[inline(never)]
            fn inverse_in_rust(number: &[u64; $count]) -> [u64; $count] {
                $crate::inverse::inverse::<Self, $count>(number, $crate::inverse::twenty_steps)
            }

            #[cfg(target_arch = "x86_64")]
            #[inline(never)]
            fn inverse_on_adx(arm: $crate::curve::adx::Adx, number: &[u64; $count]) -> [u64; $count] {
                let steps = |zeta: &mut i64, f: &mut i64, g: &mut i64| $crate::curve::adx::Steps::steps(arm, zeta, f, g);
                $crate::inverse::inverse::<Self, $count>(number, steps)
            }
        }
    };
}

pub(crate) use modulus;

/// `u64::borrowing_sub`, which is not yet for constants.
const fn word_minus(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (less, first) = a.overflowing_sub(b);
    let (less, second) = less.overflowing_sub(borrow as u64);
    (less, first | second)
}

/// a·2^bits modulo p, for constants.
pub(crate) const fn shifted<const M: usize, const N: usize>(a: [u64; M], p: &[u64; N], mut bits: usize) -> [u64; N] {
    let (mut number, mut n) = ([0; N], 0);
    while n < M {
        number[n] = a[n];
        n += 1;
    }
    while bits > 0 {
        let mut above = 0;
        n = 0;
        while n < N {
            (number[n], above) = (number[n] << 1 | above, number[n] >> 63);
            n += 1;
        }
        let (mut less, mut borrow) = ([0; N], false);
        n = 0;
        while n < N {
            (less[n], borrow) = word_minus(number[n], p[n], borrow);
            n += 1;
        }
        if above == 1 || !borrow {
            number = less;
        }
        bits -= 1;
    }
    number
}

/// The ring modulo M on one arm.
#[derive(Clone, Copy)]
pub(crate) struct Ring<M, A>(pub(crate) A, PhantomData<M>);

impl<M: Modulus, A: Arithmetic> Ring<M, A> {
    pub(crate) const fn new(arm: A) -> Self {
        Self(arm, PhantomData)
    }

    #[inline(always)]
    pub(crate) fn product(self, a: &M::W, b: &M::W) -> M::W {
        self.0.product::<M>(a, b)
    }

    #[inline(always)]
    pub(crate) fn square(self, a: &M::W) -> M::W {
        self.0.square::<M>(a)
    }

    #[inline(always)]
    pub(crate) fn sum(self, a: &M::W, b: &M::W) -> M::W {
        self.0.sum::<M>(a, b)
    }

    #[inline(always)]
    pub(crate) fn difference(self, a: &M::W, b: &M::W) -> M::W {
        self.0.difference::<M>(a, b)
    }

    #[inline(always)]
    pub(crate) fn half(self, a: &M::W) -> M::W {
        self.0.half::<M>(a)
    }

    #[inline(always)]
    pub(crate) fn twice(self, a: &M::W) -> M::W {
        self.0.sum::<M>(a, a)
    }

    #[inline(always)]
    pub(crate) fn chosen(self, one: &M::W, other: &M::W, mask: u64) -> M::W {
        self.0.chosen(one, other, mask)
    }

    /// −a where the mask is all ones, else a, which must not be 0: p − a is ¬a − ¬p.
    #[inline(always)]
    pub(crate) fn negative_if(self, a: &M::W, mask: u64) -> M::W {
        let (mut number, mut borrow) = (M::W::ZERO, false);
        for n in 0..M::W::COUNT {
            (number[n], borrow) = (a[n] ^ mask).borrowing_sub(!M::P[n] & mask, borrow);
        }
        number
    }

    #[inline(always)]
    pub(crate) fn negative(self, a: &M::W) -> M::W {
        self.difference(&M::W::ZERO, a)
    }

    /// What stands for a number. For any number below R, which need not be below M.
    #[inline(always)]
    pub(crate) fn enter(self, a: &M::W) -> M::W {
        self.product(a, &M::ENTER)
    }

    /// The number that this stands for.
    #[inline(always)]
    pub(crate) fn leave(self, a: &M::W) -> M::W {
        if M::REDUCTION.is_plain() { *a } else { self.product(a, &small(1)) }
    }

    /// A number below R, modulo M, which is above R/2.
    #[inline(always)]
    pub(crate) fn reduced(self, a: &M::W) -> M::W {
        self.0.chosen(&minus(a, &M::P), a, barrier::mask_u64(u64::from(is_below(a, &M::P))))
    }

    /// A number below R² modulo M, its higher half second.
    #[inline(always)]
    pub(crate) fn reduced_wide(self, low: &M::W, high: &M::W) -> M::W {
        self.sum(&self.reduced(low), &self.product(high, &M::R))
    }

    /// What stands for the inverse; 0 for 0.
    #[inline(always)]
    pub(crate) fn inverse(self, a: &M::W) -> M::W {
        self.product(&self.0.inverse::<M>(a), &M::ENTER_INVERSE)
    }
}

/// Runs a function for each modulus.
#[cfg(test)]
macro_rules! of_each_modulus {
    ($function:ident($($argument:expr),*)) => {{
        $function::<$crate::curve::sm2::P>($($argument),*);
        $function::<$crate::curve::sm2::N>($($argument),*);
        $function::<$crate::curve::p256::P>($($argument),*);
        $function::<$crate::curve::p256::N>($($argument),*);
        $function::<$crate::curve::p384::P>($($argument),*);
        $function::<$crate::curve::p384::N>($($argument),*);
        $function::<$crate::curve::secp256k1::P>($($argument),*);
        $function::<$crate::curve::secp256k1::N>($($argument),*);
    }};
}

#[cfg(test)]
pub(crate) use of_each_modulus;

#[cfg(test)]
mod tests {
    use super::super::portable::Portable;
    use super::*;
    use proptest::prelude::*;

    /// a·(1/a) is 1, or 0 for 0.
    fn check<M: Modulus>(number: &M::W) {
        let ring = Ring::<M, _>::new(Portable);
        let expected = if *number == M::W::ZERO { M::W::ZERO } else { M::ONE };
        assert_eq!(ring.product(number, &ring.inverse(number)), expected, "{number:x?}");
    }

    fn check_edges<M: Modulus>() {
        for distance in 0..100 {
            check::<M>(&small(distance));
            check::<M>(&minus(&M::P, &small(distance + 1)));
        }
        for bit in 0..64 * M::W::COUNT - 1 {
            let mut power = M::W::ZERO;
            power[bit / 64] = 1 << (bit % 64);
            check::<M>(&power);
            check::<M>(&minus(&power, &small(1)));
        }
    }

    #[test]
    fn numbers_near_zero_near_the_modulus_and_near_powers_of_two_have_inverses() {
        of_each_modulus!(check_edges());
    }

    fn check_any<M: Modulus>(words: &[u64; 6]) {
        let mut number = M::W::ZERO;
        number.as_mut().copy_from_slice(&words[..M::W::COUNT]);
        check::<M>(&Ring::<M, _>::new(Portable).reduced(&number));
    }

    proptest! {
        #[test]
        fn any_number_has_an_inverse(words in any::<[u64; 6]>()) {
            of_each_modulus!(check_any(&words));
        }
    }
}
