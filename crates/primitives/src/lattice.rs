//! The ring of ML-KEM, Z_q\[X\]/(X²⁵⁶ + 1) with q = 3329 (FIPS 203 §2.4 and §4): constants, and the operations in safe Rust. The kernels of
//! `low` compute the same, representative for representative.
//!
//! `crates/primitives/docs/ml-kem.md` has the bounds of every step.

pub(crate) mod arithmetic;
mod constants;
pub(crate) mod encoding;
pub(crate) mod sampling;

pub(crate) use constants::{FORWARD, INVERSE, LAST, MONTGOMERY, PRODUCT, Q, Q_INVERSE, REDUCE, SCALE, Twiddle};

/// 256 coefficients, or as many values of the transform: pair i, at 2i and 2i + 1, is the residue modulo X² − ζ^(2·BitRev7(i) + 1)
/// (FIPS 203 §4.3). Representatives need not be reduced.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Poly(pub(crate) [i16; 256]);

impl Poly {
    pub(crate) const ZERO: Self = Self([0; 256]);
}

/// A transformed polynomial made ready to be a factor, often: with it, a product of pairs is two sums of two products.
///
/// For the pair (b₀, b₁) modulo X² − γ, `even` is (b₀, γ·b₁) and `odd` is (b₁, b₀), both times 2¹⁶, which the reduction of the sums takes away.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    pub(crate) even: Poly,
    pub(crate) odd: Poly,
}

impl Factor {
    pub(crate) const ZERO: Self = Self { even: Poly::ZERO, odd: Poly::ZERO };
}
