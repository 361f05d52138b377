//! Which arm of RSA runs.

use super::modulus::Modulus;
use super::{limbs, portable};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::rsa::{adx, ifma, ifma_pair};
use crate::words::{self, Number, copied};
use candor_cpu::{Cpu, HaveAdx, HaveAvx2, HaveAvx512Ifma};
use core::mem;

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Arm {
    /// x86-64's products of 52 bits on vectors.
    Avx512(HaveAvx512Ifma),
    /// x86-64's products on general registers, with two chains of carries; look-ups on vectors.
    Adx(HaveAdx, HaveAvx2),
    /// Safe Rust.
    Portable,
}

impl Arm {
    pub(super) fn choose(cpu: Cpu) -> Self {
        let adx = || Some(Self::Adx(HaveAdx::check(cpu)?, HaveAvx2::check(cpu)?));
        HaveAvx512Ifma::check(cpu).map(Self::Avx512).or_else(adx).unwrap_or(Self::Portable)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx512(_) => "avx512",
            Self::Adx(..) => "adx",
            Self::Portable => "portable",
        }
    }

    /// R is two to the power of this, for a modulus of so many words.
    pub(super) fn radix_bits(self, words: usize) -> usize {
        match self {
            Self::Avx512(_) => 52 * limbs::count(words),
            _ => 64 * words,
        }
    }

    /// A number in this arm's form.
    pub(super) fn formed(self, number: &[u64]) -> Number {
        match self {
            Self::Avx512(_) => limbs::from_words(number),
            _ => copied(number),
        }
    }

    /// An element in words, and its bit above them.
    pub(super) fn words(self, element: &[u64], words: usize) -> (Number, u64) {
        match self {
            Self::Avx512(_) => limbs::to_words(element, words),
            _ => (copied(element), 0),
        }
    }

    /// a·b/R modulo m.
    #[inline]
    pub(super) fn product(self, m: &Modulus, a: &[u64], b: &[u64], to: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => ifma::product(token, m.job(a, b, to)),
            #[cfg(target_arch = "x86_64")]
            Self::Adx(token, _) => adx::product(token, &m.words, *m.inverse, a, b, to),
            _ => portable::product(&m.words, *m.inverse, a, b, to),
        }
    }

    /// a²/R modulo m.
    #[inline]
    pub(super) fn square(self, m: &Modulus, a: &[u64], to: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Adx(token, _) => adx::square(token, &m.words, *m.inverse, a, to),
            _ => self.product(m, a, a, to),
        }
    }

    /// Two products, modulo numbers of one length.
    #[inline]
    pub(super) fn products(self, m: [&Modulus; 2], a: [&[u64]; 2], b: [&[u64]; 2], to: [&mut [u64]; 2]) {
        let [first, second] = to;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => {
                ifma_pair::products(token, 0, [m[0].job(a[0], b[0], first), m[1].job(a[1], b[1], second)]);
            }
            _ => {
                self.product(m[0], a[0], b[0], first);
                self.product(m[1], a[1], b[1], second);
            }
        }
    }

    /// The products of two numbers, squared so often, and two others, modulo numbers of one length. `a` is used up.
    #[inline]
    pub(super) fn products_of_powers(
        self,
        m: [&Modulus; 2],
        squares: usize,
        a: [&mut Number; 2],
        b: [&[u64]; 2],
        to: [&mut Number; 2],
    ) {
        let ([a, other_a], [to, other_to]) = (a, to);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => {
                ifma_pair::products(token, squares, [m[0].job(a, b[0], to), m[1].job(other_a, b[1], other_to)]);
            }
            _ => {
                for ((m, b), (a, to)) in m.into_iter().zip(b).zip([(a, to), (other_a, other_to)]) {
                    for _ in 0..squares {
                        self.square(m, a, to);
                        mem::swap(a, to);
                    }
                    self.product(m, a, b, to);
                }
            }
        }
    }

    /// The entry of a table with this number, in time that does not depend on it.
    #[inline]
    pub(super) fn select(self, table: &[u64], number: u64, to: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => ifma::select(token, table, number, to),
            #[cfg(target_arch = "x86_64")]
            Self::Adx(_, token) => adx::select(token, table, number, to),
            _ => words::select(table, number, to),
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Modulus {
    #[inline]
    fn job<'a>(&'a self, a: &'a [u64], b: &'a [u64], to: &'a mut [u64]) -> ifma::Job<'a> {
        ifma::Job { m: &self.form, inverse: *self.inverse, a, b, to }
    }
}
