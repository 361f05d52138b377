//! A map of a curve's points to their multiples by a large number λ that takes one product, and scalars in two parts of half their length by it
//! (Gallant, Lambert and Vanstone, "Faster point multiplication on elliptic curves with efficient endomorphisms", 2001).

use super::Curve;
use super::words::Words;
use candor_cpu::barrier;

/// The endomorphism (x, y) ↦ (βx, y) of a curve of 256 bits, which multiplies by λ.
#[derive(Clone, Copy)]
pub struct Endomorphism<W> {
    /// β, a cube root of 1, as it stands in the field.
    pub(crate) beta: W,
    /// Two pairs (x, y), short and with x + yλ = 0 modulo n, as numbers modulo 2^192. Their determinant x₁y₂ − x₂y₁ is n.
    pub(crate) basis: [[[u64; 3]; 2]; 2],
    /// y₂ and −y₁ times 2^384/n, rounded.
    pub(crate) quotients: [[u64; 4]; 2],
}

/// A part of a scalar: an absolute value, and all ones if it is negative.
#[derive(Clone, Copy)]
pub(crate) struct Part<W> {
    pub(crate) magnitude: W,
    pub(crate) negative: u64,
}

/// Parts that the scalars of a curve have.
pub(crate) const fn parts<C: Curve>() -> usize {
    if C::ENDOMORPHISM.is_some() { 2 } else { 1 }
}

/// Bits of each.
pub(crate) const fn bits<C: Curve>() -> usize {
    64 * C::W::COUNT / parts::<C>()
}

/// The scalar, below n, as k₁ + k₂λ modulo n with parts below 2^128, or itself and zero for a curve without an endomorphism. In constant time.
#[inline(always)]
pub(crate) fn divided<C: Curve>(scalar: &C::W) -> [Part<C::W>; 2] {
    match &C::ENDOMORPHISM {
        Some(endomorphism) => endomorphism.divided(scalar),
        None => [Part { magnitude: *scalar, negative: 0 }, Part { magnitude: C::W::ZERO, negative: 0 }],
    }
}

impl<W: Words> Endomorphism<W> {
    /// (k, 0) less the point of the lattice that rounding finds.
    #[inline(always)]
    fn divided(&self, scalar: &W) -> [Part<W>; 2] {
        let scalar = core::array::from_fn(|n| scalar[n]);
        let factors = self.quotients.map(|quotient| rounded(&scalar, &quotient));
        core::array::from_fn(|at| {
            let mut part = if at == 0 { [scalar[0], scalar[1], scalar[2]] } else { [0; 3] };
            for (factor, pair) in factors.iter().zip(&self.basis) {
                part = minus_product(&part, factor, &pair[at]);
            }
            let negative = barrier::mask_u64(part[2] >> 63);
            let mut magnitude = W::ZERO;
            let mut carry = negative != 0;
            for n in 0..2 {
                (magnitude[n], carry) = (part[n] ^ negative).carrying_add(0, carry);
            }
            Part { magnitude, negative }
        })
    }
}

/// a·b/2^384, rounded.
#[inline(always)]
fn rounded(a: &[u64; 4], b: &[u64; 4]) -> [u64; 3] {
    let mut product = [0; 8];
    for (n, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (at, b) in b.iter().enumerate() {
            (product[n + at], carry) = a.carrying_mul_add(*b, product[n + at], carry);
        }
        product[n + 4] = carry;
    }
    let (low, carry) = product[6].carrying_add(product[5] >> 63, false);
    [low, product[7] + u64::from(carry), 0]
}

/// a − bc modulo 2^192.
#[inline(always)]
fn minus_product(a: &[u64; 3], b: &[u64; 3], c: &[u64; 3]) -> [u64; 3] {
    let mut product = [0_u64; 3];
    for n in 0..3 {
        let mut carry = 0;
        for at in 0..3 - n {
            (product[n + at], carry) = b[n].carrying_mul_add(c[at], product[n + at], carry);
        }
    }
    let mut borrow = false;
    for n in 0..3 {
        (product[n], borrow) = a[n].borrowing_sub(product[n], borrow);
    }
    product
}
