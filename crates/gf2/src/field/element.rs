//! Elements: reduced polynomials.

use super::limbs::Columns;
use super::modulus::Modulus;
use candor_cpu::secret;
use core::fmt;
use core::ops::{Add, AddAssign};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

/// An element of GF(2^m): a polynomial of degree below m, as [`Field`](super::Field) has ensured.
///
/// Elements are added with `+`, which needs no arm, and multiplied by the methods of the field. Comparison takes constant time.
#[repr(transparent)] // slices of elements are slices of words to the kernels (`low::words`)
pub struct Element<M: Modulus>(pub(super) M::Words);

impl<M: Modulus> Element<M> {
    /// The words, the coefficient of x^0 in the lowest bit of the first.
    #[must_use]
    pub fn words(&self) -> &M::Words {
        &self.0
    }
}

impl<M: Modulus> Clone for Element<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Modulus> Copy for Element<M> {}

impl<M: Modulus> Default for Element<M> {
    /// Zero.
    fn default() -> Self {
        Self(M::Words::ZERO)
    }
}

impl<M: Modulus> ConstantTimeEq for Element<M> {
    fn ct_eq(&self, other: &Self) -> Choice {
        secret::takes("gf2m/compare", self.0.as_ref());
        self.0.as_ref().ct_eq(other.0.as_ref())
    }
}

impl<M: Modulus> ConditionallySelectable for Element<M> {
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        let mut chosen = *a;
        for (word, other) in chosen.0.as_mut().iter_mut().zip(b.0.as_ref()) {
            word.conditional_assign(other, choice);
        }
        chosen
    }
}

impl<M: Modulus> PartialEq for Element<M> {
    // ct: gf2m/compare
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl<M: Modulus> Eq for Element<M> {}

impl<M: Modulus> Zeroize for Element<M> {
    fn zeroize(&mut self) {
        self.0.as_mut().zeroize();
    }
}

impl<M: Modulus> Add for Element<M> {
    type Output = Self;

    #[inline]
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl<M: Modulus> AddAssign for Element<M> {
    #[inline]
    #[expect(clippy::suspicious_op_assign_impl, reason = "over GF(2) the sum is the exclusive or")]
    fn add_assign(&mut self, other: Self) {
        for (word, other) in self.0.as_mut().iter_mut().zip(other.0.as_ref()) {
            *word ^= other;
        }
    }
}

impl<M: Modulus> fmt::Debug for Element<M> {
    /// Prints no coefficients, since elements are often secret. [`words`](Self::words) returns them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Element(modulo {})", M::MODULUS)
    }
}
