//! The number-theoretic transform, its inverse, and products of transformed polynomials (FIPS 203 §4.3).
//!
//! Coefficients are 16-bit representatives that are reduced as seldom as their bounds permit. So that a program can check those bounds, the
//! algorithms are written over a trait: with numbers they compute, and with intervals the tests prove that nothing overflows.

use super::{FORWARD, Factor, INVERSE, LAST, MONTGOMERY, PRODUCT, Poly, Q, Q_INVERSE, REDUCE, SCALE, Twiddle};

/// What the algorithms do with coefficients.
pub(crate) trait Number: Copy {
    /// A sum of products of two coefficients.
    type Sum: Copy;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// A product with a constant, between about −q and q.
    fn times(self, constant: Twiddle) -> Self;
    fn product(self, other: Self) -> Self::Sum;
    fn sum(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// A sum divided by 2¹⁶ modulo q.
    fn montgomery(sum: Self::Sum) -> Self;
}

impl Number for i16 {
    type Sum = i32;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    /// The quotient by q is at most a little more than half away from the exact one, so what is left fits into 16 bits, and all but the
    /// quotient can be computed modulo 2¹⁶.
    #[inline(always)]
    fn times(self, constant: Twiddle) -> Self {
        let quotient = ((i32::from(self) * i32::from(constant.ratio) + (1 << 14)) >> 15) as i16;
        self.wrapping_mul(constant.factor).wrapping_sub(quotient.wrapping_mul(Q))
    }

    #[inline(always)]
    fn product(self, other: Self) -> i32 {
        i32::from(self) * i32::from(other)
    }

    #[inline(always)]
    fn sum(a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }

    /// Montgomery, Mathematics of Computation 44 (1985): the multiple of q that is taken away makes the lower half zero.
    #[inline(always)]
    fn montgomery(sum: i32) -> Self {
        let multiple = (sum as i16).wrapping_mul(Q_INVERSE);
        (sum.wrapping_sub(i32::from(multiple) * i32::from(Q)) >> 16) as i16
    }
}

/// Algorithm 9, then a reduction.
#[inline(always)]
pub(crate) fn transform<N: Number>(c: &mut [N; 256]) {
    let mut i = 1;
    for len in [128, 64, 32, 16, 8, 4, 2] {
        for group in c.chunks_exact_mut(2 * len) {
            let (low, high) = group.split_at_mut(len);
            for (a, b) in low.iter_mut().zip(high) {
                let product = b.times(FORWARD[i]);
                (*a, *b) = (a.plus(product), a.minus(product));
            }
            i += 1;
        }
    }
    for value in c {
        *value = value.times(REDUCE);
    }
}

/// Algorithm 10. Sums double at each layer; after the third and the sixth they are reduced.
#[inline(always)]
pub(crate) fn inverse<N: Number>(c: &mut [N; 256]) {
    for len in [2, 4, 8, 16, 32, 64] {
        for (group, zeta) in c.chunks_exact_mut(2 * len).zip(&INVERSE[128 / len..]) {
            let (low, high) = group.split_at_mut(len);
            for (a, b) in low.iter_mut().zip(high) {
                let sum = a.plus(*b);
                *b = b.minus(*a).times(*zeta);
                *a = if len == 8 || len == 64 { sum.times(REDUCE) } else { sum };
            }
        }
    }
    let (low, high) = c.split_at_mut(128);
    for (a, b) in low.iter_mut().zip(high) {
        (*a, *b) = (a.plus(*b).times(SCALE), b.minus(*a).times(LAST));
    }
}

/// A factor's parts; see [`Factor`].
#[inline(always)]
pub(crate) fn factor<N: Number>(b: &[N; 256], even: &mut [N; 256], odd: &mut [N; 256]) {
    for i in 0..256 {
        even[i] = b[i].times(PRODUCT[i]);
        odd[i] = b[i ^ 1].times(MONTGOMERY);
    }
}

/// The sum of products of pairs (algorithm 11), reduced once. There is at least one term: a polynomial, and `even` and `odd` of a factor.
#[inline(always)]
pub(crate) fn inner_product<'a, N: Number + 'a>(
    terms: impl Iterator<Item = (&'a [N; 256], &'a [N; 256], &'a [N; 256])> + Clone,
    into: &mut [N; 256],
) {
    for i in (0..256).step_by(2) {
        let pair = |a: &[N; 256], b: &[N; 256]| N::sum(a[i].product(b[i]), a[i + 1].product(b[i + 1]));
        let even = terms.clone().map(|(a, even, _)| pair(a, even)).reduce(N::sum);
        let odd = terms.clone().map(|(a, _, odd)| pair(a, odd)).reduce(N::sum);
        if let (Some(even), Some(odd)) = (even, odd) {
            (into[i], into[i + 1]) = (N::montgomery(even), N::montgomery(odd));
        }
    }
}

/// [`transform`] of a polynomial. A function of its own in the binary too, so that `cargo xtask ct` can see that it ran.
#[inline(never)]
pub(crate) fn transform_poly(poly: &mut Poly) {
    transform(&mut poly.0);
}

/// [`inverse`] of a polynomial.
#[inline(never)]
pub(crate) fn inverse_poly(poly: &mut Poly) {
    inverse(&mut poly.0);
}

/// [`factor`] of a polynomial.
pub(crate) fn factor_poly(poly: &Poly, into: &mut Factor) {
    factor(&poly.0, &mut into.even.0, &mut into.odd.0);
}

/// [`inner_product`] of equally many polynomials and factors.
pub(crate) fn inner_product_poly(a: &[&Poly], b: &[Factor], into: &mut Poly) {
    let terms = a.iter().zip(b).map(|(a, b)| (&a.0, &b.even.0, &b.odd.0));
    inner_product(terms, &mut into.0);
}

/// a + b, into a.
pub(crate) fn add(a: &mut Poly, b: &Poly) {
    for (a, b) in a.0.iter_mut().zip(&b.0) {
        *a = a.wrapping_add(*b);
    }
}

/// b − a, into a.
pub(crate) fn subtract_from(a: &mut Poly, b: &Poly) {
    for (a, b) in a.0.iter_mut().zip(&b.0) {
        *a = b.wrapping_sub(*a);
    }
}

#[cfg(test)]
mod tests;
